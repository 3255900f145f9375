"""Loads, stores and atomics."""

from __future__ import annotations

from kernelscope.triton_source.index_program import Access, AccessKind, Loaded, Node
from kernelscope.triton_source.interpreter import nodes
from kernelscope.triton_source.interpreter.operators import to_node
from kernelscope.triton_source.interpreter.state import State
from kernelscope.triton_source.interpreter.values import Unknown, Value, is_node, is_number
from kernelscope.triton_source.scalar_types import INT1, INT8, PointerType, ScalarType


def load(s: State, pointer: Value, mask: Value, other: Value) -> Value:
    """`tl.load(pointer, mask, other)`."""
    address = _address(s, pointer, "a load")
    if address is None:
        return Unknown("a load through a pointer that is not followed")
    condition = _condition(s, mask)
    fallback = to_node(s, other)
    if condition is not None:
        address, condition = nodes.align(s, address, condition)
    if fallback is not None:
        address, fallback = nodes.align(s, address, fallback)
    element = nodes.pointer_element(address)
    stored = INT8 if element is INT1 else element
    if fallback is not None:
        fallback = nodes.cast(s, fallback, stored, implicit=True)
    s.accesses.append(
        Access(AccessKind.LOAD, address, condition, None, fallback, s.guards, s.loop_stack, s.span)
    )
    loaded = _result(s, stored, address)
    return nodes.cast(s, loaded, INT1, implicit=True) if element is INT1 else loaded


def store(s: State, pointer: Value, value: Value, mask: Value) -> None:
    """`tl.store(pointer, value, mask)`."""
    address = _address(s, pointer, "a store")
    if address is None:
        return
    condition = _condition(s, mask)
    address, stored, condition = _aligned(s, address, _stored(s, value, address), condition)
    element = nodes.pointer_element(address)
    stored = nodes.cast(s, stored, INT8 if element is INT1 else element, implicit=True)
    s.accesses.append(
        Access(AccessKind.STORE, address, condition, stored, None, s.guards, s.loop_stack, s.span)
    )


def atomic(s: State, pointer: Value, value: Value, mask: Value, compared: Value = None) -> Value:
    """`tl.atomic_add(pointer, value, mask)` and its like: the old value."""
    address = _address(s, pointer, "an atomic operation")
    if address is None:
        return Unknown("an atomic operation through a pointer that is not followed")
    condition = _condition(s, mask)
    address, stored, condition = _aligned(s, address, _stored(s, value, address), condition)
    element = nodes.pointer_element(address)
    stored = nodes.cast(s, stored, element, implicit=True)
    other = to_node(s, compared) if compared is not None else None
    if other is not None:
        other = nodes.broadcast(s, other, address.shape) if not other.shape else other
    s.accesses.append(
        Access(AccessKind.ATOMIC, address, condition, stored, other, s.guards, s.loop_stack, s.span)
    )
    return _result(s, element, address)


def _result(s: State, element: ScalarType, address: Node) -> Node:
    s.spend()
    return Loaded(len(s.accesses) - 1, element, address.shape, s.span)


def _address(s: State, pointer: Value, what: str) -> Node | None:
    if is_node(pointer) and isinstance(pointer.type, PointerType):
        return pointer
    if is_node(pointer) or is_number(pointer):
        s.reject(f"{what} takes a pointer")
        return None
    s.give_up_on(f"{what} through a pointer that is not followed")
    return None


def _condition(s: State, mask: Value) -> Node | None:
    if mask is None:
        return None
    condition = to_node(s, mask)
    if condition is None:
        return nodes.opaque(s, INT1, (), mask.detail if isinstance(mask, Unknown) else "a mask that is not followed")
    if condition.type is not INT1:
        return nodes.cast(s, condition, INT1, implicit=True)
    return condition


def _stored(s: State, value: Value, address: Node) -> Node:
    node = to_node(s, value)
    if node is None:
        detail = value.detail if isinstance(value, Unknown) else "a value that is not followed"
        return nodes.opaque(s, nodes.pointer_element(address), (), detail)
    return node


def _aligned(
    s: State, address: Node, value: Node, condition: Node | None
) -> tuple[Node, Node, Node | None]:
    shape = address.shape
    if condition is None:
        address, value = nodes.align(s, address, value)
    else:
        address, value, condition = nodes.align_all(s, address, value, condition)
    if address.shape != shape:
        s.reject(f"the pointer has shape {list(shape)}, the value or mask {list(address.shape)}")
    return address, value, condition
