"""The HTML pages, read by a parser: what they say, what they must not hold, and how large they grow."""

from __future__ import annotations

import base64
import hashlib
import itertools
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kernelscope import audit
from kernelscope.audit.results import AuditResult, KernelSource, UnsafeFinding
from kernelscope.diffing.comparison import Representation, diff
from kernelscope.gate import gate
from kernelscope.report.html.audit_page import audit_html
from kernelscope.report.html.diff_page import diff_html
from kernelscope.report.html.marked_code import Mark, marked_line, marked_lines
from kernelscope.report.html.patch_page import patch_html
from kernelscope.report.html.value_plot import value_plot
from tests.report.patch_reports import mixed

FIXTURES = Path(__file__).parents[2] / "fixtures"
VOID = {"meta", "input", "path", "polyline", "link", "br", "img"}


class Page(HTMLParser):
    """Checks nesting, and keeps elements, ids, links and texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inline: dict[str, str] = {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.inline[self.open[-1]] = data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def attributes(self, tag: str, name: str) -> list[str]:
        return [value for found, attrs in self.elements if found == tag and (value := attrs.get(name)) is not None]

    @property
    def ids(self) -> list[str]:
        return [value for _, attrs in self.elements if (value := attrs.get("id")) is not None]


def audit_page(result: AuditResult) -> str:
    return audit_html(gate(result), ["kernelscope", "audit", "x.pt2"])


@pytest.fixture(scope="module")
def resnet() -> AuditResult:
    return audit([FIXTURES / "resnet18.unbounded.pt2"])


@pytest.fixture(scope="module")
def pages(resnet: AuditResult) -> dict[str, str]:
    sides = [FIXTURES / f"layernorm.{kind}.pt2" for kind in ("unbounded", "huge")]
    compared = diff(str(sides[0]), str(sides[1]), representation=Representation.SOURCE)
    return {
        "audit": audit_page(resnet),
        "several": audit_page(audit(sorted(FIXTURES.glob("*.small.pt2")))),
        "diff": diff_html(compared, ["kernelscope", "diff"]),
        "patch": patch_html(mixed(), ["kernelscope", "patch"]),
    }


@pytest.mark.parametrize("name", ["audit", "several", "diff", "patch"])
def test_a_page_is_well_formed_and_every_link_has_its_target(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    assert len(page.ids) == len(set(page.ids))
    targets = page.attributes("a", "href")
    assert targets and all(target.startswith("#") and target[1:] in page.ids for target in targets)
    labels = [label for _, attrs in page.elements for label in (attrs.get("aria-labelledby") or "").split()]
    assert labels and set(labels) <= set(page.ids)


@pytest.mark.parametrize("name", ["audit", "several", "diff", "patch"])
def test_a_page_loads_nothing_and_runs_only_its_own_script(pages: dict[str, str], name: str) -> None:
    page = Page(pages[name])
    for tag, attrs in page.elements:
        assert not {"src", "style", "onclick", "onerror", "onload", "action"} & set(attrs), (tag, attrs)
        assert tag not in ("link", "iframe", "object", "embed", "img", "base")
    policy = next(a["content"] or "" for t, a in page.elements if t == "meta" and "http-equiv" in a)
    for tag, text in page.inline.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "http://" not in pages[name] and "https://" not in pages[name]


def test_headings_go_down_one_level_at_a_time(pages: dict[str, str]) -> None:
    for text in pages.values():
        levels = [int(tag[1]) for tag, _ in Page(text).elements if tag in ("h1", "h2", "h3", "h4", "h5")]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_the_verdict_and_the_answer_come_first(pages: dict[str, str]) -> None:
    text = Page(pages["audit"]).text
    answer = "safe up to s31 (input0[0]) = 2674; 2675 accesses memory out of bounds in 2 of 13 kernels"
    start = text.index("UNSAFE resnet18.unbounded.pt2")
    assert answer in text[start : start + 200]


def test_every_kernel_has_a_row_and_a_card_with_its_source(resnet: AuditResult, pages: dict[str, str]) -> None:
    page = Page(pages["audit"])
    rows = [attrs for tag, attrs in page.elements if tag == "tr" and "data-verdict" in attrs]
    kernels = resnet.artifacts[0].models[0].kernels
    assert [row["data-verdict"] for row in rows] == [verdict.word for verdict in sorted(k.verdict for k in kernels)]
    assert sum(attrs.get("class", "").startswith("kernel ") for tag, attrs in page.elements if tag == "details") == len(kernels)
    assert sum("Source of" in (attrs.get("aria-label") or "") for _, attrs in page.elements) == len(kernels)


def test_the_page_of_resnet18_is_below_a_megabyte(pages: dict[str, str]) -> None:
    assert len(pages["audit"].encode()) < 1_000_000


def test_the_page_of_two_thousand_kernels_is_below_ten_megabytes_and_says_what_it_leaves_out(resnet: AuditResult) -> None:
    artifact = resnet.artifacts[0]
    model = artifact.models[0]
    kernels = tuple(
        replace(
            kernel,
            name=f"{kernel.name}_{n}",
            findings=tuple(replace(f, expression=f"{f.expression} + {n}", id=f"{f.id}-{n}") for f in kernel.findings),
        )
        for n in range(154)
        for kernel in model.kernels
    )[:2000]
    large = replace(resnet, artifacts=(replace(artifact, models=(replace(model, kernels=kernels),)),))
    text = audit_page(large)
    assert len(text.encode()) < 10_000_000
    page = Page(text)
    assert sum(tag == "tr" and "data-verdict" in attrs for tag, attrs in page.elements) == 2000
    assert "The source is left out to keep this page small" in page.text


def test_hostile_names_and_sources_stay_text(resnet: AuditResult) -> None:
    evil = "</script><img src=x onerror=alert(1)>{{7*7}}\"'"
    artifact = resnet.artifacts[0]
    model = artifact.models[0]
    kernel = model.kernels[0]
    source = kernel.source
    assert source is not None
    finding = next(f for f in kernel.findings if isinstance(f, UnsafeFinding))
    hostile = replace(
        kernel,
        name=evil,
        source=KernelSource(evil, f"# {evil}\n{source.text}", source.file + evil, source.first_line, source.indent),
        findings=(replace(finding, expression=evil, explanation=evil, condition=evil),),
    )
    result = replace(resnet, artifacts=(replace(artifact, path=evil, models=(replace(model, kernels=(hostile,)),)),))
    page = Page(audit_html(gate(result), ["kernelscope", evil]))
    assert not page.attributes("img", "src")
    assert "49" not in page.text[: page.text.index("Assumptions")].split()
    assert page.text.count("<img src=x onerror=alert(1)>{{7*7}}") >= 5


# -- source lines ------------------------------------------------------------------------------------------------------


def test_marked_lines_hold_exactly_the_source() -> None:
    source = FIXTURES.parent.joinpath("kernelscope/audit/run.py").read_text()
    lines = marked_lines(source, "python", {3: [Mark(2, 9, "fault", "x", "why")], 5: [Mark(0, 400, "doubt")]})
    assert [line.text for line in lines] == source.splitlines()
    assert [Page(line.html).texts for line in lines if not line.text] == [[]] * source.splitlines().count("")
    for line in lines:
        assert "".join(Page(line.html).texts) == line.text
    assert [n for n, line in enumerate(lines) if line.marked] == [3, 5]


def test_overlapping_marks_are_cut_and_never_nested() -> None:
    html = marked_line("abcdefgh", "cpp", [Mark(1, 4, "x"), Mark(3, 6, "y"), Mark(7, 99, "z")])
    page = Page(html)
    assert "".join(page.texts) == "abcdefgh"
    assert html.count("<mark") == 3


# -- the plot ----------------------------------------------------------------------------------------------------------


def finding_and_model(name: str):
    model = audit([FIXTURES / f"{name}.pt2"]).artifacts[0].models[0]
    finding = next(f for k in model.kernels for f in k.findings if isinstance(f, UnsafeFinding))
    return finding, model


def test_the_plot_crosses_its_limit_at_the_threshold() -> None:
    plot = value_plot(*finding_and_model("layernorm.unbounded"))
    assert plot is not None and plot.size == "s10" and plot.expression == "4096*s10"
    assert plot.threshold.label == "s10 = 524288" and plot.limit.label == "2³¹"
    last_safe = plot.safe_points.split()[-1].split(",")
    assert float(last_safe[0]) == pytest.approx(plot.threshold.place, abs=0.1)
    assert float(last_safe[1]) == pytest.approx(plot.limit.place, abs=0.1)
    assert plot.range_end is None


def test_the_plot_shows_where_a_declared_range_ends() -> None:
    finding, model = finding_and_model("userkernel.huge")
    plot = value_plot(finding, model)
    symbol = next(s for s in model.symbols if s.name == (plot.size if plot else ""))
    assert plot is not None and plot.range_end is not None
    assert plot.range_end.label == f"range ends at {symbol.maximum}"
    assert plot.range_end.place > plot.threshold.place


def test_a_condition_of_another_form_has_no_plot() -> None:
    finding, model = finding_and_model("layernorm.unbounded")
    for condition in ("", "s10 <= 4 or s10 >= 8", "s10 < 3", "nothing <= 3", "(s10 <= 3"):
        assert value_plot(replace(finding, condition=condition), model) is None
