"""Advice on real packages: ranges that are safe and as large as can be, checks that stop what they are said to stop."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from kernelscope.advice import advise
from kernelscope.advice.options import Advice, Caught, DeclareRanges, NoRange
from kernelscope.audit import audit
from kernelscope.audit.results import Verdict
from kernelscope.errors import KernelscopeError

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
UNSAFE = [
    "layernorm.unbounded", "i64bound.unbounded", "resnet18.unbounded", "embedding.unbounded", "conv.unbounded",
    "cat.unbounded", "cumsum.unbounded", "upsample.unbounded", "softmax2d.unbounded", "transpose.unbounded",
    "userkernel.huge", "transpose.huge", "torch28/i64bound.huge", "torch28/layernorm.unbounded", "torch28/transpose.huge",
]  # fmt: skip


@cache
def advice_on(name: str) -> Advice:
    return advise(str(FIXTURES / f"{name}.pt2"))


@pytest.mark.parametrize("name", UNSAFE)
def test_the_advised_ranges_are_safe_and_one_more_is_not(name: str) -> None:
    ranges = advice_on(name).models[0].ranges
    assert isinstance(ranges, DeclareRanges)
    given = {b.symbol.name: (b.minimum, b.maximum) for b in ranges.bounds}
    assert ranges.verdict is Verdict.SAFE
    assert audit([str(FIXTURES / f"{name}.pt2")], ranges=given).verdict is Verdict.SAFE
    first = ranges.bounds[0]
    raised = given | {first.symbol.name: (first.minimum, first.maximum + 1)}
    assert ranges.one_more is Verdict.UNSAFE
    assert audit([str(FIXTURES / f"{name}.pt2")], ranges=raised).verdict is Verdict.UNSAFE


@pytest.mark.parametrize("name", [n for n in UNSAFE if len(EXPECTED[n]["largest_safe"]) == 1])
def test_the_only_size_gets_its_threshold(name: str) -> None:
    ranges = advice_on(name).models[0].ranges
    assert isinstance(ranges, DeclareRanges)
    assert {b.symbol.name: b.maximum for b in ranges.bounds} == EXPECTED[name]["largest_safe"]


@pytest.mark.parametrize("name", UNSAFE)
def test_what_the_run_time_check_is_said_to_stop_it_stops(name: str) -> None:
    path = str(FIXTURES / f"{name}.pt2")
    checks = advice_on(name).models[0].checks
    assert checks is not None and checks.findings
    for checked in checks.findings:
        if checked.caught is Caught.NO:
            assert checked.passes is not None
            for size, value in checked.passes.items():
                limit = checks.limits[size]
                assert limit is None or value <= limit
            there = {size: (value, value) for size, value in checked.passes.items()}
            assert audit([path], ranges=there).verdict is Verdict.UNSAFE
        else:
            witness = checked.finding.witness.symbols
            assert any(limit is not None and witness[size] > limit for size, limit in checks.limits.items())


@pytest.mark.parametrize(
    ("name", "stopped"),
    [
        ("layernorm.unbounded", False),  # the check lets 2147483647 pass
        ("i64bound.unbounded", True),
        ("resnet18.unbounded", False),
        ("userkernel.huge", False),
        ("torch28/layernorm.unbounded", True),  # torch 2.8 narrows the check to 524287
    ],
)
def test_whether_the_run_time_check_helps(name: str, stopped: bool) -> None:
    checks = advice_on(name).models[0].checks
    assert checks is not None
    assert {f.caught for f in checks.findings} == {Caught.YES if stopped else Caught.NO}


def _largest_passed(package: Path) -> dict[tuple[int, int], int]:
    """The largest value that the wrapper's own checks let pass of an input's dimension: read from its text alone."""
    with zipfile.ZipFile(package) as archive:
        text = "".join(archive.read(n).decode() for n in archive.namelist() if n.endswith(".cpp"))
    checks = re.findall(
        r"_size\[\d+\] > (\d+)\)(?:(?!_size).)*?input_handles\[(\d+)\]: dim value is too large at (\d+),", text, re.DOTALL
    )
    return {(int(number), int(axis)): int(limit) for limit, number, axis in checks}


@pytest.mark.parametrize("name", UNSAFE)
def test_the_limits_are_those_that_stand_in_the_wrapper(name: str) -> None:
    passed = _largest_passed(FIXTURES / f"{name}.pt2")
    (model,) = audit([str(FIXTURES / f"{name}.pt2")]).artifacts[0].models
    at = {f"input{number}[{axis}]": limit for (number, axis), limit in passed.items()}
    checks = advice_on(name).models[0].checks
    assert checks is not None
    assert {s: limit for s, limit in checks.limits.items() if limit is not None} == {
        symbol.name: at[symbol.source] for symbol in model.symbols if symbol.source in at
    }
    for checked in checks.findings:
        for symbol in model.symbols:
            if checked.caught is Caught.YES and len(model.symbols) == 1:
                safe = checked.finding.largest_safe[symbol.name]
                assert safe is not None and at[symbol.source] <= safe


@pytest.mark.torch
def test_the_cost_of_a_patch_is_told_for_each_kernel_and_is_that_of_the_patch() -> None:
    from kernelscope import patch
    from kernelscope.patching import Patched

    path = str(FIXTURES / "layernorm.unbounded.pt2")
    done = CliRunner().invoke(cli.main, ["advise", path, "--cost", "--format", "json"])
    (model,) = json.loads(done.stdout)["models"]
    (cost,) = model["patch"]["costs"]
    (kernel,) = patch(path, None, dry_run=True).kernels
    assert isinstance(kernel, Patched) and kernel.before is not None and kernel.after is not None
    assert cost["before"]["instructions"] == kernel.before.instructions
    assert cost["after"]["registers"] == kernel.after.registers > cost["before"]["registers"]
    assert cost["reason"] is None


def test_a_safe_package_needs_nothing() -> None:
    (model,) = advice_on("layernorm.small").models
    assert model.ranges is None and model.patch is None and model.checks is None and not model.defects


@pytest.mark.parametrize(
    ("name", "defects"),
    [
        ("layernorm.unbounded", {"example-size-trusted"}),
        ("transpose.huge", {"bound-product-unbounded", "surplus-programs"}),
        ("userkernel.huge", {"user-kernel-types"}),
        ("torch28/i64bound.huge", {"range-ignored"}),
        ("torch211/layernorm.unbounded", {"example-size-trusted"}),
    ],
)
def test_known_defects_are_named(name: str, defects: set[str]) -> None:
    assert {d.id for d in advice_on(name).models[0].defects} == defects


def test_the_defect_of_torch_2_8_says_where_it_is_fixed() -> None:
    (defect,) = advice_on("torch28/i64bound.huge").models[0].defects
    assert (defect.affected, defect.fixed) == ("2.8", "2.11") and "anew" in defect.cure


def test_the_patches_that_answer_a_defect_exist() -> None:
    from kernelscope.advice.defects import tomllib

    table = tomllib.loads((ROOT / "kernelscope" / "advice" / "defects.toml").read_text())["defect"]
    for entry in table:
        assert entry["patches"], entry["id"]
        assert all((ROOT / "patches" / f"{name}.py").exists() for name in entry["patches"]), entry["id"]


def test_a_wanted_size_is_kept_and_the_others_are_fitted_to_it() -> None:
    path = str(FIXTURES / "upsample.unbounded.pt2")
    ranges = advise(path, wanted={"input0[2]": 1024, "s63": 1024}).models[0].ranges
    assert isinstance(ranges, DeclareRanges)
    found = {b.symbol.name: b.maximum for b in ranges.bounds}
    assert found["s25"] == found["s63"] == 1024 and ranges.verdict is Verdict.SAFE and ranges.one_more is Verdict.UNSAFE


def test_the_curve_falls_and_each_of_its_points_is_safe() -> None:
    path = str(FIXTURES / "upsample.unbounded.pt2")
    ranges = advice_on("upsample.unbounded").models[0].ranges
    assert isinstance(ranges, DeclareRanges) and ranges.trade_off is not None
    rows = ranges.trade_off.rows
    assert len(rows) > 4 and [r.largest for r in rows] == sorted((r.largest for r in rows), reverse=True)  # type: ignore[type-var]
    for row in rows[1:3]:
        others = {s.name: (2, row.others) for s in ranges.trade_off.others}
        for extra, verdict in ((0, Verdict.SAFE), (1, Verdict.UNSAFE)):
            assert row.largest is not None
            given = others | {ranges.trade_off.first.name: (2, row.largest + extra)}
            assert audit([path], ranges=given).verdict is verdict


def test_int32_indices_are_advised_where_they_are_proved_to_fit() -> None:
    tensors = advice_on("embedding.unbounded").models[0].index_tensors
    assert [(t.tensor, t.argument) for t in tensors] == [("input0", "in_ptr0")]


def test_what_cannot_be_read_yet_gets_no_range() -> None:
    ranges = advice_on("extra/mixorder.unbounded").models[0].ranges
    assert isinstance(ranges, DeclareRanges | NoRange)


def test_python_wrappers_need_no_advice() -> None:
    with pytest.raises(KernelscopeError, match=r"torch\.compile guards"):
        advise(str(FIXTURES / "extra" / "outer.unbounded.py"))


def test_a_size_that_is_not_there_is_refused() -> None:
    done = CliRunner().invoke(cli.main, ["advise", str(FIXTURES / "cat.unbounded.pt2"), "--max", "s99=4"])
    assert done.exit_code == 2 and "no size is called s99" in done.stderr and done.stderr.count("\n") == 1


def test_the_text_leads_with_the_verdict_and_shows_code_to_paste() -> None:
    done = CliRunner().invoke(cli.main, ["advise", str(FIXTURES / "layernorm.unbounded.pt2")])
    assert done.exit_code == 1
    assert done.stdout.startswith("UNSAFE")
    assert '    s10 = Dim("s10", min=2, max=524288)  # input0[0]\n' in done.stdout
    assert "    dynamic_shapes = ({0: s10}, None, None)\n" in done.stdout


def test_json_holds_every_option() -> None:
    done = CliRunner().invoke(cli.main, ["advise", str(FIXTURES / "layernorm.unbounded.pt2"), "--format", "json"])
    (model,) = json.loads(done.stdout)["models"]
    assert model["declare_ranges"]["bounds"]["s10"]["maximum"] == 524288
    assert {f["stopped"] for f in model["runtime_checks"]["findings"]} == {False}
    assert model["patch"]["command"].startswith("kernelscope patch ")


def test_an_exported_program_gives_the_names_of_the_arguments(tmp_path: Path) -> None:
    """The seed's fifth section: the shapes are keyed by the argument's name, `input`."""
    program = tmp_path / "program.pt2"
    rows = {"as_expr": {"expr_str": "Symbol('s10', positive=True, integer=True)"}}
    static = {"sizes": [{"as_int": 4096}]}
    graph = {
        "graph": {"tensor_values": {"input": {"sizes": [rows, {"as_int": 4096}]}, "w": static, "b": static}},
        "signature": {
            "input_specs": [{"user_input": {"arg": {"as_tensor": {"name": n}}}} for n in ("input", "w", "b")]
        },
        "module_call_graph": [{"signature": {"in_spec": _spec(3), "forward_arg_names": ["input", "w", "b"]}}],
    }
    _zip(program, json.dumps({"graph_module": graph}))
    advice = advise(str(FIXTURES / "layernorm.unbounded.pt2"), program=str(program))
    ranges = advice.models[0].ranges
    assert isinstance(ranges, DeclareRanges)
    assert 'dynamic_shapes = {"input": {0: s10}, "w": None, "b": None}' in ranges.code


def test_a_file_that_is_no_exported_program_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "program.pt2"
    for text in (None, "{", "[]", '{"graph_module": 3}', '{"graph_module": {"graph": []}}'):
        if text is None:
            program.write_bytes(b"PK\x03\x04 no")
        else:
            _zip(program, text)
        with pytest.raises(KernelscopeError) as caught:
            advise(str(FIXTURES / "cat.small.pt2"), program=str(program))
        assert "\n" not in caught.value.one_line()


def _spec(leaves: int) -> str:
    leaf = {"type": None, "context": None, "children_spec": []}
    positional = {"type": "builtins.tuple", "context": "null", "children_spec": [leaf] * leaves}
    keywords = {"type": "builtins.dict", "context": "[]", "children_spec": []}
    return json.dumps([1, {"type": "builtins.tuple", "context": "null", "children_spec": [positional, keywords]}])


def _zip(path: Path, text: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("p/models/model.json", text)


_RUN_AS_PRINTED = """
import sys, torch
from kernelscope.advice.call_tree import dynamic_shapes_text, read_call_tree
from kernelscope.advice.dim_code import declaration_code
from kernelscope.advice.exported_program import read_exported_inputs
from kernelscope.advice.options import SizeBound
from kernelscope.launches.input_signature import InputSignature
from kernelscope.launches.launch import Symbol
from torch.export import Dim, export, save

class Model(torch.nn.Module):
    def forward(self, input, rest, *, scale=None):
        return input.sum() + rest["a"].sum() + rest["b"][0].sum() * scale

def export_with(shapes):
    rest = {"a": torch.randn(4), "b": [torch.randn(3)]}
    return export(Model(), (torch.randn(4, 16), rest), {"scale": torch.tensor(2.0)}, dynamic_shapes=shapes)

batch = Dim("batch", min=2, max=1 << 40)
program = export_with({"input": {0: batch}, "rest": {"a": {0: batch}, "b": [None]}, "scale": None})
save(program, sys.argv[1])
inputs = read_exported_inputs(sys.argv[1])
(name,) = (str(symbol) for symbol in program.range_constraints)
symbol = Symbol(name, "input0[0]", 2, None)
code = declaration_code([SizeBound(symbol, 2, 2674)], [symbol], InputSignature((), None), inputs)
made = {}
exec(code, made)
print(code)
print(list(export_with(made["dynamic_shapes"]).range_constraints.values()))
"""


@pytest.mark.torch
def test_the_printed_code_exports_as_printed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN_AS_PRINTED, str(tmp_path / "p.pt2")], cwd=ROOT, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "\"rest\": {'a': {0: " in done.stdout
    assert done.stdout.rstrip().endswith("[VR[2, 2674]]")


@pytest.mark.torch
@pytest.mark.slow
def test_packages_compiled_with_the_advised_ranges_are_safe(tmp_path: Path) -> None:
    names = ["swiglu", "stack", "catmany", "scatteradd", "usertile"]
    packages = [str(FIXTURES / "extra" / f"{name}.unbounded.pt2") for name in names]
    capture = FIXTURES / "capture"
    command = [str(capture / "run"), sys.executable, str(capture / "advised.py"), str(tmp_path), *packages]
    environment = {"VIRTUAL_GPU_DIR": str(tmp_path / "gpu")}
    import os

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    for name, package in zip(names, packages, strict=True):
        result = audit([str(tmp_path / f"{name}.pt2")])
        assert result.verdict is Verdict.SAFE, name
        ranges = advise(package).models[0].ranges
        assert isinstance(ranges, DeclareRanges)
        declared = {s.source: s.maximum for s in result.artifacts[0].models[0].symbols}
        assert all(declared[b.symbol.source] == b.maximum for b in ranges.bounds), name
