"""Random Triton kernels as text, whose strides are so large that int32 wraps at small sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from kernelscope.audit.kernels import KernelReader, Readable
from kernelscope.launches import read_launch_file
from tests.properties.narrow_programs import Case

_HEAD = "import triton\nimport triton.language as tl\n\n\n"
_STRIDES = (1, 4, 1 << 20, 1 << 24, 1 << 26, 1 << 27, 1 << 28, 1 << 29, 100_000_000, 500_000_000)


@dataclass(slots=True)
class Text:
    """A kernel text in the making: parameters, launch facts and body lines."""

    random: Random
    symbols: dict[str, tuple[int, int]] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    constexprs: dict[str, int] = field(default_factory=dict)
    grid: list[str] = field(default_factory=lambda: ["1", "1", "1"])
    body: list[str] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def stride(self) -> str:
        return str(self.random.choice(_STRIDES))

    def size(self, name: str, most: int = 12) -> str:
        """A symbol with a small range, and an i32 or i64 argument that carries a multiple of it."""
        self.symbols.setdefault(name, (self.random.choice((1, 2)), self.random.randint(3, most)))
        return self.argument(self.pick(name, name, f"{self.random.choice((2, 3, 5))}*{name}"))

    def argument(self, value: str, *kinds: str) -> str:
        parameter = f"a{len(self.arguments)}"
        self.arguments[parameter] = value
        self.types[parameter] = self.pick(*(kinds or ("i32", "i32", "i32", "i64")))
        return parameter

    def block(self, name: str) -> str:
        self.constexprs[name] = self.random.choice((1, 2, 4, 8))
        return name

    def blocks(self, argument: str, block: str) -> str:
        return f"cdiv({self.arguments[argument]}, {self.constexprs[block]})"

    def wide(self, text: str) -> str:
        """The expression, at times in 64 bits."""
        return f"({text}).to(tl.int64)" if self.random.random() < 0.2 else text

    def index(self, *names: str) -> str:
        """An address expression over index variables."""
        terms = [self._term(name) for name in names]
        return " + ".join(terms) if self.random.random() < 0.8 else " + ".join(f"({t})" for t in reversed(terms))

    def _term(self, x: str) -> str:
        x = self.wide(x)
        k = self.pick("2", "3", "8", *self.arguments)
        match self.random.randrange(7):
            case 0:
                return x
            case 1:
                return f"({x} // {k})*{self.stride()}"
            case 2:
                return f"({x} % {k})*{self.stride()} + {x} // {k}"
            case 3:
                return f"{self.stride()}*({x} - {self.random.randint(0, 3)})"
            case 4:
                return f"{x}*{self.pick(*self.arguments)}*{self.stride()}"
            case 5:
                return f"tl.where({x} < {k}, {x}, {x} - {k})*{self.stride()}"
            case _:
                return f"{x}*{self.stride()}"

    def source(self) -> str:
        parameters = ["p0", "p1", *self.arguments, *(f"{n}: tl.constexpr" for n in self.constexprs)]
        lines = "\n".join("    " + line for line in self.body)
        return _HEAD + "".join(self.helpers) + f"@triton.jit\ndef kernel({', '.join(parameters)}):\n{lines}\n"

    def launch(self) -> str:
        symbols = "".join(f"{n} = [{low}, {high}]\n" for n, (low, high) in self.symbols.items())
        arguments = "".join(f'{n} = "{v}"\n' for n, v in self.arguments.items())
        types = "".join(f'{n} = "{t}"\n' for n, t in self.types.items())
        constexprs = "".join(f"{n} = {v}\n" for n, v in self.constexprs.items())
        shape = '{dtype = "fp32", shape = ["1099511627776"], strides = ["1"]}'
        grid = ", ".join(f'"{g}"' for g in self.grid)
        return (
            f'kernel = "kernel"\ngrid = [{grid}]\n\n[symbols]\n{symbols}\n[arguments]\n{arguments}\n[types]\n{types}\n'
            f"[constexpr]\n{constexprs}\n[tensors]\np0 = {shape}\np1 = {shape}\n"
        )


def _pointwise(t: Text) -> None:
    numel, x_block = t.size("n"), t.block("XBLOCK")
    t.size("m", 5)
    t.grid[0] = t.blocks(numel, x_block)
    t.body += ["xoffset = tl.program_id(0) * XBLOCK", "xindex = xoffset + tl.arange(0, XBLOCK)[:]"]
    t.body += [f"xmask = xindex < {numel}", f"x1 = xindex // {t.pick('2', '4', numel)}", "x0 = xindex % 3"]
    t.body.append(f"tmp0 = tl.load(p0 + ({t.index('xindex')}), xmask)")
    t.body.append(f"tl.store(p1 + ({t.index('x0', 'x1')}), tmp0, {t.pick('xmask', 'xmask', 'None')})")


def _tiled(t: Text) -> None:
    xnumel, ynumel = t.size("n"), t.size("m", 8)
    t.block("XBLOCK"), t.block("YBLOCK")
    t.grid[0], t.grid[1] = t.blocks(xnumel, "XBLOCK"), t.blocks(ynumel, "YBLOCK")
    t.body += ["yoffset = tl.program_id(1) * YBLOCK", "yindex = yoffset + tl.arange(0, YBLOCK)[:, None]"]
    t.body += [f"ymask = yindex < {ynumel}", "xoffset = tl.program_id(0) * XBLOCK"]
    t.body += ["xindex = xoffset + tl.arange(0, XBLOCK)[None, :]", f"xmask = xindex < {xnumel}"]
    t.body.append(f"tmp0 = tl.load(p0 + ({t.index('xindex', 'yindex')}), xmask & ymask)")
    t.body.append(f"tl.store(p1 + ({t.index('yindex', 'xindex')}), tmp0, ymask & xmask)")


def _reduction(t: Text) -> None:
    xnumel, rnumel = t.size("n"), t.size("m", 9)
    t.block("XBLOCK"), t.block("R0_BLOCK")
    t.grid[0] = t.blocks(xnumel, "XBLOCK")
    t.body += ["xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]", f"xmask = xindex < {xnumel}"]
    t.body += ["r0_base = tl.arange(0, R0_BLOCK)[None, :]", "acc = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)"]
    if t.random.random() < 0.4:
        t.body.append(f"row = p0 + {t.index('xindex')}")
    else:
        t.body.append("row = p0")
    t.body += [f"for r0_offset in tl.range(0, {rnumel}, R0_BLOCK):", "    r0_index = r0_offset + r0_base"]
    t.body += [f"    r0_mask = r0_index < {rnumel}"]
    t.body.append(f"    tmp0 = tl.load(row + ({t.index('r0_index', 'xindex')}), r0_mask & xmask, other=0.0)")
    t.body += ["    acc = acc + tmp0", "tmp1 = tl.sum(acc, 1)[:, None]"]
    t.body.append(f"tl.store(p1 + ({t.index('xindex')}), tmp1, xmask)")


def _swizzled(t: Text) -> None:
    rows, columns = t.size("n"), t.size("m", 6)
    t.block("BLOCK_M"), t.block("BLOCK_N")
    t.grid[0] = f"{t.blocks(rows, 'BLOCK_M')} * {t.blocks(columns, 'BLOCK_N')}"
    t.body += ["pid = tl.program_id(0)", f"grid_m = tl.cdiv({rows}, BLOCK_M)", f"grid_n = tl.cdiv({columns}, BLOCK_N)"]
    if t.random.random() < 0.6:
        t.body += ["width = 2 * grid_n", "group = pid // width", "size = tl.minimum(grid_m - group * 2, 2)"]
        t.body += ["pid_m = group * 2 + (pid % width) % size", "pid_n = (pid % width) // size"]
    else:
        t.body += ["pid_m = pid // grid_n", "pid_n = pid % grid_n"]
    t.body += ["rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)", "rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)"]
    t.body += [f"mask = (rm[:, None] < {rows}) & (rn[None, :] < {columns})"]
    t.body.append(f"a = tl.load(p0 + {t.index('rm[:, None]')} + {t.index('rn[None, :]')}, mask=mask)")
    t.body.append(f"tl.store(p1 + ({t.index('rm[:, None]', 'rn[None, :]')}), a, mask=mask)")


def _control_flow(t: Text) -> None:
    rows, columns = t.size("n"), t.size("m", 7)
    t.block("BLOCK")
    t.grid[0] = t.pick(t.arguments[rows], f"{t.arguments[rows]} + 1", "7")
    t.helpers.append(f"@triton.jit\ndef place(row, column):\n    return row * {t.stride()} + column\n\n\n")
    t.body += ["row = tl.program_id(0)", "offsets = tl.arange(0, BLOCK)"]
    if t.random.random() < 0.6:
        t.body += [f"if row >= {rows}:", "    return"]
    if t.random.random() < 0.4:
        t.body += [f"base = p0 + {t.index('row')}"]
    else:
        t.body += ["base = p0"]
    match t.random.randrange(4):
        case 0:
            t.body += ["start = 0", f"while start < {columns}:", "    column = start + offsets"]
            t.body += [f"    a = tl.load(base + ({t.index('column')}), mask=column < {columns})"]
            t.body += [f"    tl.store(p1 + place(row, column), a, mask=column < {columns})", "    start += BLOCK"]
        case 1:
            t.body += [f"for start in range(0, {columns}, BLOCK):", "    column = start + offsets"]
            t.body += [f"    for k in range({t.random.randint(1, 3)}):", f"        at = {t.index('column', 'k')}"]
            t.body += [f"        a = tl.load(base + at, mask=column < {columns})", "        tl.store(p1 + at, a)"]
        case 2:
            t.body += [f"if row * {t.stride()} < {columns}:", f"    a = tl.load(base + {t.index('row')})"]
            t.body += ["else:", f"    a = tl.load(p1 + {t.index('row', 'row')})", "tl.store(p1 + place(row, 0), a)"]
        case _:
            t.body += [f"for k in range(0, {columns}):", f"    a = tl.load(base + offsets + {t.index('k')})"]
            t.body += [f"    base += {t.stride()}", "    tl.store(p1 + place(row, k) + offsets, a)"]


_TEMPLATES: tuple[Callable[[Text], None], ...] = (_pointwise, _tiled, _reduction, _swizzled, _control_flow)


def draw_text(random: Random) -> Text:
    """A random kernel with its launch facts."""
    text = Text(random)
    random.choice(_TEMPLATES)(text)
    return text


def case_of(text: Text) -> Case:
    """The text read as an audit reads it."""
    source = text.source()
    facts = read_launch_file(text.launch(), "k.toml", source, "k.py")
    reader = KernelReader({})
    kernel = reader.read(facts.kernels[0])
    assert isinstance(kernel, Readable), kernel
    (launch,) = facts.launches
    choice = reader.programs(kernel, launch)
    return Case(choice.programs[0], launch, facts.symbols, None)
