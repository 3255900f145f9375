"""Runs a script that packages with torch's own call, under a policy, without a change to it."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from functools import partial, wraps
from typing import Any

from kernelscope.errors import KernelscopeError
from kernelscope.packaging.compile_and_package import Int64Policy, aoti_compile_and_package
from kernelscope.packaging.torch_names import compile_and_package, replace_compile_and_package

VARIABLE = "KERNELSCOPE"


def policy_of_environment() -> Int64Policy:
    """What `KERNELSCOPE` says; `audit` where it is not set. KernelscopeError for anything else."""
    text = os.environ.get(VARIABLE, Int64Policy.AUDIT.value)
    try:
        return Int64Policy(text)
    except ValueError:
        known = ", ".join(policy.value for policy in Int64Policy)
        raise KernelscopeError(f"{VARIABLE}={text} is no policy", try_this=f"set it to one of {known}") from None


def run_script(path: str, arguments: Sequence[str], policy: Int64Policy) -> None:
    """Runs `path` as `python path arguments…` would, torch's `aoti_compile_and_package` replaced by Kernelscope's.

    What the script raises is raised; a call with deprecated positional arguments or a buffer goes to torch as it is."""
    if not os.path.isfile(path):
        raise KernelscopeError("no such script", where=path, try_this="give a Python file")
    original = compile_and_package()
    audited = partial(aoti_compile_and_package, int64=policy)

    @wraps(original)
    def compile_audited(*args: Any, **keywords: Any) -> str:  # noqa: ANN401  torch's signature
        into_file = isinstance(keywords.get("package_path"), str | os.PathLike | None)
        if len(args) > 1 or not into_file:
            return original(*args, **keywords)
        return audited(*args, **keywords)

    restore = replace_compile_and_package(compile_audited)
    before = sys.argv, list(sys.path)
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = before[0], before[1]
        restore()
