"""The HTML pages in headless Chromium: sorting, filtering, the keyboard, both themes, and what axe-core finds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelscope import audit
from kernelscope.diffing.comparison import Representation, diff
from kernelscope.gate import gate
from kernelscope.report.html.audit_page import audit_html
from kernelscope.report.html.diff_page import diff_html
from kernelscope.report.html.patch_page import patch_html
from tests.report.patch_reports import mixed

FIXTURES = Path(__file__).parents[2] / "fixtures"
CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: `apt-get install chromium`"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as engine:
        launched = engine.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    sides = [str(FIXTURES / f"layernorm.{kind}.pt2") for kind in ("unbounded", "huge")]
    command = ["kernelscope"]
    (made / "audit.html").write_text(audit_html(gate(audit([FIXTURES / "resnet18.unbounded.pt2"])), command))
    (made / "small.html").write_text(audit_html(gate(audit(sides)), command))
    (made / "diff.html").write_text(diff_html(diff(*sides, representation=Representation.SOURCE), command))
    (made / "patch.html").write_text(patch_html(mixed(), command))
    return made


class Opened:
    """A page with all that it complained about and asked for."""

    def __init__(self, browser: Any, file: Path, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.complaints.append(request.url) if request.url != file.as_uri() else None)
        self.page.goto(file.as_uri())

    def __enter__(self) -> Any:
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["audit", "diff", "patch"])
def test_a_page_opens_without_a_complaint_a_request_or_a_sideways_scroll(
    browser: Any, folder: Path, name: str, scheme: str, width: int
) -> None:
    opened = Opened(browser, folder / f"{name}.html", width, scheme)
    with opened as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    assert opened.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["small", "diff", "patch"])
def test_axe_finds_no_serious_fault(browser: Any, folder: Path, name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    with Opened(browser, folder / f"{name}.html", scheme=scheme) as page:
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        violations = axe.Axe().run(page).response["violations"]
    serious = [
        (v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in violations if v["impact"] in ("serious", "critical")
    ]
    assert serious == []


def rows(page: Any, column: int) -> list[str]:
    return page.locator(f"#kernels tbody tr:visible > :nth-child({column})").all_inner_texts()


def test_a_click_on_a_heading_sorts_and_a_second_one_turns_it_round(browser: Any, folder: Path) -> None:
    with Opened(browser, folder / "audit.html") as page:
        header = page.locator("#kernels thead th", has_text="Kernel")
        names = rows(page, 2)
        header.locator("button").click()
        assert header.get_attribute("aria-sort") == "ascending"
        ascending = rows(page, 2)
        assert sorted(ascending) == sorted(names) and ascending != names
        header.locator("button").click()
        assert header.get_attribute("aria-sort") == "descending"
        assert rows(page, 2) == ascending[::-1]


def test_words_and_verdicts_filter_rows_and_cards_alike(browser: Any, folder: Path) -> None:
    with Opened(browser, folder / "audit.html") as page:
        assert len(rows(page, 2)) == 13
        page.locator("#filters").get_by_label("unsafe").uncheck()
        assert rows(page, 1) == ["SAFE"] * 3
        assert page.locator("details.kernel:visible").count() == 3
        assert page.locator("#shown").inner_text() == "3 of 13 shown"
        page.locator("#filters").get_by_label("unsafe").check()
        page.get_by_label("Find").fill("max_pool2d KS101")
        assert [name for name in rows(page, 2) if "max_pool2d" not in name] == []
        assert page.locator("#shown").inner_text() == "1 of 13 shown"


def test_the_keyboard_opens_a_finding_and_a_link_opens_what_it_points_to(browser: Any, folder: Path) -> None:
    with Opened(browser, folder / "audit.html") as page:
        closed = page.locator("details.finding:not([open])").first
        anchor = closed.get_attribute("id")
        closed.locator("summary").focus()
        page.keyboard.press("Enter")
        assert page.locator(f"#{anchor}").get_attribute("open") is not None
        safe = page.locator("#kernels tr[data-verdict=safe] a").first
        target = (safe.get_attribute("href") or "#").removeprefix("#")
        assert page.locator(f"#{target}").get_attribute("open") is None
        safe.focus()
        page.keyboard.press("Enter")
        page.wait_for_function(f"document.getElementById('{target}').open")
        assert page.evaluate("document.activeElement.closest('details').id") == target


def test_the_button_turns_the_theme(browser: Any, folder: Path) -> None:
    with Opened(browser, folder / "audit.html") as page:
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Dark").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        page.get_by_role("button", name="Light").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == before


def test_the_page_reads_without_its_script(browser: Any, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "audit.html").as_uri())
    assert page.locator("#kernels tbody tr").count() == 13
    assert not page.locator("#filters").is_visible()
    context.close()
