"""What the documents say is what the program does."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernelscope import cli
from tests import guide
from tests.score import score
from tests.write_docs import DOCS, README, ROOT, block, example, with_block

PAGES = [README, ROOT / "CHANGELOG.md", ROOT / "fixtures" / "README.md", *sorted(DOCS.glob("*.md"))]
_COMMAND = re.compile(r"^    kernelscope (.*)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def readme() -> str:
    return README.read_text(encoding="utf-8")


def runnable() -> list[str]:
    """Commands of the README without placeholders."""
    return [c for c in _COMMAND.findall(readme()) if not re.search(r"[A-Z…]{4}|…|\[", c.split("  ")[0])]


def test_report_in_the_readme_is_what_the_command_prints() -> None:
    assert block(readme(), "example") == example(), "run `make docs`"


@pytest.mark.slow
def test_score_is_what_the_audit_reaches() -> None:
    scored = score()
    assert (DOCS / "score.md").read_text(encoding="utf-8") == scored.page, "run `make docs`"
    assert block(readme(), "score") == scored.summary + "\n"


def test_commands_of_the_readme_work() -> None:
    commands = runnable()
    assert len(commands) >= 3
    for command in commands:
        done = CliRunner().invoke(cli.main, [_absolute(word) for word in shlex.split(command)])
        assert done.exit_code in (0, 1), f"{command}: {done.stderr}"
        assert done.stdout


def _absolute(word: str) -> str:
    return str(ROOT / word) if (ROOT / word).exists() else word


def test_every_command_and_option_that_the_readme_names_exists() -> None:
    for line in _COMMAND.findall(readme()):
        usage = line.split("   ")[0]
        name = usage.split()[0]
        command = import_module(f"kernelscope.commands.{name}").command
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--?[a-z][a-z-]*", usage.replace(".toml", ""))) <= known, usage


def test_commands_that_exist_are_in_the_readme() -> None:
    named = {line.split()[0] for line in _COMMAND.findall(readme())}
    assert named == set(cli.COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path = page.parent / target
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor[1:] in anchors, f"{target}{anchor}"


def test_every_page_is_linked_from_the_index() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert {page.name for page in DOCS.glob("*.md")} - {"index.md"} <= set(link_targets(index))


def link_targets(text: str) -> list[str]:
    return [target for target, _ in _LINK.findall(text)]


def test_a_block_is_replaced_and_a_missing_one_is_an_error() -> None:
    text = "a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"
    assert with_block(text, "x", "new\n") == "a\n<!-- x -->\nnew\n<!-- end of x -->\nb\n"
    with pytest.raises(ValueError, match="0 blocks called y"):
        with_block(text, "y", "")


# -- the guide ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [c for c in guide.commands() if not guide.needs_torch(c)])
def test_the_guide_shows_what_its_commands_print(command: str, tmp_path: Path) -> None:
    assert guide.outputs()[command] == guide.output_of(command, tmp_path), "run `make docs`"


@pytest.mark.torch
@pytest.mark.slow
def test_the_guides_patched_package_is_as_it_shows(tmp_path: Path) -> None:
    commands = [c for c in guide.commands() if guide.needs_torch(c)]
    assert len(commands) >= 4
    for command in commands:
        assert guide.outputs()[command] == guide.output_of(command, tmp_path), f"{command}: run `make docs`"
