"""References between files of one folder, and nowhere else."""

import json
from pathlib import Path

import pytest

from tests.files.documents import api, parameter
from toolscout.files.reading import read_file

PAGE = parameter("page", schema={"$ref": "common/kinds.yaml#/Whole"})


def write(folder: Path, name: str, text: object) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
    return path


def properties_of(path: Path) -> dict[str, object]:
    (tool,) = read_file(path)
    found = json.loads(bytes(tool.definition))
    return found["input_schema"]["properties"]


def test_references_lead_to_other_files_of_the_folder_and_back(tmp_path: Path):
    write(tmp_path, "common/kinds.yaml", "Whole: {$ref: 'deeper.json#/Number'}\n")
    number = {"Number": {"type": "integer", "description": "From 1"}}
    write(tmp_path, "common/deeper.json", number)
    write(tmp_path, "my page.json", PAGE)
    path = write(tmp_path, "api.json", api({"parameters": [{"$ref": "my%20page.json"}]}))
    assert properties_of(path) == {"page": {"type": "integer", "description": "From 1"}}


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.json",
        "https://example.com/page.json",
        "file:///etc/passwd",
        "/etc/passwd",
        "link.json",
        "missing.json",
        "broken.json",
        "page.json#/nowhere",
        "\0",
    ],
)
def test_nothing_outside_the_folder_is_read_and_what_is_lost_is_told(
    tmp_path: Path, caplog, reference: str
):
    secret = write(tmp_path, "secret.json", parameter("secret"))
    folder = tmp_path / "api"
    write(folder, "page.json", PAGE)
    write(folder, "broken.json", "{")
    (folder / "link.json").symlink_to(secret)
    assert (
        properties_of(write(folder, "api.json", api({"parameters": [{"$ref": reference}]}))) == {}
    )
    (told,) = caplog.messages
    assert told.startswith("references that lead nowhere: ")
