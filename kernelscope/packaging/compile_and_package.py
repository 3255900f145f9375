"""torch's `aoti_compile_and_package`, then the audit with the ranges that the program declares, then what the policy says."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from kernelscope.audit.results import AuditResult, Verdict
from kernelscope.audit.run import DEFAULT_DEVICE_MEMORY, audit
from kernelscope.errors import KernelscopeError
from kernelscope.launches.launch import BoundOrigin
from kernelscope.packaging.torch_names import compile_and_package, declared_ranges
from kernelscope.packaging.unsafe_text import cure_of, what_breaks


class Int64Policy(Enum):
    """What to do about a package with unsafe index arithmetic."""

    OFF = "off"  # torch's own call and nothing else
    AUDIT = "audit"  # warn
    PATCH = "patch"  # rewrite it to 64 bits before it appears
    ERROR = "error"  # raise, and let nothing appear


class UnsafeIndexWarning(UserWarning):
    """The package breaks at sizes that its program allows."""


class UnsafeIndexError(KernelscopeError):
    """The package breaks at sizes that its program allows; `audit` is the audit that found it."""

    def __init__(self, what: str, audit: AuditResult, *, where: str = "", try_this: str = "") -> None:
        super().__init__(what, where=where, try_this=try_this)
        self.audit = audit

    def __str__(self) -> str:
        return self.one_line()


def aoti_compile_and_package(
    exported_program: Any,  # noqa: ANN401  torch.export.ExportedProgram
    *,
    package_path: str | os.PathLike[str] | None = None,
    inductor_configs: dict[str, Any] | None = None,
    int64: Int64Policy | str = Int64Policy.AUDIT,
    device_memory: int | None = DEFAULT_DEVICE_MEMORY,
    on_audit: Callable[[AuditResult], object] | None = None,
) -> str:
    """Compiles and packages like `torch._inductor.aoti_compile_and_package`, with the same arguments and result.

    The package is audited over `exported_program.range_constraints`, not over what Inductor assumed, and appears at
    `package_path` only when `int64` is satisfied: `"audit"` warns, `"patch"` rewrites what is unsafe, `"error"` raises
    UnsafeIndexError; `"off"` is torch's call alone. `device_memory`: bytes that the tensors of one launch fit into (None:
    no assumption). `on_audit` is called with the audit of what is packaged. Raises whatever torch raises."""
    policy = Int64Policy(int64)
    compile_program = compile_and_package()
    if policy is Int64Policy.OFF:
        return compile_program(exported_program, package_path=package_path, inductor_configs=inductor_configs)
    target = None if package_path is None else Path(os.fspath(package_path))
    folder = Path(tempfile.mkdtemp(prefix=".kernelscope-", dir=target.parent if target is not None else None))
    try:
        # A package's members are below its own name, so that it is compiled under the name it will have.
        made = folder / (target.name if target is not None else "package.pt2")
        compile_program(exported_program, package_path=str(made), inductor_configs=inductor_configs)
        ready, result = _checked(made, declared_ranges(exported_program), policy, device_memory, str(target or made))
        if on_audit is not None:
            on_audit(result)
        if target is None:
            target = Path(tempfile.mkdtemp(prefix="kernelscope-")) / made.name
        os.replace(ready, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return str(target)


def _checked(
    made: Path, ranges: Mapping[str, tuple[int, int | None]], policy: Int64Policy, device_memory: int | None, name: str
) -> tuple[Path, AuditResult]:
    """The package that may appear, and its audit; UnsafeIndexError where none may."""

    def audited(path: Path) -> AuditResult:
        return audit([str(path)], ranges=ranges, device_memory=device_memory, range_origin=BoundOrigin.DECLARED)

    result = audited(made)
    if result.verdict is not Verdict.UNSAFE:
        return made, result
    match policy:
        case Int64Policy.ERROR:
            raise UnsafeIndexError(what_breaks(result), result, where=name, try_this=cure_of(result))
        case Int64Policy.PATCH:
            from kernelscope.patching import patch

            patched = made.with_name("patched") / made.name
            patched.parent.mkdir()
            report = patch(str(made), str(patched), device_memory=device_memory)
            if not patched.exists():
                raise UnsafeIndexError(f"{what_breaks(result)}, and no patch applies: {report.summary}", result, where=name)
            after = audited(patched)
            if after.verdict is Verdict.UNSAFE:
                raise UnsafeIndexError(f"{what_breaks(after)}, also once patched", after, where=name, try_this=cure_of(after))
            return patched, after
        case _:
            warnings.warn(f"{name}: {what_breaks(result)}; {cure_of(result)}", UnsafeIndexWarning, stacklevel=4)
            return made, result
