"""Reads the compile and link commands that Inductor writes below a wrapper; they are parsed, never given to a shell."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_COMPILE = re.compile(r"^// Compile cmd\n// (.+)$", re.MULTILINE)
_LINK = re.compile(r"^// Link cmd\n// (.+)$", re.MULTILINE)
#: Flags that are taken over as they are. Anything else that is not a path is refused.
_KNOWN = re.compile(
    r"-(?:O[0-3sg]?|Ofast|g[0-3]?|D\w+(?:=[\w.\"\\]*)?|U\w+|std=(?:c|gnu)\+\+\w+|pedantic|pthread|Wall|Wextra|Werror"
    r"|W(?:no-)?[a-z][a-z0-9+-]*(?:=[a-z0-9]+)?"
    r"|f(?!plugin|profile|dump|diagnostics|ident|use-ld|sanitize-)[a-z][a-z0-9-]*(?:=[a-z0-9+-]+)?"
    r"|m(?!arch|tune|cpu)[a-z0-9.-]+(?:=[a-z0-9-]+)?|shared|fPIC|fpic)"
)
_LIBRARY = re.compile(r"-l([\w.+-]+)")
_COMPILERS = re.compile(r"(?:[\w-]+-)?(g\+\+|clang\+\+|c\+\+|gcc|clang|cc)(?:-\d+)?$")
#: Flags of the machine that built the package: the folders are this machine's instead, and without -march=native the
#: result runs on any machine with the instruction sets that are named.
_DROPPED = re.compile(r"-(?:I|L|isystem|march=|mtune=|mcpu=|Wl,-rpath).*|-Wl,--script=.*")
_DROPPED_WITH_VALUE = ("-include", "-isystem", "-I", "-L", "-o")
_PRECOMPILED = "-DTORCH_INDUCTOR_PRECOMPILE_HEADERS"


@dataclass(frozen=True, slots=True)
class RecordedCommand:
    """A command line without what belongs to the machine that built it. `inputs`: names of sources or objects."""

    compiler: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnknownFlag:
    """A flag that is not on the list of those that may be taken over."""

    flag: str


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """The source has no such command."""


ReadCommand = RecordedCommand | UnknownFlag | NotRecorded


def compile_command(source: str) -> ReadCommand:
    """The command that compiled a source."""
    return _read(_COMPILE.findall(source))


def link_command(source: str) -> ReadCommand:
    """The command that linked the library."""
    return _read(_LINK.findall(source))


def _read(found: list[str]) -> ReadCommand:
    if not found:
        return NotRecorded()
    try:
        words = shlex.split(found[-1])
    except ValueError:
        return UnknownFlag("an unclosed quote")
    if not words:
        return NotRecorded()
    compiler = _COMPILERS.search(words[0].rpartition("/")[2])
    return UnknownFlag(words[0]) if compiler is None else _sorted_words(compiler.group(1), words[1:])


def _sorted_words(compiler: str, words: list[str]) -> ReadCommand:
    flags: list[str] = []
    libraries: list[str] = []
    inputs: list[str] = []
    pending = iter(words)
    for word in pending:
        if word == "-D":
            word = f"-D{next(pending, '')}"
        if word in _DROPPED_WITH_VALUE:
            next(pending, None)
        elif word == "-c" or _DROPPED.fullmatch(word):
            continue
        elif found := _LIBRARY.fullmatch(word):
            libraries.append(found.group(1))
        elif word == _PRECOMPILED:
            continue
        elif _KNOWN.fullmatch(word):
            flags.append(word)
        elif not word.startswith(("-", "@")) and word.endswith((".cpp", ".o", ".S", ".a")):
            inputs.append(word.rpartition("/")[2])
        else:
            return UnknownFlag(word)
    return RecordedCommand(compiler, tuple(flags), tuple(libraries), tuple(inputs))
