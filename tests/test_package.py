"""What `import toolscout` offers."""

import subprocess
import sys

import pytest

import toolscout


def test_public_names():
    assert set(toolscout.__all__) == {"Engine", "Result", "__version__"}
    for name in toolscout.__all__:
        assert getattr(toolscout, name)


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="Motor"):
        _ = toolscout.Motor


def test_importing_the_package_loads_no_heavy_library():
    script = (
        "import sys, toolscout, toolscout.contract, toolscout.settings, toolscout.errors;"
        "print(sorted({'numpy', 'faiss', 'model2vec', 'litestar'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_ranking_knows_neither_http_nor_settings():
    script = (
        "import sys, toolscout.engine;"
        "print(sorted({'litestar', 'uvicorn', 'toolscout.settings', 'toolscout.server'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
