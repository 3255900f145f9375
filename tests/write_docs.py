"""Writes the generated pages in docs/: `make docs`."""

from __future__ import annotations

from pathlib import Path

from kernelscope.audit.checks import all_checks
from kernelscope.report.checks_page import checks_page

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    (DOCS / "checks.md").write_text(checks_page(all_checks()), encoding="utf-8")


if __name__ == "__main__":
    main()
