"""The block of a looped reduction is read from the PTX in the cubin, and only where it is plain to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.artifact import open_artifact
from kernelscope.artifact.cubin import CubinError, ptx_of, ptx_text, recovered_block
from kernelscope.artifact.loop_bounds import LoopBound, functions_of, loop_bounds
from kernelscope.artifact.ptx import Argument, Counter, parse_ptx

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOOPED = """
@triton.jit
def kernel(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr):
    rnumel = r0_numel
    for r0_offset in tl.range(0, rnumel, R0_BLOCK):
        pass
"""
FIXED = LOOPED.replace("    rnumel = r0_numel\n", "    r0_numel = 4096\n    rnumel = r0_numel\n")


def cubin_of(package: str) -> bytes:
    (read,) = open_artifact(str(FIXTURES / f"{package}.pt2")).models[0].binaries.values()
    return read()


def ptx(body: str, width: str = ".u32") -> str:
    parameters = "".join(f".param {kind} k_param_{n},\n" for n, kind in enumerate([".u64", ".u64", width, width]))
    return f".target sm_90a\n.visible .entry k(\n{parameters})\n.reqntid 256\n{{\n{body}}}\n"


ROUND = """ld.param.b32 %r9, [k_param_3];
mov.b32 %r1, 0;
$L__BB0_1:
add.s32 %r1, %r1, 512;
setp.lt.s32 %p1, %r1, %r9;
@%p1 bra $L__BB0_1;
"""


@pytest.mark.parametrize("kind", ["unbounded", "huge", "small"])
def test_softmax_steps_by_2048(kind: str) -> None:
    (source,) = open_artifact(str(FIXTURES / f"softmax2d.{kind}.pt2")).models[0].sources
    start = source.text.index("async_compile.triton('")
    kernel = source.text[source.text.index("import triton", start) : source.text.index("''', device_str", start)]
    dedented = "\n".join(line[4:] for line in f"    {kernel}".splitlines())
    assert recovered_block(cubin_of(f"softmax2d.{kind}"), functions_of(dedented), "R0_BLOCK") == 2048
    assert recovered_block(cubin_of(f"softmax2d.{kind}"), functions_of(dedented), "XBLOCK") is None


@pytest.mark.parametrize("package", ["layernorm.unbounded", "torch28/lnbig", "torch211/layernorm.unbounded"])
def test_an_unrolled_loop_shows_no_block(package: str) -> None:
    assert recovered_block(cubin_of(package), functions_of(FIXED), "R0_BLOCK") is None


@pytest.mark.parametrize("package", sorted(FIXTURES.rglob("*.pt2")), ids=lambda path: path.name)
def test_every_cubin_gives_target_warps_and_parameter_widths(package: Path) -> None:
    for model in open_artifact(str(package)).models:
        for name, read in model.binaries.items():
            if name.endswith(".fatbin"):
                continue  # taken apart with the CUDA tools: tests/patching/test_binary_forms.py
            found = ptx_of(read())
            assert found.target == "sm_90a"
            assert found.num_warps in (1, 2, 4, 8, 16, 32)
            assert len(found.parameter_bytes) >= 3
            assert {8, 4} >= set(found.parameter_bytes) or package.name.startswith(("descriptor", "tma"))


def test_parameter_widths_tell_an_int64_argument_from_an_int32_one() -> None:
    assert ptx_of(cubin_of("i64bound.unbounded")).parameter_bytes == (8, 8, 8, 4, 8, 8)
    assert ptx_of(cubin_of("i64bound.huge")).parameter_bytes == (8, 8, 8, 8, 8, 8)


def test_counter_up_to_an_argument() -> None:
    found = parse_ptx(ptx(ROUND))
    assert found.counters == (Counter(512, Argument(3), 32),)
    assert (found.parameter_bytes, found.num_warps) == ((8, 8, 4, 4), 8)


def test_counter_of_another_width_than_its_argument() -> None:
    body = ROUND.replace("%r1", "%rd1").replace("add.s32", "add.s64").replace("setp.lt.s32", "setp.lt.s64")
    widened = body.replace("mov.b32 %rd1, 0;", "mov.b64 %rd1, 0;\ncvt.s64.s32 %rd9, %r9;").replace(
        "%rd1, %r9", "%rd1, %rd9"
    )
    assert parse_ptx(ptx(widened)).counters == (Counter(512, Argument(3), 64),)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("add.s32 %r1, %r1, 512;", "add.s32 %r1, %r1, %r7;"),  # step in a register
        ("add.s32 %r1, %r1, 512;", "add.s32 %r1, %r1, -512;"),  # counts down
        ("add.s32 %r1, %r1, 512;", "add.s32 %r1, %r1, 512;\nadd.s32 %r1, %r1, 512;"),  # unrolled
        ("ld.param.b32 %r9, [k_param_3];", "ld.param.b32 %r8, [k_param_3];\nshl.b32 %r9, %r8, 2;"),  # another unit
        ("setp.lt.s32", "setp.ne.s32"),
    ],
)
def test_anything_else_is_no_counter(before: str, after: str) -> None:
    assert before in ROUND
    assert parse_ptx(ptx(ROUND.replace(before, after))).counters == ()


def test_bounds_follow_plain_assignments() -> None:
    assert loop_bounds(functions_of(LOOPED), "R0_BLOCK") == {LoopBound(None, "r0_numel", 3, 4)}
    assert loop_bounds(functions_of(FIXED), "R0_BLOCK") == {LoopBound(literal=4096)}
    assert (
        loop_bounds(functions_of(LOOPED.replace("rnumel = r0_numel", "rnumel = r0_numel * 2")), "R0_BLOCK")
        == frozenset()
    )
    assert loop_bounds(functions_of(LOOPED), "R1_BLOCK") == frozenset()
    assert loop_bounds(functions_of("def ("), "R0_BLOCK") == frozenset()


def test_damaged_cubins_are_errors_and_recover_nothing() -> None:
    whole = cubin_of("softmax2d.unbounded")
    for data in (b"", b"\x7fELF", bytes(64), whole[:100], whole[: len(whole) // 2], b"\x7fELF" + b"\xff" * 200):
        with pytest.raises(CubinError):
            ptx_text(data)
        assert recovered_block(data, functions_of(LOOPED), "R0_BLOCK") is None


def test_many_loops_are_counted_as_few_are() -> None:
    rounds = [ROUND.replace("%r1,", f"%r{n},").replace("%r9", f"%r{n + 1000}") for n in range(10, 200)]
    assert parse_ptx(ptx("".join(rounds))).counters == (Counter(512, Argument(3), 32),) * 190


def test_a_name_that_changes_is_no_bound() -> None:
    for change in ("r0_numel += 1", "r0_numel = 4096\n    r0_numel = 8192"):
        text = LOOPED.replace("    rnumel = r0_numel\n", f"    {change}\n    rnumel = r0_numel\n")
        assert loop_bounds(functions_of(text), "R0_BLOCK") == frozenset()
