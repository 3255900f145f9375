"""How right the audit is on everything whose answer is known: `python -m tests.score` prints it as docs/score.md has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kernelscope.audit import audit, largest_safe_sizes
from tests.audit.packages import EXPECTED, expected_sizes, only_model, others_fixed, package, unknown_findings
from tests.audit.test_cases import CASES, TABLE

HEADER = """# Score

Written by `make docs` from `python -m tests.score`; nothing in it is typed by hand.

"""


@dataclass(frozen=True, slots=True)
class Score:
    """The tables as text, and one line that sums them up."""

    summary: str
    page: str


def score() -> Score:
    """Audit and measure everything."""
    sizes = [(name, symbol, wanted, _found(name, symbol)) for name, symbol, wanted in expected_sizes()]
    cases = [(name, entry["verdict"], _case(name)) for name, entry in TABLE.items()]
    verdicts = [(name, *_verdict(name)) for name in EXPECTED]
    exact = sum(wanted == found for _, _, wanted, found in sizes)
    right = sum(wanted == found for _, wanted, found in cases)
    unknown = sum(count for _, _, count in verdicts)
    summary = (
        f"{exact} of {len(sizes)} largest safe sizes of {len(EXPECTED)} real packages are exact, {unknown} of their findings "
        f"are unknown, and {right} of {len(cases)} kernels after public reports get the right verdict."
    )
    parts = [
        HEADER + summary,
        "## Largest safe sizes\n\nOther sizes are 64, memory is unlimited (`kernelscope bounds`, `fixtures/expected.json`).",
        _table(("package", "size", "expected", "found"), ((n, s, _number(w), _number(f)) for n, s, w, f in sizes)),
        "## Verdicts\n\nAs captured, under the default assumptions (`kernelscope audit`).",
        _table(("package", "verdict", "unknown findings"), ((n, v, str(c)) for n, v, c in verdicts)),
        "## Kernels after public reports\n\n`tests/cases`, each with its launch file.",
        _table(("case", "expected", "found"), cases),
    ]
    return Score(summary, "\n\n".join(parts) + "\n")


def _found(name: str, symbol: str) -> int | str | None:
    result = largest_safe_sizes(package(name), fixed=others_fixed(name, symbol))
    return "unknown" if result.unknown else result.largest_safe[symbol]


def _verdict(name: str) -> tuple[str, int]:
    (artifact,) = audit([package(name)]).artifacts
    return artifact.verdict.word, len(unknown_findings(artifact))


def _case(name: str) -> str:
    result = audit([str(CASES / f"{name}.py")], launch_file=str(CASES / f"{name}.toml"))
    return only_model(result.artifacts[0]).verdict.word


def _number(size: int | str | None) -> str:
    return "no limit" if size is None else str(size)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    return "\n".join(_lines(header, rows))


def _lines(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    print(score().page, end="")
