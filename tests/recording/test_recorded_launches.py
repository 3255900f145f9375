"""Real packages under a recording driver: the launches that torch makes are those that the audit predicts, before and after the
patch, at the largest safe size and one beyond."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.artifact.cubin import ptx_of
from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.audit.run import read_model
from kernelscope.build import FoundKernel, shipped_kernels
from kernelscope.cpp_wrapper.function_slices import slice_wrapper
from kernelscope.cpp_wrapper.input_checks import read_input_check
from kernelscope.launches.host_arithmetic import evaluate, reduced
from kernelscope.launches.launch import Launch, ScalarArgument, WrapperFacts
from kernelscope.patching import patch
from kernelscope.patching.embedded import EmbeddedBinaries
from kernelscope.patching.members import PackageMembers

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
CUDA_HOME = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "i8": "int8", "u8": "uint8"}

pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("g++") is None or not (CUDA_HOME / "include/cuda_runtime_api.h").is_file(),
        reason="needs g++ and the CUDA headers",
    ),
]
#: Fixtures, and the sizes at which each is run: the largest safe one and one more, others at their minimum.
NAMES = [
    "layernorm.unbounded", "cumsum.unbounded", "userkernel.huge", "i64bound.unbounded", "transpose.huge", "resnet18.unbounded",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    function: str
    grid: tuple[int, int, int]
    arguments: tuple[int, ...]


def facts_of(path: str) -> WrapperFacts:
    (model,) = open_artifact(path).models
    (wrapper,) = read_model(model, None).wrappers
    return wrapper


def inputs_of(path: str, sizes: Mapping[str, int]) -> list[dict[str, object]]:
    """Sizes, strides and dtype of each input, as the wrapper checks them."""
    (model,) = open_artifact(path).models
    (source,) = [s for s in model.sources if s.path.endswith(".wrapper.cpp")]
    slices = slice_wrapper(source.text, source.path)
    found: list[dict[str, object]] = []
    for number, check in sorted(slices.input_check_by_index.items()):
        read = read_input_check(check)
        assert read is not None and read.dtype is not None
        dimensions = 1 + max((int(d) for d in re.findall(r"_size\[(\d+)\]", check.text)), default=-1)
        shape = [sizes.get(f"input{number}[{d}]", read.sizes.get(d, 1)) for d in range(dimensions)]
        strides = [prod(shape[d + 1 :]) for d in range(dimensions)]
        found.append({"sizes": shape, "strides": strides, "dtype": DTYPES[read.dtype]})
    return found


def parameter_bytes(path: str) -> dict[str, tuple[int, ...]]:
    """Bytes of each parameter of every kernel, from the PTX in its cubin, wherever that is."""
    (model,) = open_artifact(path).models
    embedded = EmbeddedBinaries(PackageMembers(path)).reader(model)
    found = [k for k in shipped_kernels(model, [facts_of(path)], embedded) if isinstance(k, FoundKernel)]
    return {kernel.name: ptx_of(kernel.kernel.cubin).parameter_bytes for kernel in found}


def points(path: str) -> list[dict[str, int]]:
    """Sizes by input dimension: the first limited size at its largest safe value, and one step on."""
    model = audit([path]).artifacts[0].models[0]
    least = {s.source: max(s.minimum or 0, 1) for s in model.symbols}
    symbol, limit = next((s, model.largest_safe[s.name]) for s in model.symbols if model.largest_safe[s.name] is not None)
    assert limit is not None
    return [{**least, symbol.source: limit}, {**least, symbol.source: limit + symbol.step}]


def predicted(path: str, sizes: Mapping[str, int]) -> list[Recorded]:
    """What the audit reads out of the wrapper: grid and scalar arguments at these sizes, pointers as -1."""
    wrapper = facts_of(path)
    values = {s.name: sizes[s.source] for s in wrapper.symbols}
    widths = parameter_bytes(path)
    return [_predicted(launch, values, widths) for launch in wrapper.launches]


def _predicted(launch: Launch, values: Mapping[str, int], widths: Mapping[str, tuple[int, ...]]) -> Recorded:
    x, y, z = (evaluate(dimension, values) for dimension in launch.grid)
    assert x is not None and y is not None and z is not None
    arguments = []
    for argument, width in zip(launch.arguments, widths[launch.kernel], strict=False):
        value = evaluate(argument.value, values) if isinstance(argument, ScalarArgument) else -1
        assert value is not None
        if isinstance(argument, ScalarArgument) and argument.c_type is not None:
            value = reduced(value, argument.c_type) & (1 << 8 * width) - 1
        arguments.append(value)
    return Recorded(launch.kernel, (x, y, z), tuple(arguments))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Recorded]]:
    """One process runs every package, original and patched, at both sizes."""
    folder = tmp_path_factory.mktemp("recorded")
    requests: list[dict[str, object]] = []
    widths: dict[str, dict[str, tuple[int, ...]]] = {"original": {}, "patched": {}}
    for name in NAMES:
        original = str(FIXTURES / f"{name}.pt2")
        patched = str(folder / f"{name}.pt2")
        report = patch(original, patched)
        assert report.output is not None and report.after is not None
        for kind, package in (("original", original), ("patched", patched)):
            widths[kind] |= parameter_bytes(package)
            for number, sizes in enumerate(points(original)):
                label = f"{name} {kind} {number}"
                requests.append({"label": label, "package": package, "inputs": inputs_of(original, sizes), "kind": kind})
    found: dict[str, list[Recorded]] = {}
    for kind, known in widths.items():
        found |= recorded(folder, [r for r in requests if r["kind"] == kind], known)
    return found


def recorded(
    folder: Path, requests: list[dict[str, object]], widths: Mapping[str, tuple[int, ...]]
) -> dict[str, list[Recorded]]:
    (folder / "requests.json").write_text(json.dumps(requests))
    known = ";" + "".join(f"{name}={','.join(map(str, sizes))};" for name, sizes in widths.items())
    environment = {**os.environ, "TMPDIR": str(folder), "RECORDED_ARGUMENTS": known, "AOTI_RUNTIME_CHECK_INPUTS": "0"}
    command = ["bash", str(HERE / "run"), sys.executable, str(HERE / "run_package.py"), str(folder / "requests.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[Recorded]] = {}
    current: list[Recorded] = []
    for line in done.stderr.splitlines():
        if line.startswith("request "):
            current = found.setdefault(line.removeprefix("request "), [])
        elif line.startswith("cuLaunchKernel "):
            words = line.split()
            x, y, z = map(int, words[3:6])
            arguments = tuple(int(word, 16) for word in words[words.index("args") + 1 :])
            current.append(Recorded(words[1], (x, y, z), arguments))
    return found


@pytest.mark.parametrize("kind", ["original", "patched"])
@pytest.mark.parametrize("name", NAMES)
def test_the_launches_are_those_that_the_audit_predicts(
    name: str, kind: str, records: dict[str, list[Recorded]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    original = str(FIXTURES / f"{name}.pt2")
    package = original if kind == "original" else str(next(tmp_path_factory.getbasetemp().glob(f"recorded*/{name}.pt2")))
    for number, sizes in enumerate(points(original)):
        expected = predicted(package, sizes)
        seen = records[f"{name} {kind} {number}"]
        assert [r.function for r in seen] == [r.function for r in expected]
        for one, other in zip(seen, expected, strict=True):
            assert one.grid == other.grid
            for passed, meant in zip(one.arguments, other.arguments, strict=False):
                assert passed == meant or (meant == -1 and passed > 1 << 32), (name, kind, number)


def test_the_original_passes_a_truncated_size_and_the_patched_one_the_true_one(records: dict[str, list[Recorded]]) -> None:
    """One element beyond 2**31 - 1 an int argument is negative; in the patched package it arrives whole."""
    before, after = (records[f"i64bound.unbounded {kind} 1"][0].arguments for kind in ("original", "patched"))
    assert 0x80000000 in before and 2**31 in after
    assert before.index(0x80000000) == after.index(2**31)


def test_the_patched_packages_audit_safe(
    tmp_path_factory: pytest.TempPathFactory, records: dict[str, list[Recorded]]
) -> None:
    assert records
    for name in NAMES:
        package = next(tmp_path_factory.getbasetemp().glob(f"recorded*/{name}.pt2"))
        assert audit([package]).verdict is Verdict.SAFE, name
