"""The package uses what libraries promise, and of their private parts only a named few."""

import ast
import re
from collections.abc import Iterator

import pytest

from docs.generate.house import modules

PRIVATE = re.compile("_(?!_)")

NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
"""Public in spite of their names, so that they cannot clash with fields."""

EXCEPTIONS = {
    ("turns.providers.fields", "_request_id"): "documented by the SDKs of OpenAI and Anthropic",
    ("gateway.mcp.oauth", "_initialize"): "of the OAuth client; mcp is pinned to its minor release",
    ("gateway.mcp.transports", "_transport"): "asyncio has no other way to drop a pipe at once",
    ("integrations.fastmcp", "_search"): "what fastmcp lets a search transform implement",
    ("serving.protocol", "_unset_keepalive_if_required"): "of uvicorn, pinned to its minor release",
}
"""Private names of others that are used, and why that is not avoided."""


def taken(tree: ast.Module) -> Iterator[str]:
    """Yield every private attribute that a module takes of anything."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and PRIVATE.match(node.attr):
            yield node.attr


def defined(tree: ast.Module) -> Iterator[str]:
    """Yield every private name that a module gives to something of its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.attr if isinstance(node, ast.Attribute) else node.id
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in modules().items()}

OWN = {
    name
    for module, tree in TREES.items()
    for name in defined(tree)
    if (module, name) not in EXCEPTIONS
}


@pytest.mark.parametrize("module", TREES)
def test_a_module_takes_no_private_part_of_a_library(module: str):
    used = set(taken(TREES[module])) - OWN - NAMED_TUPLE
    assert {name for name in used if (module, name) not in EXCEPTIONS} - {"_exit"} == set()


def test_no_private_module_of_a_library_is_imported():
    private = {
        (module, node.module)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and any(part.startswith("_") for part in (node.module or "").split("."))
        and node.module != "__future__"
    }
    assert private == set()


@pytest.mark.parametrize(("module", "name"), EXCEPTIONS)
def test_an_exception_is_still_needed(module: str, name: str):
    assert name in set(taken(TREES[module])) | set(defined(TREES[module]))
