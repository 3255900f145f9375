"""Source text with colours of the terminal's own palette: Triton, C++, TTIR, PTX and SASS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, ClassVar

from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text
from rich.syntax import Syntax
from rich.text import Text as RichText

_DTYPE = re.compile(r"(?:u?int(?:1|8|16|32|64)|b?float(?:8\w*|16|32|64)|constexpr|tensor|pointer_type)")
_INDEX = re.compile(r"(?:[xyz]|r\d+_)(?:index|offset|mask|numel|base|\d+)|[XYZ]BLOCK|R\d+_BLOCK|ks\d+")
_POINTER = re.compile(r"(?:in_out|in|out|ws)_ptr\d*")
_NAMESPACES = frozenset({"tl", "triton", "triton_helpers", "libdevice", "tl_math"})


class TritonLexer(PythonLexer):
    """Python that knows Triton's namespaces and dtypes, and the names that Inductor gives indices, masks and pointers."""

    name = "Triton"

    def get_tokens_unprocessed(self, text: str, *more: Any) -> Iterator[tuple[int, Any, str]]:  # noqa: ANN401
        """Names get the token of what they stand for."""
        for place, kind, value in super().get_tokens_unprocessed(text, *more):
            yield place, _kind(kind, value), value


def _kind(kind: Any, value: str) -> Any:  # noqa: ANN401  pygments' token types
    if kind not in Name:
        return kind
    if value in _NAMESPACES:
        return Name.Namespace
    if _DTYPE.fullmatch(value):
        return Keyword.Type
    if _INDEX.fullmatch(value):
        return Name.Variable
    return Name.Builtin if _POINTER.fullmatch(value) else kind


class SassLexer(RegexLexer):
    """NVIDIA's machine code as `nvdisasm` prints it."""

    name = "SASS"
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"/\*.*?\*/", Comment),
            (r"\.L_\w+:?", Name.Label),
            (r"@!?U?P\w+", Keyword.Pseudo),
            (r"\bU?[RP](?:\d+|Z|T)\b(?:\.\w+)*", Name.Variable),
            (r"\b[A-Z][A-Z0-9]*(?:\.[A-Z0-9_]+)*\b", Keyword),
            (r"-?0x[0-9a-f]+|-?\d+(?:\.\d+)?", Number),
            (r"[\[\](){},;:]", Punctuation),
            (r"[-+|~!&.]", Operator),
            (r"\s+", Text),
            (r".", Text),
        ]
    }


class TtirLexer(RegexLexer):
    """Triton's dialect of MLIR, as `triton.compile` prints it."""

    name = "TTIR"
    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"//.*", Comment),
            (r'"(?:[^"\\]|\\.)*"', String),
            (r"[%^][\w$]*(?:#\d+)?", Name.Variable),
            (r"@[\w$.]+", Name.Function),
            (r"![\w.]+", Keyword.Type),
            (r"\b(?:tensor|vector|memref|[su]?i\d+|b?f\d+|index)\b", Keyword.Type),
            (r"(?<=x)(?:[su]?i\d+|b?f\d+)\b", Keyword.Type),
            (r"\b[a-z]\w*(?:\.\w+)+", Keyword),
            (r"\b(?:module|dense|true|false|attributes)\b", Keyword),
            (r"-?\d+(?:\.\d+(?:[eE][-+]?\d+)?)?", Number),
            (r"[\[\](){}<>,:;=]", Punctuation),
            (r"[-+|~!&.*?]", Operator),
            (r"\s+", Text),
            (r"\w+", Name),
            (r".", Text),
        ]
    }


@cache
def lexer_of(language: str) -> Lexer:
    """The lexer of a language: `python` is Triton's, `ttir`, `sass`, or one of pygments' own (`cpp`,
    `ptx`)."""
    own: dict[str, type[Lexer]] = {"python": TritonLexer, "ttir": TtirLexer, "sass": SassLexer}
    if language in own:
        return own[language](stripnl=False)
    lexer: Lexer = get_lexer_by_name(language, stripnl=False)  # C++ and PTX
    return lexer


def highlighted(code: str, language: str = "python") -> RichText:
    """One line of code, or several, without a line end at the end."""
    return _highlighted(code, language).copy()  # the caller may mark it


@lru_cache(maxsize=4096)  # kernels are made of the same lines again and again
def _highlighted(code: str, language: str) -> RichText:
    text = Syntax("", lexer_of(language), theme="ansi_dark", background_color="default").highlight(code)
    text.rstrip()
    return text
