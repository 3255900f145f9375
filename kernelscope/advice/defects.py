"""Known defects of torch's compiler: the table in `defects.toml`, and which of them a package shows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files

from kernelscope.advice.options import KnownDefect
from kernelscope.audit.results import KernelResult, ModelResult, UnsafeFinding
from kernelscope.cpp_wrapper.producer import Producer
from kernelscope.launches.host_arithmetic import evaluate
from kernelscope.launches.launch import Launch, TensorArgument

#: Above this bound on a number of elements Inductor takes a size for unbounded (torch/_inductor/utils.py,
#: expr_fits_within_32bit, torch 2.11 to 2.14).
TAKEN_FOR_UNBOUNDED = 10**20
tomllib = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

_USER_KERNEL = "user_autotune"
_SPLIT_SCAN = "exclusive_scan_decoupled_lookback"


@dataclass(frozen=True, slots=True)
class PackageEvidence:
    """What the tests for defects look at."""

    model: ModelResult
    producer: Producer | None
    maxima: Mapping[str, int]  # declared; a size without one is missing


def known_defects(evidence: PackageEvidence) -> tuple[KnownDefect, ...]:
    """The defects that the package shows, in the order of the table, with the kernels that show each."""
    found = []
    for entry in _table():
        version = evidence.producer
        if version is not None and version.value not in entry["affected"].split(", "):
            continue
        kernels = tuple(k.name for k in evidence.model.kernels if _TESTS[entry["evidence"]](k, evidence))
        if kernels:
            found.append(_defect(entry, kernels))
    return tuple(found)


def defects_of_version(torch: str | None) -> tuple[KnownDefect, ...]:
    """The defects that a version of torch was seen to have; none for a version that was not measured."""
    minor = ".".join((torch or "").split(".")[:2])
    return tuple(_defect(entry, ()) for entry in _table() if minor in entry["affected"].split(", "))


def _defect(entry: Mapping[str, str], kernels: tuple[str, ...]) -> KnownDefect:
    text = {key: entry[key] for key in ("id", "title", "symptom", "affected", "fixed", "cure", "reference")}
    return KnownDefect(**text, patches=tuple(entry["patches"]), kernels=kernels)


def evidence_of(model: ModelResult, producer: Producer | None) -> PackageEvidence:
    """The declared maxima of a model's sizes beside its audit."""
    maxima = {s.name: s.maximum for s in model.symbols if s.maximum is not None}
    return PackageEvidence(model, producer, maxima)


def is_user_kernel(kernel: KernelResult) -> bool:
    """Whether a person wrote the kernel: Inductor's own have another decorator."""
    return kernel.source is not None and _USER_KERNEL in kernel.source.text


@cache
def _table() -> tuple[dict[str, str], ...]:
    text = files("kernelscope.advice").joinpath("defects.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["defect"])


# -- the tests --------------------------------------------------------------------------------------------------------


def _codes(kernel: KernelResult) -> set[str]:
    return {f.code for f in kernel.findings if isinstance(f, UnsafeFinding)}


def _generated_and_narrow(kernel: KernelResult) -> bool:
    """A kernel of Inductor's own with 32-bit indices that breaks in the kernel or on the way to it."""
    narrow = any(code.startswith(("KS1", "KS2")) or code == "KS301" for code in _codes(kernel))
    return narrow and not is_user_kernel(kernel) and kernel.index_width != 64


def _largest_numel(launch: Launch, maxima: Mapping[str, int]) -> int | None:
    """The largest number of elements of a launch's tensors at the declared maxima; None where one has no maximum."""
    largest = 0
    for argument in launch.arguments:
        if isinstance(argument, TensorArgument):
            numel = 1
            for size in argument.tensor.sizes or ():
                value = evaluate(size, maxima)
                if value is None:
                    return None
                numel *= max(0, value)
            largest = max(largest, numel)
    return largest


def _numels(kernel: KernelResult, evidence: PackageEvidence) -> Iterator[int | None]:
    return (_largest_numel(launch, evidence.maxima) for launch in kernel.launches)


def _range_ignored(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    """Such a wrapper does not record the declared range, so that every narrow kernel is one."""
    return evidence.producer is Producer.TO_2_10 and _generated_and_narrow(kernel)


def _product_unbounded(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    return _generated_and_narrow(kernel) and any(
        n is not None and n > TAKEN_FOR_UNBOUNDED for n in _numels(kernel, evidence)
    )


def _example_trusted(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    return _generated_and_narrow(kernel) and any(n is None for n in _numels(kernel, evidence))


def _surplus_programs(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    text = kernel.source.text if kernel.source is not None else ""
    split = "tl.program_id(2)" in text and "tl.num_programs(1)" in text
    return split and any(
        isinstance(f, UnsafeFinding) and f.witness.program_id[2] > 0 and f.witness.wrapped < 0 for f in kernel.findings
    )


def _grid_truncated(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    return "KS303" in _codes(kernel)


def _scan_helper(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    return bool(_codes(kernel)) and kernel.source is not None and _SPLIT_SCAN in kernel.source.text


def _argument_as_int(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    types = {name: kind for launch in kernel.launches for name, kind in launch.types.items()}
    return any(kind == "i64" for kind in types.values()) and "KS301" in _codes(kernel)


def _user_kernel(kernel: KernelResult, evidence: PackageEvidence) -> bool:
    return bool(_codes(kernel)) and is_user_kernel(kernel)


_TESTS: dict[str, Callable[[KernelResult, PackageEvidence], bool]] = {
    "range_ignored": _range_ignored,
    "product_unbounded": _product_unbounded,
    "example_trusted": _example_trusted,
    "surplus_programs": _surplus_programs,
    "grid_truncated": _grid_truncated,
    "scan_helper": _scan_helper,
    "argument_as_int": _argument_as_int,
    "user_kernel": _user_kernel,
}
