"""The OpenAPI document is the application's, checked in, and lies at /openapi.json."""

from pathlib import Path

import pytest
import yaml

from tests.support import SEARCH, Server, toolscout
from toolscout.server.openapi.document import document

CHECKED_IN = Path(__file__).parents[2] / "openapi.yaml"


def test_the_checked_in_document_is_the_applications():
    assert yaml.safe_load(CHECKED_IN.read_text("utf-8")) == document(), "run `make openapi`"


def test_the_command_prints_the_checked_in_bytes():
    done = toolscout("openapi")
    assert done.returncode == 0, done.stderr
    assert done.stdout == CHECKED_IN.read_text("utf-8"), "run `make openapi`"


def test_the_server_serves_it(server: Server):
    response = server.get("/openapi.json")
    assert response.headers["content-type"].startswith("application/json")
    assert response.json() == document()


@pytest.mark.parametrize("path", [SEARCH, "/api/compress/tool-discovery/"])
def test_its_examples_work(server: Server, path: str):
    content = document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    response = server.post(content["example"], path)
    assert response.status_code == 200
    assert response.json()["selected_names"] == ["search_code"]
