"""The mutants of a module: every place where an operator, a number, a condition or a statement can be another one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Mutant", "mutants_of"]

OTHERS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of a module: the text between two places becomes another."""

    module: str
    line: int
    start: int  # places in the encoded text
    end: int
    before: str
    after: str

    def applied_to(self, text: str) -> str:
        """Return the module with the change."""
        encoded = text.encode()
        return (encoded[: self.start] + self.after.encode() + encoded[self.end :]).decode()


def mutants_of(module: str, text: str) -> list[Mutant]:
    """Return all mutants of a module; annotations, decorators and what is raised are left alone."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for node, changed in _changes(ast.parse(text)):
        start, end = (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)
        before = text.encode()[start:end].decode()
        after = changed if isinstance(changed, str) else f"({ast.unparse(changed)})"
        found.append(Mutant(module, node.lineno, start, end, before, after))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | str]]:
    """Yield nodes with what takes their places."""
    if isinstance(node, ast.Raise | ast.JoinedStr) or _is_a_warning(node) or _is_list_of_names(node):
        return
    yield from _own(node)
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child)


def _is_a_warning(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("warn", "warnings.warn")


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def _own(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST | str]]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[place] = OTHERS[type(operator)]()  # type: ignore[call-overload]
            yield node, other
    elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.BinOp) and type(node.op) in OTHERS):
        other = copy.deepcopy(node)
        other.op = OTHERS[type(node.op)]()  # type: ignore[assignment]
        yield node, other
    elif isinstance(node, ast.UnaryOp):
        yield node, f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield node, repr(not node.value if isinstance(node.value, bool) else _number(node.value))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass"
    elif isinstance(node, ast.Break | ast.Continue):
        yield node, "continue" if isinstance(node, ast.Break) else "break"


def _number(value: float) -> float:
    return value + 1 if isinstance(value, int) or value == 0.0 else 2.0 * value
