"""A program as text, for the message of a failing example."""

from __future__ import annotations

from kernelscope.launches.host_expression import (
    HostBinary,
    HostCast,
    HostConstant,
    HostExpression,
    HostSelect,
    HostSymbol,
)
from kernelscope.launches.launch import Launch, ScalarArgument, TensorArgument
from kernelscope.triton_source import index_program as ip
from tests.properties.narrow_programs import Case

_NAMES = {"int8": "i8", "int16": "i16", "uint8": "u8", "int1": "i1"}


def text_of(case: Case) -> str:
    """All of a case on a few lines."""
    symbols = ", ".join(f"{s.name} in {s.minimum}..{s.maximum} step {s.step}" for s in case.symbols)
    lines = [f"symbols: {symbols}; memory {case.memory}", *_launch(case.launch, case.program)]
    program = case.program
    for number, loop in enumerate(program.loops):
        bounds = ", ".join(_node(n) for n in (loop.start, loop.end, loop.step) if n is not None)
        lines.append(f"loop {number}: range({bounds}) guards {_all(loop.guards)}")
    lines += [f"observe {_node(o.condition)}" for o in program.observations]
    lines += [f"assert {_node(a.condition)} before access {a.before_access}" for a in program.assertions]
    for number, access in enumerate(program.accesses):
        mask = "None" if access.mask is None else _node(access.mask)
        value = "" if access.value is None else f" value {_node(access.value)}"
        lines.append(
            f"access {number} {access.kind.value} {access.pointer.shape}: {_node(access.pointer)}\n    mask {mask}"
            f"{value} guards {_all(access.guards)} loops {access.loops}"
        )
    return "\n".join(lines)


def _launch(launch: Launch, program: ip.IndexProgram) -> list[str]:
    lines = ["grid: " + ", ".join(map(_host, launch.grid))]
    for argument in launch.arguments:
        match argument:
            case ScalarArgument(name, value, _):
                lines.append(f"{name}: {program.types[name].name} = {_host(value)}")
            case TensorArgument(name, tensor):
                assert tensor.sizes is not None
                values = "" if tensor.values is None else " values " + "..".join(map(_host, tensor.values))
                lines.append(f"{name}: {program.types[name].name} [{_host(tensor.sizes[0])}]{values}")
    return lines


def _host(node: HostExpression) -> str:
    match node:
        case HostConstant(value):
            return str(value)
        case HostSymbol(name):
            return name
        case HostBinary(operator, left, right):
            return f"({_host(left)} {operator.value} {_host(right)})"
        case HostSelect(condition, if_true, if_false):
            return f"({_host(condition)} ? {_host(if_true)} : {_host(if_false)})"
        case HostCast(operand, _):
            return _host(operand)
        case _:
            return repr(node)


def _all(nodes: tuple[ip.Node, ...]) -> str:
    return "[" + ", ".join(map(_node, nodes)) + "]"


def _node(node: ip.Node) -> str:
    match node:
        case ip.Constant(value):
            return f"{value}:{_NAMES[node.type.name]}"
        case ip.Argument(name):
            return name
        case ip.ProgramId(axis):
            return f"pid{axis}"
        case ip.NumPrograms(axis):
            return f"np{axis}"
        case ip.Arange(_, end):
            return f"arange({end})"
        case ip.Binary(operator, left, right):
            return f"({_node(left)} {operator.value} {_node(right)})"
        case ip.Negate(operand):
            return f"-{_node(operand)}"
        case ip.Invert(operand):
            return f"~{_node(operand)}"
        case ip.Absolute(operand):
            return f"abs({_node(operand)})"
        case ip.Cast(operand, type_, _, _, implicit):
            return f"{'' if not implicit else '.'}{_NAMES[type_.name]}({_node(operand)})"
        case ip.Where(condition, if_true, if_false):
            return f"where({_node(condition)}, {_node(if_true)}, {_node(if_false)})"
        case ip.ExpandDims(operand, axis):
            return f"{_node(operand)}[ax{axis}]"
        case ip.Broadcast(operand):
            return _node(operand)
        case ip.PointerAdd(pointer, offset):
            return f"{_node(pointer)} + {_node(offset)}"
        case ip.Loaded(access):
            return f"loaded{access}"
        case ip.LoopCounter(loop):
            return f"counter{loop}"
        case ip.Carried(loop, name, initial, step, _, _, _, after):
            return f"{name}{loop}{'.after' if after else ''}[{_node(initial)} by {_node(step)}]"
        case _:
            return type(node).__name__
