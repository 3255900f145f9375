"""Random indices made of a loaded int8 behind a random assertion or mask, against every value that could be loaded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelscope.audit import audit
from kernelscope.audit.claims import BUFFER_RULE
from kernelscope.audit.results import AuditResult, Verdict

_EXTENT = 90
_FACTS = f"""
grid = ["cdiv(n, 16)", "1", "1"]
kernel = "k"
[symbols]
n = [1, 1000]
[arguments]
n = "n"
[types]
n = "i32"
[constexpr]
B = 16
[tensors]
x_ptr = {{dtype = "fp32", shape = ["{_EXTENT}"], strides = ["1"]}}
i_ptr = {{dtype = "i8", shape = ["n"], strides = ["1"], values = [LOW, HIGH]}}
"""
#: Values of the variables so far, and whether arithmetic wraps.
Read = Callable[[dict[str, int], bool], int]


@dataclass(frozen=True)
class Part:
    text: str
    read: Read


def wrapped(value: int, wraps: bool) -> int:
    return (value + 128) % 256 - 128 if wraps else value


def arithmetic(name: str, operator: str, constant: int) -> Part:
    def read(values: dict[str, int], wraps: bool) -> int:
        left = values[name]
        return wrapped({"+": left + constant, "-": left - constant, "*": left * constant}[operator], wraps)

    return Part(f"{name} {operator} {constant}", read)


def selected(name: str, limit: int, other: Part) -> Part:
    def read(values: dict[str, int], wraps: bool) -> int:
        return other.read(values, wraps) if values[name] < limit else values[name]

    return Part(f"tl.where({name} < {limit}, {other.text}, {name})", read)


def kept(name: str, tested: str, limit: int) -> Part:
    def read(values: dict[str, int], wraps: bool) -> int:
        return wrapped(values[name] * (values[tested] < limit), wraps)

    return Part(f"{name} * ({tested} < {limit}).to(tl.int8)", read)


small, int8 = st.integers(-60, 60), st.integers(-128, 127)


@st.composite
def steps(draw: st.DrawFn) -> list[Part]:
    found: list[Part] = []
    names = ["t"]
    for number in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(names[-2:]))
        simple = arithmetic(name, draw(st.sampled_from("++--*")), draw(small))
        kind = draw(st.sampled_from(["simple", "where", "kept"]))
        if kind == "where":
            found.append(selected(name, draw(small), simple))
        elif kind == "kept":
            found.append(kept(name, draw(st.sampled_from(names)), draw(small)))
        else:
            found.append(simple)
        names.append(f"v{number}")
    return found


@st.composite
def limits(draw: st.DrawFn, count: int) -> tuple[str, int | None, int | None]:
    name = draw(st.sampled_from([f"v{count - 1}", f"v{count - 1}", f"v{draw(st.integers(0, count - 1))}"]))
    low = draw(st.one_of(st.just(0), st.none(), small))
    return name, low, draw(st.one_of(st.just(_EXTENT), st.none(), st.integers(0, 127)))


def program(parts: list[Part], load: str, asserted: str, store: str) -> str:
    lines = ["o = tl.program_id(0) * B + tl.arange(0, B)", f"t = tl.load(i_ptr + o, {load})"]
    lines += [f"v{number} = {part.text}" for number, part in enumerate(parts)]
    lines += [asserted] * bool(asserted) + [f"tl.store(x_ptr + v{len(parts) - 1}, 1.0, mask={store})"]
    return "".join(f"    {line}\n" for line in lines)


def audited(body: str, low: int = -128, high: int = 127) -> AuditResult:
    with tempfile.TemporaryDirectory() as folder:
        source, facts = Path(folder, "k.py"), Path(folder, "k.toml")
        source.write_text(
            f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x_ptr, i_ptr, n, B: tl.constexpr):\n{body}"
        )
        facts.write_text(_FACTS.replace("LOW", str(low)).replace("HIGH", str(high)))
        result = audit([str(source)], launch_file=str(facts))
    assert result.artifacts[0].error is None
    return result


def both(parts: list[Part], loaded: int) -> tuple[dict[str, int], dict[str, int]]:
    """Every variable, exactly and as the hardware computes it."""
    exact, machine = {"t": loaded}, {"t": loaded}
    for number, part in enumerate(parts):
        exact[f"v{number}"], machine[f"v{number}"] = part.read(exact, False), part.read(machine, True)
    return exact, machine


def allowed(result: AuditResult, index: int) -> bool:
    return 0 <= index < _EXTENT or BUFFER_RULE not in result.assumptions.rules


@settings(max_examples=250, deadline=None, derandomize=True)
@given(st.data())
def test_no_index_called_safe_is_wrong_where_the_assertion_lets_it_pass(data: st.DataObject) -> None:
    parts = data.draw(steps())
    name, low, high = data.draw(limits(len(parts)))
    conditions = [f"({low} <= {name})"] * (low is not None) + [f"({name} < {high})"] * (high is not None)
    asserted = f"tl.device_assert(({' & '.join(conditions) or '(t == t)'}) | ~(o < n))"
    body = program(parts, "mask=o < n, other=0", asserted, "o < n")
    result = audited(body)
    index = f"v{len(parts) - 1}"
    for loaded in range(-128, 128) if result.verdict is Verdict.SAFE else ():
        exact, machine = both(parts, loaded)
        passes = (low is None or low <= machine[name]) and (high is None or machine[name] < high)
        if passes and allowed(result, exact[index]):
            assert machine[index] == exact[index], (body, loaded)


#: Masks by their text: which lanes are live at a size.
_MASKS: dict[str, Callable[[int, int], bool]] = {
    "o < n": lambda o, n: o < n, "o < 5": lambda o, n: o < 5, "(o >= 5) & (o < n)": lambda o, n: 5 <= o < n,
    "o < n - 3": lambda o, n: o < n - 3, "(o == 2) & (o < n)": lambda o, n: o == 2 and o < n,
}  # fmt: skip
masks = st.sampled_from(sorted(_MASKS))


@settings(max_examples=250, deadline=None, derandomize=True)
@given(steps(), masks, masks, st.one_of(st.none(), int8), st.tuples(int8, int8))
def test_no_index_called_safe_is_wrong_on_a_lane_that_the_load_masks_off(
    parts: list[Part], load: str, store: str, other: int | None, ends: tuple[int, int]
) -> None:
    low, high = sorted(ends)
    body = program(parts, f"mask={load}" + (f", other={other}" if other is not None else ""), "", store)
    result = audited(body, low, high)
    if result.verdict is not Verdict.SAFE:
        return
    lanes = {(_MASKS[load](o, n), _MASKS[store](o, n)) for n in (1, 2, 4, 5, 6, 9, 1000) for o in range(20)}
    masked = range(-128, 128) if other is None else [other]
    possible = {*(range(low, high + 1) if (True, True) in lanes else ()), *(masked if (False, True) in lanes else ())}
    index = f"v{len(parts) - 1}"
    for loaded in possible:
        exact, machine = both(parts, loaded)
        assert not allowed(result, exact[index]) or machine[index] == exact[index], (body, low, high, loaded)
