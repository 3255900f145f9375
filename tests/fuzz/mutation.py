"""Ways to damage bytes and texts, all drawn from one random source."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|\S|\s+")
_NUMBERS = ("0", "1", "-1", "2", "16", "255", "4096", "65535", "65536", "2147483647", "2147483648", "4294967296",
            "9223372036854775807", "18446744073709551616", "1" + "0" * 40, "0x10", "1e9", "0.5")  # fmt: skip
_WORDS = ("tl.int64", "tl.int32", "None", "True", "tl.program_id(0)", "tl.arange(0, 8)", "xindex", "r0_index", "lambda: 0",
          "[]", "()", "*", "**", "//", "%", "&", "|", "~", "<<", "if True:", "while True:", "for i in range(3):", "return",
          "tl.load", "tl.where", "tl.make_block_ptr", "int64_t", "uint32_t", "/*", "*/", "'''", '"', "{", "}", ";", "\\",
          "\n", "\t", "\x00", "é", "\u202e")  # fmt: skip


def damaged_bytes(random: Random, data: bytes) -> bytes:
    """A few bytes changed, removed, repeated or cut off."""
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        if not result:
            break
        at = random.randrange(len(result))
        match random.randrange(6):
            case 0:
                result[at] = random.randrange(256)
            case 1:
                result[at] ^= 1 << random.randrange(8)
            case 2:
                del result[at : at + random.choice((1, 4, 100, 5000))]
            case 3:
                result[at:at] = result[at : at + random.choice((1, 8, 300))]
            case 4:
                result[at : at + 4] = random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff"))
            case _:
                del result[at if random.random() < 0.3 else len(result) :]
    return bytes(result)


def damaged_tokens(random: Random, text: str, low: float = 0.0) -> str:
    """A few tokens replaced, removed, repeated or swapped, in the part of the text from the fraction `low` on."""
    tokens = _TOKEN.findall(text)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        if not tokens:
            break
        at = random.randrange(int(len(tokens) * low), len(tokens))
        match random.randrange(7):
            case 0 | 1:
                tokens[at] = _replacement(random, tokens, at)
            case 2:
                del tokens[at : at + random.choice((1, 1, 2, 10))]
            case 3:
                tokens[at:at] = tokens[at : at + random.choice((1, 3, 30))]
            case 4:
                other = random.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 5:
                tokens.insert(at, random.choice(_WORDS))
            case _:
                tokens[at] = random.choice(tokens)
    return "".join(tokens)


def _replacement(random: Random, tokens: list[str], at: int) -> str:
    if tokens[at].isdigit():
        return random.choice(_NUMBERS)
    return random.choice(_WORDS) if random.random() < 0.4 else random.choice(tokens)


def damaged_text(random: Random, text: str, low: float = 0.0) -> bytes:
    """Token-level damage mostly, byte-level at times."""
    if random.random() < 0.75:
        return damaged_tokens(random, text, low).encode("utf-8", "surrogatepass")
    data = text.encode()
    start = int(len(data) * low)
    return data[:start] + damaged_bytes(random, data[start:])


_ARITHMETIC = re.compile(r"(?<=[\w)\]] )(\+|-|\*|//|%|<|<=|>|>=|&)(?= [\w(~])")
_LITERAL = re.compile(r"(?<![\w.])\d+(?![\w.])")
_CAST = re.compile(r"\.to\(tl\.int64\)")


def other_arithmetic(random: Random, source: str) -> str:
    """A kernel whose arithmetic is another: an operator, a literal, a cast, a mask."""
    body = source.index("def ")
    head, text = source[:body], source[body:]
    for _ in range(random.choice((1, 1, 2, 3))):
        match random.randrange(6):
            case 0 | 1:
                text = _swapped(random, _ARITHMETIC, text, ("+", "-", "*", "//", "%", "<", "<=", "&"))
            case 2 | 3:
                text = _swapped(random, _LITERAL, text, ("0", "1", "2", "3", "7", "64", "1024", "65536", "4194304"))
            case 4:
                text = _swapped(random, _CAST, text, ("", ".to(tl.int32)", ".to(tl.uint32)", ".to(tl.int16)"))
            case _:
                text = re.sub(r", mask=[^,)]+", "", text, count=1) if random.random() < 0.5 else text
    return head + text


def _swapped(random: Random, pattern: re.Pattern[str], text: str, choices: tuple[str, ...]) -> str:
    places = list(pattern.finditer(text))
    if not places:
        return text
    place = random.choice(places)
    return text[: place.start()] + random.choice(choices) + text[place.end() :]
