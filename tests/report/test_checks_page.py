from __future__ import annotations

from pathlib import Path

from kernelscope.audit.checks import all_checks
from kernelscope.report.checks_page import checks_page

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"


def test_the_page_on_checks_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == checks_page(all_checks()), "`make docs` rewrites docs/checks.md"


def test_the_page_links_every_check() -> None:
    page = checks_page(all_checks())
    for check in all_checks():
        assert f"## {check.code}: {check.title}" in page
