"""Ways in which a wrap hides from an analysis: each small kernel has its largest safe size, or is at least never safe."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelscope.audit import audit
from kernelscope.audit.results import ModelResult, Verdict

_HEAD = "pid = tl.program_id(0)\no = pid * B + tl.arange(0, B)\n"
_FACTS = """
grid = {grid}
kernel = "k"
[symbols]
n = [1, {largest}]
[arguments]
n = "n"
[types]
n = "i32"
[constexpr]
B = 256
[tensors]
x_ptr = {{dtype = "fp32", shape = ["4000000*n"], strides = ["1"]}}
i_ptr = {{dtype = "i32", shape = ["64*n"], strides = ["1"], values = {values}}}
"""
_BLOCKS = '["cdiv(n, 256)", "1", "1"]'
_ONE = '["1", "1", "1"]'


def audited(
    folder: Path, body: str, largest: int = 1 << 34, grid: str = _BLOCKS, before: str = "", values: str = '[0, "n - 1"]'
) -> ModelResult:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source, facts = folder / "k.py", folder / "k.toml"
    source.write_text(
        f"import triton\nimport triton.language as tl\n\n{before}\n@triton.jit\ndef k(x_ptr, i_ptr, n, B: tl.constexpr):\n{lines}"
    )
    facts.write_text(_FACTS.format(grid=grid, largest=largest, values=values))
    (artifact,) = audit([str(source)], launch_file=str(facts), device_memory=None).artifacts
    assert artifact.error is None, artifact.error
    return artifact.models[0]


LIMITS = {
    "negated mask": (_HEAD + "tl.store(x_ptr + o * 4, 1.0, mask=~(o >= n))", 2**29),
    "either of two masks": (_HEAD + "tl.store(x_ptr + o * 4, 1.0, mask=(o < n) | (o < 0))", 2**29),
    "exclusive or of masks": (_HEAD + "tl.store(x_ptr + o * 4, 1.0, mask=(o < n) ^ (o < 0))", 2**29),
    "negated index": (_HEAD + "i = tl.where(o < n, -o, 0)\ntl.store(x_ptr + i * 4 + 4 * n.to(tl.int64), 1.0)", 2**29 + 1),
    "product wraps to the least int, which negates to itself": (
        _HEAD + "tl.store(x_ptr + n.to(tl.int64) * 8 - o * 8, 1.0, mask=o < n)", 2**28 + 1,
    ),
    "mask of a float": (_HEAD + "tl.store(x_ptr + o.to(tl.int64), 1.0, mask=((o * 4).to(tl.float32) < 4e3) & (o < n))", 2**29),
    "mask of a true division": (_HEAD + "tl.store(x_ptr + o.to(tl.int64), 1.0, mask=((o * 4) / 4 < 4e3) & (o < n))", 2**29),
    "value of an atomic": (_HEAD + "tl.atomic_add(i_ptr + o, (o * 4).to(tl.int64), mask=o < n)", 2**29),
    "mask modulo 2**32": (_HEAD + "tl.store(x_ptr + o, 1.0, mask=(o < n) & (o * 4 != 8))", 2**30 + 2),
    "equality modulo 2**32": (_HEAD + "tl.store(x_ptr + o.to(tl.int64), 1.0, mask=o * 16 == n * 16)", 2**28 - 1),
    "what a masked load gives": (
        _HEAD + "i = tl.load(i_ptr + o, mask=o < n, other=600000000)\ntl.store(x_ptr + i * 4, 1.0)", 0,
    ),
    "what a masked load gives, masked off again": (
        _HEAD + "i = tl.load(i_ptr + o, mask=o < n, other=600000000)\ntl.store(x_ptr + i * 4, 1.0, mask=o < n)", 2**29,
    ),
    "low bits of a wrapped product": (_HEAD + "tl.store(x_ptr + ((o * 4) & 0xFFF), 1.0, mask=o < n)", 2**31 - 1),
    "distance": (_HEAD + "tl.store(x_ptr + tl.abs(o - n) * 4, 1.0, mask=o < n)", 2**29 - 1),
    "int16 index": (_HEAD + "tl.store(x_ptr + (o % 65536).to(tl.int16), 1.0, mask=o < n)", 2**15),
    "uint16 product": (_HEAD + "tl.store(x_ptr + o.to(tl.uint16) * 2, 1.0, mask=o < n)", 2**15),
}  # fmt: skip
LOOPS = {
    "64-bit counter of a while against an int32 bound": (
        "i = tl.program_id(0).to(tl.int64)\nwhile i < n:\n    tl.store(x_ptr + i, 1.0)\n    i += 1", 2**31 - 1,
    ),
    "product in the condition of a while": (
        "i = tl.program_id(0).to(tl.int64)\nwhile i < (n * 2).to(tl.int64):\n    tl.store(x_ptr + i, 1.0)\n    i += 1", 2**30 - 1,
    ),
    "index carried through nested loops": (
        "p = 0\nfor a in range(0, n):\n    for b in range(0, 16):\n        tl.store(x_ptr + p, 1.0)\n        p += 1", 2**27,
    ),
    "downward loop": ("for i in range(n, 0, -256):\n    j = i - tl.arange(0, B)\n    tl.store(x_ptr + j * 4, 1.0, mask=j >= 0)", 2**29 - 1),
    "unsigned counter, compared as a signed number": ("for i in range(0, n.to(tl.uint32)):\n    tl.store(x_ptr + i, 1.0)", 2**31 - 1),
    "unsigned bound, widened by the sign of the counter": (
        "for i in range(n.to(tl.int64) * 0, n.to(tl.uint32) * 2):\n    tl.store(x_ptr + i, 1.0)", 2**30 - 1,
    ),
    "while that counts down by two": ("i = n\nwhile i > 0:\n    tl.store(x_ptr + i, 1.0)\n    i -= 2", 2**31 - 1),
    "variable after a while": ("i = 0\nwhile i < n:\n    i += 16\ntl.store(x_ptr + i * 2, 1.0)", 2**30 - 16),
}  # fmt: skip
NEVER_SAFE = {
    "pointer by way of an integer": _HEAD + "p = (x_ptr + o * 4).to(tl.int64)\ntl.store(p.to(tl.pointer_type(tl.float32)), 1.0, mask=o < n)",
    "position of a maximum": _HEAD + "tl.store(x_ptr + tl.argmax((o * 4).to(tl.float32), 0), 1.0)",
    "sorted index": _HEAD + "tl.store(x_ptr + tl.sort(o * 4), 1.0)",
    "scanned index": _HEAD + "tl.store(x_ptr + tl.associative_scan(o * 4, 0, add), 1.0)",
    "reduced index": _HEAD + "tl.store(x_ptr + tl.reduce(o * 4, 0, add), 1.0)",
    "summed index": _HEAD + "tl.store(x_ptr + tl.sum(o, 0), 1.0)",
    "histogram": _HEAD + "tl.store(x_ptr + tl.histogram(o, 256) * 65536, 1.0)",
    "addition that is called max": _HEAD + "tl.store(x_ptr + tl.reduce(o, 0, max), 1.0)",
    "step that is negative when it runs": "s = -1\nfor i in range(0, n, s):\n    tl.store(x_ptr + i * 4, 1.0)",
    "step that a size makes negative": "for i in range(0, n, -n):\n    tl.store(x_ptr + i * 4, 1.0)",
    "while that passes the least integer": "i = n * -1\nwhile i > -2147483646:\n    tl.store(x_ptr, 1.0)\n    i -= 5",
    "counter in memory": "for i in range(0, n):\n    t = tl.load(i_ptr)\n    tl.store(x_ptr + t * 2, 1.0)\n    tl.store(i_ptr, t + 1)",
    "what an atomic has added": _HEAD + "t = tl.atomic_add(i_ptr, 1)\ntl.store(x_ptr + t * 2, 1.0)",
    "inline assembly": _HEAD + 'j = tl.inline_asm_elementwise("mov.b32 $0, $1;", "=r,r", [o * 4], dtype=tl.int32, is_pure=True, pack=1)\n'
    "tl.store(x_ptr + j, 1.0, mask=o < n)",
    "changed by a branch in a loop": "p = 0\nfor a in range(0, n):\n    if a % 2 == 0:\n        p += 16\n    tl.store(x_ptr + p, 1.0)",
    "doubled in a loop": "p = 1\nfor a in range(0, n):\n    tl.store(x_ptr + p, 1.0)\n    p *= 2",
    "loop until memory says so": "i = 0\nwhile tl.load(x_ptr + i * 64) > 0:\n    i += 1\ntl.store(x_ptr + n, 1.0)",
}  # fmt: skip
_ADD = "".join(f"@triton.jit\ndef {name}(a, b):\n    return a + b\n\n" for name in ("add", "max"))


@pytest.mark.parametrize(("body", "largest"), LIMITS.values(), ids=LIMITS.keys())
def test_largest_safe_size(tmp_path: Path, body: str, largest: int) -> None:
    model = audited(tmp_path, body)
    assert (model.verdict, model.largest_safe["n"]) == (Verdict.UNSAFE, largest)


@pytest.mark.parametrize(("body", "largest"), LOOPS.values(), ids=LOOPS.keys())
def test_largest_safe_size_of_a_loop(tmp_path: Path, body: str, largest: int) -> None:
    model = audited(tmp_path, body, grid=_ONE)
    assert (model.verdict, model.largest_safe["n"]) == (Verdict.UNSAFE, largest)


NOWHERE_PROVED = {
    "mask of pointers": _HEAD + "tl.store(x_ptr + o.to(tl.int64), 1.0, mask=(x_ptr + o * 4 < x_ptr + 9) & (o < n))",
    "loop that is not followed": "tl.store(x_ptr + n * 4, 1.0)\ni = 1\nwhile i < n:\n    tl.store(x_ptr + i, 1.0)\n    i *= 2",
}


@pytest.mark.parametrize("body", NOWHERE_PROVED.values(), ids=NOWHERE_PROVED.keys())
def test_no_size_is_called_safe_beside_what_is_not_followed(tmp_path: Path, body: str) -> None:
    model = audited(tmp_path, body)
    assert (model.verdict, dict(model.largest_safe)) == (Verdict.UNSAFE, {})


def test_what_fails_at_every_size_leaves_none_that_is_safe(tmp_path: Path) -> None:
    """The other store, which depends on the size, says nothing of the first."""
    model = audited(tmp_path, _HEAD + "tl.store(x_ptr + o * 4, 1.0, mask=o < n)\ntl.store(x_ptr + (pid.to(tl.uint32) - 1), 1.0)")
    assert (model.verdict, dict(model.largest_safe)) == (Verdict.UNSAFE, {"n": 0})


@pytest.mark.parametrize(("second", "verdict"), [("o", Verdict.UNKNOWN), ("o + 1", Verdict.UNSAFE)])
def test_two_loads_of_one_element_give_one_value(tmp_path: Path, second: str, verdict: Verdict) -> None:
    body = f"a = tl.load(i_ptr + o)\nb = tl.load(i_ptr + {second})\ntl.store(x_ptr + (a - b) * 1000000000, 1.0)"
    assert audited(tmp_path, _HEAD + body, 100).verdict is verdict


def test_a_mask_on_a_reduction_of_indices_makes_no_witness(tmp_path: Path) -> None:
    """Lane 0 of program 0 has a running sum of 1, so that the mask never holds there."""
    body = _HEAD + "s = tl.cumsum((o < n).to(tl.int32), 0)\ntl.store(x_ptr + (o * 0 + n * 4096), 1.0, mask=(o < 1) & (s < 1))"
    assert audited(tmp_path, body, 1 << 20).verdict is not Verdict.UNSAFE


@pytest.mark.parametrize("body", NEVER_SAFE.values(), ids=NEVER_SAFE.keys())
def test_what_is_not_followed_is_never_safe(tmp_path: Path, body: str) -> None:
    for largest in (1 << 30, (1 << 31) - 1):
        assert audited(tmp_path, body, largest, before=_ADD).verdict is not Verdict.SAFE
