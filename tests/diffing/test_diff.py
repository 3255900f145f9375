"""Kernels matched by name and content, changed tokens marked, findings told where they were settled, patches that apply."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from kernelscope import cli
from kernelscope.build import KernelCompiler
from kernelscope.diffing import comparison, diff
from kernelscope.diffing.hunks import changed_tokens, hunks_of
from kernelscope.diffing.line_pairs import matching_lines
from kernelscope.diffing.machine_code import comparable_ptx, comparable_sass, comparable_ttir
from kernelscope.diffing.matching import keyed, matched, shingles
from kernelscope.diffing.results import LineKind, PairKind
from kernelscope.diffing.sides import read_side
from kernelscope.errors import KernelscopeError
from kernelscope.report.side_by_side import paired_lines

FIXTURES = Path(__file__).parents[2] / "fixtures"
TWO_RANGES = ["layernorm", "i64bound", "softmax2d", "cat", "embedding", "transpose", "userkernel"]


def path(name: str) -> str:
    return str(FIXTURES / f"{name}.pt2")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["diff", *arguments])


def rewritten(name: str, tmp_path: Path, *changes: tuple[str, str]) -> str:
    """The package with replacements made in its wrapper."""
    target = tmp_path / f"{name}.pt2"
    with zipfile.ZipFile(path(name)) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith(".cpp"):
                text = data.decode()
                for before, after in changes:
                    assert before in text or not entry.filename.endswith(".wrapper.cpp")
                    text = text.replace(before, after)
                data = text.encode()
            new.writestr(entry.filename, data)
    return str(target)


# -- lines and tokens -------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a = 1", "b = a + 1", "c = tl.load(p)", "", "d"]), max_size=12)


@given(LINES, LINES)
def test_hunks_with_all_lines_around_give_both_texts_back(before: list[str], after: list[str]) -> None:
    old, new = "\n".join(before), "\n".join(after)
    lines = [line for hunk in hunks_of(old, new, 100) for line in hunk.lines]
    if old.splitlines() == new.splitlines():
        assert not lines
        return
    assert [line.text for line in lines if line.kind is not LineKind.ADDED] == old.splitlines()
    assert [line.text for line in lines if line.kind is not LineKind.REMOVED] == new.splitlines()


@given(st.text("ab .()+*1", max_size=20), st.text("ab .()+*1", max_size=20))
def test_what_is_not_marked_is_the_same_on_both_sides(before: str, after: str) -> None:
    old, new = changed_tokens(before, after)

    def unmarked(text: str, marks: tuple[tuple[int, int], ...]) -> str:
        kept = [c for n, c in enumerate(text) if not any(start <= n < end for start, end in marks)]
        return "".join(kept).replace(" ", "")

    assert unmarked(before, old) == unmarked(after, new)


def test_an_inserted_cast_is_the_only_mark() -> None:
    before, after = "x = tl.program_id(0) * B", "x = tl.program_id(0).to(tl.int64) * B"
    removed, added = changed_tokens(before, after)
    assert removed == () and [after[a:b] for a, b in added] == [".to(tl.int64)"]


# -- matching ---------------------------------------------------------------------------------------------------------

KERNEL = "def {0}(p, n):\n    x = tl.program_id(0) * 1024 + tl.arange(0, 1024)\n    tl.store(p + x, {1}, x < n)\n"


def test_a_kernel_that_moved_to_another_number_is_renamed_not_added() -> None:
    before = [keyed("k_0", KERNEL.format("k_0", "0.0")), keyed("k_1", KERNEL.format("k_1", "tl.sin(x)"))]
    after = [keyed("k_0", KERNEL.format("k_0", "new(x)")), keyed("k_1", KERNEL.format("k_1", "0.0")),
             keyed("k_2", KERNEL.format("k_2", "tl.sin(x)"))]  # fmt: skip
    pairs = {(a.name if a else None, b.name if b else None) for a, b, _ in matched(before, after)}
    assert pairs == {("k_0", "k_1"), ("k_1", "k_2"), (None, "k_0")}


def test_kernels_that_have_nothing_in_common_are_not_paired() -> None:
    left, right = keyed("k", "def k(): return tl.dot(a, b, c, d)"), keyed("k", "for i in range(9): print(i, i, i)")
    assert {(bool(a), bool(b)) for a, b, _ in matched([left], [right])} == {(True, False), (False, True)}


@pytest.mark.parametrize("model", TWO_RANGES)
def test_versions_of_one_kernel_are_far_above_the_least_similarity(model: str) -> None:
    before, after = read_side(path(f"{model}.unbounded")), read_side(path(f"{model}.huge"))
    for old, new in zip(before.kernels, after.kernels, strict=True):
        a, b = shingles(old.compared.key), shingles(new.compared.key)
        assert len(a & b) / len(a | b) > 0.65


# -- artifacts --------------------------------------------------------------------------------------------------------


def test_an_artifact_does_not_differ_from_itself() -> None:
    found = diff(path("resnet18.unbounded"), path("resnet18.unbounded"))
    assert not found.differs and {k.kind for k in found.kernels} == {PairKind.SAME}
    assert run(path("resnet18.unbounded"), path("resnet18.unbounded")).exit_code == 0


def test_a_settled_finding_stands_above_its_hunk() -> None:
    done = run(path("i64bound.unbounded"), path("i64bound.huge"))
    lines = done.stdout.splitlines()
    told = next(n for n, line in enumerate(lines) if "settled: KS301 xnumel" in line)
    assert done.exit_code == 1 and any("@@ Triton" in line for line in lines[told : told + 4])
    assert any(line.rstrip().endswith("^^^") for line in lines)


def test_a_finding_that_stays_is_not_called_settled() -> None:
    text = run(path("softmax2d.unbounded"), path("softmax2d.huge")).stdout
    assert "- stays: KS302 s10;" in text and "settled: KS302" not in text and "settled: KS301 r0_numel" in text


def test_sizes_whose_declared_range_differs_are_told() -> None:
    found = diff(path("transpose.unbounded"), path("transpose.huge"))
    assert {(s.name, s.source, s.before, s.after) for s in found.sizes} == {
        (f"s{n}", f"input0[{axis}]", (2, None), (2, 2**33)) for axis, n in enumerate((10, 21, 25))
    }
    text = run(path("transpose.unbounded"), path("transpose.huge")).stdout
    assert "size s10 (input0[0]): [2, no limit] -> [2, 8589934592]" in text


def test_findings_that_differ_in_their_limit_only_are_told_once(tmp_path: Path) -> None:
    changed = rewritten("resnet18.unbounded", tmp_path, ("tl.program_id(0) * XBLOCK", "tl.program_id(0).to(tl.int64) * XBLOCK"))
    text = " ".join(run(path("resnet18.unbounded"), changed).stdout.split())
    assert text.count("safe only when 802816*s31 <= 2147483648 (and 8 places more)") == 1
    assert "802816*s31 <= 2147483874" not in text


def test_a_change_that_several_kernels_have_is_shown_once(tmp_path: Path) -> None:
    changed = rewritten("resnet18.unbounded", tmp_path, ("tl.program_id(0) * XBLOCK", "tl.program_id(0).to(tl.int64) * XBLOCK"))
    text = run(path("resnet18.unbounded"), changed).stdout
    first = "triton_poi_fused__native_batch_norm_legit_no_training_relu_0"
    assert text.count("+     xoffset = tl.program_id(0).to(tl.int64) * XBLOCK") == 1
    assert text.count(f"the same lines change as in {first}") == text.count("CHANGED") - 1 > 9


RENUMBERED = [
    ("tmp0 = (x0).to(tl.int32)", "tmp0 = (x0).to(tl.int64)"),
    ("tmp7 = tmp4 < tmp6", "tmp4 = tmp0 < tmp3"),
    ("tmp8 = tl.load(in_ptr0 + (x0), tmp7)", "tmp5 = tl.load(in_ptr0 + (x0), tmp4)"),
    ("tl.store(out_ptr0 + (x2), tmp16, xmask)", "tl.store(out_ptr0 + (x2), tmp12, xmask)"),
]


def test_lines_with_other_numbers_are_versions_of_each_other() -> None:
    old = [before for before, _ in RENUMBERED]
    new = [after for _, after in RENUMBERED]
    left, right = [old[0], "tmp3 = tmp2.to(tl.float32)", *old[1:]], [*new[:3], "tmp11 = 2.0 * tmp5", new[3]]
    assert matching_lines(left, right) == [(0, 0), (2, 1), (3, 2), (4, 4)]
    (hunk,) = hunks_of("\n".join(left), "\n".join(right))
    pairs = [(a.text if a else None, b.text if b else None) for a, b in paired_lines(hunk)]
    assert [pair for pair in pairs if None not in pair] == RENUMBERED and len(pairs) == 6


def test_a_renamed_kernel_is_one_change(tmp_path: Path) -> None:
    name = "triton_red_fused_gelu_native_layer_norm_0"
    changed = rewritten("layernorm.unbounded", tmp_path, (name, name[:-1] + "3"), ("4096*x0", "8192*x0"))
    (kernel,) = diff(path("layernorm.unbounded"), changed).kernels
    assert kernel.kind is PairKind.MOVED and kernel.before == name and kernel.after == name[:-1] + "3"
    marked = {line.text[a:b] for t in kernel.texts for h in t.hunks for line in h.lines for a, b in line.marks}
    assert marked == {"4096", "8192"}


def test_a_renamed_kernel_with_the_same_text_shows_no_lines(tmp_path: Path) -> None:
    name = "triton_red_fused_gelu_native_layer_norm_0"
    (kernel,) = diff(
        path("layernorm.unbounded"), rewritten("layernorm.unbounded", tmp_path, (name, name[:-1] + "3"))
    ).kernels
    assert kernel.kind is PairKind.RENAMED and kernel.texts == ()


def test_unchanged_kernels_are_folded_into_one_line(tmp_path: Path) -> None:
    changed = rewritten("resnet18.unbounded", tmp_path, ("49*x3", "(0 + 49)*x3"))
    text = run(path("resnet18.unbounded"), changed).stdout
    assert re.search(r"\d+ kernels unchanged: ", " ".join(text.split())) and text.count("CHANGED") < 4


def test_machine_code_is_compared_without_names_of_registers() -> None:
    listing = "        /*0000*/                   IADD3 R1, R2, 0x4, RZ ;    /* 0x0011 */\n.L_x_3:\n"
    other = "        /*0010*/                   IADD3 R7, R9.reuse, 0x4, RZ ;    /* 0x0022 */\n.L_x_8:\n"
    assert comparable_sass(listing) == comparable_sass(other) != comparable_sass(listing.replace("0x4", "0x8"))


def test_the_ptx_of_two_packages_is_compared(tmp_path: Path) -> None:
    side = read_side(path("layernorm.unbounded"))
    assert side.kernels[0].binary is not None
    text = comparable_ptx(side.kernels[0].binary())
    assert ".loc" not in text and "ld.global" in text and not re.search(r"%r\d", text)
    assert "\t" not in text and ".reg " not in text
    done = run(path("layernorm.unbounded"), path("layernorm.huge"), "--ir", "ptx")
    assert done.exit_code == 1 and "@@ PTX" in done.stdout and ".to(tl.int64)" not in done.stdout


@pytest.mark.torch
@pytest.mark.parametrize("form", ["ptx", "sass"])
def test_machine_code_inside_a_fat_binary_is_compared(form: str) -> None:
    package = str(FIXTURES / "extra" / "multiarch.unbounded.pt2")
    done = run(package, path("layernorm.huge"), "--ir", form)
    assert done.exit_code == 1 and done.stderr == ""
    assert run(package, package, "--ir", form).exit_code == 0


def test_sources_without_binaries_say_so() -> None:
    source = str(FIXTURES / "extra" / "outer.unbounded.py")
    done = run(source, source, "--ir", "sass")
    assert done.exit_code == 2 and "there is no binary of" in done.stderr and done.stderr.count("\n") == 1


TTIR = """#loc = loc("kernel.py":18:1)
#loc7 = loc(callsite(#loc at #loc))
module {
  tt.func public @k(%p0: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("p(0)"(#loc)), %n: i32 loc(#loc)) {
    %x_3 = arith.addi %12, %c4096_i32_1 : i32 loc(callsite(#loc at #loc7))
    %0:3 = "tt.reduce"(%x_3) ({
    ^bb0(%arg6: f32 loc(unknown)):
      tt.reduce.return %arg6, %0#1 : f32 loc(#loc)
    }) loc(#loc)
  } loc(#loc)
} loc(#loc)
"""


def test_ttir_is_compared_without_locations_and_numbers() -> None:
    text = comparable_ttir(TTIR)
    assert "loc" not in text and text.splitlines()[1:4] == [
        "  tt.func public @k(%p0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {",
        "    %x = arith.addi %, %c4096_i32 : i32",
        '    %:3 = "tt.reduce"(%x) ({',
    ]
    renumbered = TTIR.replace("%x_3", "%x_9").replace("%12", "%2").replace(":18:1", ":77:2").replace("%arg6", "%arg0")
    assert comparable_ttir(renumbered) == text
    assert comparable_ttir(TTIR.replace("addi", "muli")) != text


@pytest.mark.torch
@pytest.mark.parametrize(("ir", "words"), [("ttir", "arith.extsi"), ("ptx", "mul.wide")])
def test_sources_are_compiled_to_be_compared(ir: str, words: str, tmp_path: Path) -> None:
    source = FIXTURES / "extra" / "outer.unbounded.py"
    text = source.read_text(encoding="utf-8")
    wider = text.replace("tl.program_id(0) * XBLOCK", "tl.program_id(0).to(tl.int64) * XBLOCK")
    assert wider != text
    (tmp_path / source.name).write_text(wider, encoding="utf-8")
    done = run(str(source), str(tmp_path / source.name), "--ir", ir)
    assert done.exit_code == 1 and f"@@ {ir.upper()}" in done.stdout and words in done.stdout, done.stderr


@pytest.mark.torch
def test_the_ttir_of_two_packages_is_compared() -> None:
    done = run(path("layernorm.unbounded"), path("layernorm.huge"), "--ir", "ttir")
    assert done.exit_code == 1 and "arith.extsi %xoffset : i32 to i64" in done.stdout and "loc(" not in done.stdout
    assert run(path("layernorm.unbounded"), path("layernorm.unbounded"), "--ir", "ttir").exit_code == 0


def test_without_triton_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(compiler: KernelCompiler) -> None:
        raise KernelscopeError("triton is not installed", try_this="pip install 'kernelscope[build]'")

    monkeypatch.setattr(KernelCompiler, "start", missing)
    done = run(path("layernorm.unbounded"), path("layernorm.huge"), "--ir", "ttir")
    assert done.exit_code == 2 and "triton is not installed" in done.stderr and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_many_kernels_that_differ_are_not_audited_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = rewritten("resnet18.unbounded", tmp_path, ("tl.program_id(0) * XBLOCK", "tl.program_id(0).to(tl.int64) * XBLOCK"))
    monkeypatch.setattr(comparison, "MOST_AUDITED", 5)
    assert any(k.verdict_after is not None for k in diff(path("resnet18.unbounded"), changed, findings=True).kernels)
    found = diff(path("resnet18.unbounded"), changed)
    assert all(k.verdict_after is None for k in found.kernels)
    (note,) = found.notes
    assert note.startswith(f"{sum(bool(k.texts) for k in found.kernels)} kernels differ") and "--findings" in note
    assert "--findings" not in run(path("resnet18.unbounded"), changed, "--no-findings").stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("model", ["layernorm", "transpose", "cat"])
def test_the_patch_gives_the_second_sources_byte_for_byte(model: str, tmp_path: Path) -> None:
    before, after = path(f"{model}.unbounded"), path(f"{model}.huge")
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(before) as archive:
        archive.extractall(folder)
    patch = tmp_path / "change.patch"
    assert run(before, after, "--format", "patch", "-o", str(patch)).exit_code == 1
    done = subprocess.run(["git", "apply", "-p1", str(patch)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wanted = read_side(after).files
    assert {name: (folder / name).read_bytes() for name in wanted} == {n: t.encode() for n, t in wanted.items()}
    assert not any((folder / name).exists() for name in set(read_side(before).files) - set(wanted))


def test_json_names_findings_and_marks() -> None:
    document = json.loads(run(path("i64bound.unbounded"), path("i64bound.huge"), "--format", "json").stdout)
    (kernel,) = document["kernels"]
    hunks = [hunk for text in kernel["texts"] for hunk in text["hunks"]]
    assert kernel["kind"] == "changed" and any(h["findings"] for h in hunks)
    assert any(line["marks"] for hunk in hunks for line in hunk["lines"])


@pytest.mark.parametrize("arguments", [(), ("a.pt2",), ("a.pt2", "b.pt2", "--patched")])
def test_two_sides_are_wanted(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.exit_code == 2 and done.stderr.count("\n") == 1


@pytest.mark.torch
@pytest.mark.slow
def test_a_package_against_its_own_patch_tells_the_cost() -> None:
    done = run(path("layernorm.unbounded"), "--patched")
    assert done.exit_code == 1 and ".to(tl.int64)" in done.stdout and "settled: KS101" in done.stdout
    assert re.search(r"cost: registers 32 -> 38, spills 0 -> 0, instructions 664 -> 672", " ".join(done.stdout.split()))
