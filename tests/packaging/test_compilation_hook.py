"""`hook()` around real compilations without a GPU: what it collects, and what guards do to the verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelscope import audit
from kernelscope.audit.results import Note, UnsafeFinding, Verdict
from kernelscope.errors import KernelscopeError
from kernelscope.packaging import torch_compilations

ROOT = Path(__file__).parents[2]
CAPTURE = ROOT / "fixtures" / "capture"
ATTENTION = ROOT / "fixtures" / "extra" / "attention.unbounded.py"
#: Inductor's guard for 32-bit indices in torch 2.14, and in 2.8 with the bound on the size that it refines.
NORM = (["KS101", "4096*s77 <= 2147483647"], ["KS101", "s77 < 524288", "s77 <= 524287"], ["KS101", "s77 <= 524287"])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("hooked")
    environment = {
        **os.environ, "VIRTUAL_GPU_DIR": str(tmp_path_factory.mktemp("gpu")), "PYTHONPATH": str(ROOT),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
    }  # fmt: skip
    command = [str(CAPTURE / "run"), sys.executable, str(Path(__file__).parent / "compile_under_hook.py"), str(folder)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return result


@pytest.mark.torch
@pytest.mark.slow
class TestCompiled:
    @pytest.mark.parametrize("cache", ["cold", "warm"])
    def test_a_graph_of_torch_compile_is_judged_under_its_guards(self, found: dict[str, Any], cache: str) -> None:
        (graph,) = found[cache]
        assert graph["verdict"] == "safe" and not graph["unsafe"]
        assert len(graph["guarded"]) == 3 and all(note in NORM for note in graph["guarded"])
        assert graph["path"].endswith(".py")

    def test_a_warm_cache_gives_the_same_graph(self, found: dict[str, Any]) -> None:
        (warm,), (cold,) = found["warm"], found["cold"]
        assert {**warm, "guarded": []} == {**cold, "guarded": []}

    def test_ahead_of_time_there_are_no_guards(self, found: dict[str, Any]) -> None:
        (graph,) = found["ahead of time"]
        assert graph["verdict"] == "unsafe" and graph["path"].endswith(".wrapper.cpp") and not graph["guarded"]

    def test_the_callback_gets_the_audit_and_without_one_there_is_a_warning(self, found: dict[str, Any]) -> None:
        assert found["given"] == [True]
        assert len(found["warned"]) == 1 and "at s33 = 524289, out-of-bounds access" in found["warned"][0]

    def test_inductor_without_dynamo_is_not_guarded(self, found: dict[str, Any]) -> None:
        assert found["without dynamo"][0]["verdict"] == "unsafe" and not found["without dynamo"][0]["guarded"]

    def test_guards_that_a_filter_drops_protect_from_nothing(self, found: dict[str, Any]) -> None:
        assert [graph["verdict"] for graph in found["without guards"]] == ["unsafe"]

    def test_an_inner_hook_has_its_own_part_and_the_outer_one_all(self, found: dict[str, Any]) -> None:
        assert [len(found[name]) for name in ("outer", "inner")] == [2, 1]
        assert found["inner"] == found["outer"][1:]

    def test_a_thread_with_a_hook_keeps_what_it_compiles(self, found: dict[str, Any]) -> None:
        assert [graph["kernels"] for graph in found["thread"]] == [["triton_red_fused_gelu_native_layer_norm_0"]]
        assert [graph["kernels"] for graph in found["process"]] == [["triton_poi_fused_add_mul_0"]]

    def test_compile_workers_make_no_difference(self, found: dict[str, Any]) -> None:
        assert [graph["verdict"] for graph in found["workers"]] == ["safe"]
        assert {code for code, *_ in found["workers"][0]["guarded"]} == {"KS201", "KS301", "KS302", "KS304"}

    def test_a_decorated_function_returns_its_value_and_a_guarded_graph_calls_nobody(self, found: dict[str, Any]) -> None:
        assert found["decorated"] == ["returned", 0]

    def test_an_error_of_the_body_passes_and_nothing_is_audited(self, found: dict[str, Any]) -> None:
        assert found["raised"] is True

    def test_torch_is_as_it_was_once_the_last_hook_is_closed(self, found: dict[str, Any]) -> None:
        assert found["restored"] and found["nothing"] == []


# -- guards in the audit, without torch -----------------------------------------------------------------------------------


def findings(*guards: str):
    model = audit(ATTENTION, guards=guards).artifacts[0].models[0]
    every = [finding for kernel in model.kernels for finding in kernel.findings]
    return model.verdict, [f for f in every if isinstance(f, UnsafeFinding)], [f for f in every if isinstance(f, Note)]


def test_a_guard_turns_what_it_rules_out_into_a_note_that_names_it() -> None:
    verdict, unsafe, notes = findings("4*s21*s40 <= 2147483647")
    assert verdict is Verdict.SAFE and not unsafe
    assert {note.code for note in notes} == {"KS201", "KS301", "KS302", "KS304"}
    assert {note.guards for note in notes} == {("4*s21*s40 <= 2147483647",)}
    assert all("torch.compile compiles anew" in note.detail for note in notes)


def test_a_guard_that_is_too_wide_leaves_the_finding_and_its_witness_within_it() -> None:
    verdict, unsafe, notes = findings("s21*s40 <= 2147483647")
    assert verdict is Verdict.UNSAFE and not notes
    for finding in unsafe:
        assert finding.witness.symbols["s21"] * finding.witness.symbols["s40"] <= 2147483647


@pytest.mark.parametrize(
    "guard",
    [
        "Eq(s21, 4)", "s21 >= 4", "s21 != 7", "unknown <= 4", "s21 <=", "f(s21) <= 4", "s21 - s40 <= 5", "(s21 % 8) <= 3",
        "s21 == s40",
    ],
)
def test_a_guard_that_bounds_nothing_protects_from_nothing(guard: str) -> None:  # fmt: skip
    assert findings(guard)[0] is Verdict.UNSAFE


def test_a_strict_bound_is_one_less() -> None:
    last_safe = 2147483647 // 4
    for text, safe in ((f"s21*s40 < {last_safe + 1}", True), (f"s21*s40 < {last_safe + 2}", False)):
        assert (findings(text)[0] is Verdict.SAFE) is safe


def test_a_torch_without_a_name_is_refused_with_the_versions_that_were_tested() -> None:
    module = type("module", (), {"__name__": "torch._inductor.output_code"})
    with pytest.raises(KernelscopeError, match=r"CompiledFxGraph.post_compile|not installed"):
        torch_compilations._member(module, "CompiledFxGraph", "post_compile")
