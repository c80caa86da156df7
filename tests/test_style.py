"""How code is written, so that a stranger reads it once."""

import ast
from collections import defaultdict
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


VERBS_IN_ED = {"add", "embed", "feed", "need", "read", "seed", "shed", "shred"}
"""Verbs that end as participles do."""

NO_VERBS = set(
    "again ahead all already alone any apart below best beside both each either elsewhere "
    "every few first here highest largest last late latest lowest missing most near nearest next "
    "none now oldest once only other own possible raw same short sometimes soon unknown usable "
    "whole within without worst".split()
)
"""Adverbs and adjectives by which a function could be called, and does not say what it does."""


def is_named_by_no_verb(node: ast.AST) -> bool:
    """Whether a function of a module is called by a participle, an adverb or an adjective."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    first = node.name.strip("_").split("_")[0]
    return first in NO_VERBS or (first.endswith("ed") and first not in VERBS_IN_ED)


def test_a_function_is_called_by_what_it_does():
    found = [
        f"{path.relative_to(FOLDER)}:{node.lineno}: {node.name}"
        for path, tree in TREES.items()
        for node in tree.body
        if is_named_by_no_verb(node)
    ]
    assert found == []


PREDICATES = ("is", "has", "can")


def is_a_predicate_without_bool(node: ast.AST) -> bool:
    """Whether a function is called as a question, and answers with something else."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.returns is None:
        return False
    first = node.name.strip("_").split("_")[0]
    return first in PREDICATES and not ast.unparse(node.returns).startswith(("bool", "TypeGuard"))


def test_a_question_is_answered_by_yes_or_no():
    assert places(is_a_predicate_without_bool) == []


SHARED_NAMES = {"Reason", "Session", "Use"}
"""On the wire and in the client: both are the field's words, and users know either."""


def test_a_class_has_a_name_of_its_own():
    files = defaultdict(list)
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(str(path.relative_to(FOLDER)))
    assert {name for name, places in files.items() if len(places) > 1} <= SHARED_NAMES
