"""How code is written, so that a stranger reads it once."""

import ast
from collections.abc import Callable
from pathlib import Path

import toolscout

FOLDER = Path(toolscout.__file__).parent
TREES = {path: ast.parse(path.read_text("utf-8")) for path in sorted(FOLDER.rglob("*.py"))}


def places(is_fault: Callable[[ast.AST], bool]) -> list[str]:
    """Return the file and line of each node that is a fault."""
    return [
        f"{path.relative_to(FOLDER)}:{node.lineno}"  # type: ignore[attr-defined]
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if is_fault(node)
    ]


def assigns_unrelated_values(node: ast.AST) -> bool:
    """Whether one line assigns several values, and is neither a swap nor an unpacking."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
        return False
    target = node.targets[0]
    if not isinstance(target, ast.Tuple):
        return False
    changed = {ast.unparse(each) for each in target.elts}
    used = {ast.unparse(each) for each in ast.walk(node.value) if isinstance(each, ast.expr)}
    return not changed & used


def unpacks_a_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple)


def chooses_of_three(node: ast.AST) -> bool:
    if not isinstance(node, ast.IfExp):
        return False
    return any(isinstance(part, ast.IfExp) for part in (node.test, node.body, node.orelse))


def hides_equality(node: ast.AST) -> bool:
    if not isinstance(node, ast.ClassDef):
        return False
    decorators = [ast.unparse(each) for each in node.decorator_list]
    return any("dataclass(" in each and "eq=False" in each for each in decorators)


def test_an_assignment_has_one_target():
    assert places(assigns_unrelated_values) == []


def test_a_list_is_not_packed_into_rows():
    assert places(unpacks_a_literal) == []


def test_a_choice_of_three_is_no_expression():
    assert places(chooses_of_three) == []


def test_a_dataclass_is_a_value():
    assert places(hides_equality) == []
