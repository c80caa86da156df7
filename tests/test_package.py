"""What `import toolscout` offers."""

import re
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import toolscout
from evals.train.wordlists import PACKAGES
from tests.support import ran
from tests.surface import surface


def test_public_names():
    assert set(toolscout.__all__) == {"Engine", "Result", "__version__"}
    for name in toolscout.__all__:
        assert getattr(toolscout, name)


def test_what_is_public_changes_only_on_purpose():
    checked_in = Path(__file__).with_name("surface.txt").read_text("utf-8")
    assert surface() == checked_in, "if it is meant: python -m tests.surface > tests/surface.txt"


def test_it_says_that_it_is_typed():
    assert files(toolscout).joinpath("py.typed").is_file()


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="Motor"):
        _ = toolscout.Motor


@pytest.mark.parametrize(
    ("imported", "unneeded"),
    [
        (
            "toolscout, toolscout.contract, toolscout.settings, toolscout.errors",
            {"numpy", "faiss", "model2vec", "litestar"},
        ),
        ("toolscout.engine", {"litestar", "uvicorn", "toolscout.settings", "toolscout.server"}),
    ],
    ids=["the package: no heavy library", "the engine: neither HTTP nor settings"],
)
def test_an_import_loads_nothing_that_it_does_not_need(imported: str, unneeded: set[str]):
    script = f"import sys, {imported}; print(sorted({unneeded} & set(sys.modules)))"
    assert ran([sys.executable, "-c", script]).stdout.strip() == "[]"


def test_whatever_the_bundled_data_are_made_from_has_its_licence():
    root = Path(__file__).parents[1]
    text = (root / "THIRD_PARTY.md").read_text("utf-8")
    card = (root / "service/toolscout/model/README.md").read_text("utf-8")
    model = Path(toolscout.__file__).parent / "model"
    for file in model.rglob("*.safetensors"):
        assert f"`toolscout/model/{file.relative_to(model)}`" in text
    for package in PACKAGES:
        assert "`{}` {}".format(*package.split("==")) in text
    trained = card.partition("Training data: ")[2].partition("requests in other words")[0]
    names = re.split(r", | and |; ", re.sub(r"\s*\([^)]*\)", "", trained).replace("\n", " "))
    for name in filter(None, names):
        assert name.strip().removeprefix("tool texts of ") in text
