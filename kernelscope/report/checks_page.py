"""The page on all checks: `python -m kernelscope.report.checks_page > docs/checks.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelscope.audit.checks import Check, all_checks
from kernelscope.audit.checks.example import Example

_INTRODUCTION = """# Checks

Made from `kernelscope/audit/checks/`; `kernelscope explain CODE` prints the same. Each example is a test: its kernel,
launched as its launch file says, must get that verdict.
"""


def checks_page(checks: Sequence[Check]) -> str:
    """The page in Markdown."""
    lines = [_INTRODUCTION, *_table(checks)]
    for check in checks:
        lines += ["", f"## {check.code}: {check.title}", "", check.explanation]
        for example in check.examples:
            lines += ["", *_example(example)]
    return "\n".join(lines) + "\n"


def _table(checks: Sequence[Check]) -> Iterator[str]:
    yield "| code | what |"
    yield "|---|---|"
    for check in checks:
        yield f"| [{check.code}](#{_anchor(check)}) | {check.title} |"


def _anchor(check: Check) -> str:
    kept = (c for c in f"{check.code}: {check.title}".lower() if c.isalnum() or c in " -_")
    return "".join(kept).replace(" ", "-")


def _example(example: Example) -> Iterator[str]:
    yield f"**{example.verdict.word}**: {example.about}"
    yield f"\n```python\n{example.kernel.strip()}\n```"
    yield f"\n```toml\n{example.launch.strip()}\n```"
    if example.expression is not None:
        limits = ", ".join(f"{name} = {value}" for name, value in example.largest_safe.items())
        yield f"\nFaulty: `{example.expression}`" + (f"; safe up to {limits}." if limits else ".")


if __name__ == "__main__":
    print(checks_page(all_checks()), end="")
