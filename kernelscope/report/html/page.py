"""A page from its template: style and script inside, everything escaped, and nothing that it could load or run."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernelscope import __version__
from kernelscope.launches.expression_text import argument_text, host_expression_text
from kernelscope.report.quantities import bytes_text, counted, listed, range_text, share_text, sizes_text

_TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, title: str, command: Sequence[str], **values: object) -> str:
    """The page that `template` makes of `values`. Sources and names are hostile: autoescape is on for every template,
    and the policy lets the browser run this script and load nothing else."""
    style, script = _asset("style.css"), _asset("script.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    return _environment().get_template(template).render(
        title=title, command=shlex.join(command), version=__version__, policy=policy,
        style=Markup(style), script=Markup(script), **values,  # noqa: S704  the files of this folder
    )  # fmt: skip


def _asset(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A source expression of Content Security Policy level 2 for an inline element."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _arrows(text: str) -> str:
    """`32 -> 38` with an arrow that stays with what it points to."""
    return text.replace(" -> ", " \N{RIGHTWARDS ARROW}\N{NO-BREAK SPACE}")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(
        bytes=bytes_text, counted=counted, listed=listed, sizes=sizes_text, share=share_text,
        host=host_expression_text, argument=argument_text, arrows=_arrows,
    )  # fmt: skip
    environment.globals["range_text"] = range_text
    return environment
