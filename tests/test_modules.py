"""Every module that can be run says what it takes, and does nothing else, when it is asked."""

import ast
import sys
from pathlib import Path

import pytest

from tests.support import environment, ran

ROOT = Path(__file__).parents[1]
FOLDERS = ("docs", "evals", "loadtests", "service/toolscout", "tests")
PARTS_OF_TESTS = {
    f"tests.gateway.mcp.{name}"
    for name in (
        "forked",
        *(
            f"servers.{server}"
            for server in ("guarded", "hostile", "library", "long", "notes", "odd", "sums")
        ),
    )
}


def runnable() -> list[str]:
    """Return the names of the modules that are meant to be run."""
    found = [
        path.relative_to(ROOT).with_suffix("")
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if "__name__" in (text := path.read_text("utf-8")) and is_run(ast.parse(text))
    ]
    names = {".".join(path.parts).removesuffix(".__main__") for path in found}
    return sorted({name.removeprefix("service.") for name in names} - PARTS_OF_TESTS)


def is_run(module: ast.Module) -> bool:
    return any(
        isinstance(node, ast.If) and "__name__" in ast.dump(node.test) for node in module.body
    )


@pytest.mark.integration
@pytest.mark.parametrize("module", runnable())
def test_help_is_help(module: str):
    if module == "evals.train.adapter":
        pytest.importorskip("torch", reason="needs the extra `train`")
    done = ran([sys.executable, "-m", module, "--help"], cwd=ROOT, env=environment())
    name = "toolscout" if module == "toolscout" else f"python -m {module}"
    assert done.stdout.startswith(f"usage: {name} [-h]")
