"""Python's parser, without the warnings that it prints about a text that is only read."""

from __future__ import annotations

import ast
import warnings


def parse_module(text: str) -> ast.Module:
    """The tree of a module. Raises SyntaxError, and ValueError, RecursionError, MemoryError or OverflowError for text that
    is no program of anyone's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parse_expression(text: str) -> ast.Expression:
    """The tree of an expression; raises as `parse_module` does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, mode="eval")
