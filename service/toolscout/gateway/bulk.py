"""Write very many tools of a file into a catalog that PostgreSQL keeps tool by tool.

A thousand at a time, so that it can be stopped and begun again: what is there already is not
written anew.
"""

import codecs
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import httpx2
import msgspec

from toolscout.contract.bounds import CATALOG_NAME
from toolscout.errors import NOT_JSON, ConfigurationError
from toolscout.searching import service_at

AT_A_TIME = 1_000
"""Tools of one request."""


def write_file(path: Path, catalog: str, url: str) -> int:
    """Write the tools of a file, one in each line or as a JSON array; returns how many there are.

    Progress goes to standard error.

    Raises:
        ConfigurationError: the file cannot be read, or the service refuses or is not there; says
            how many tools were written before.
    """
    if not CATALOG_NAME.fullmatch(catalog):
        raise ConfigurationError("catalog: expected 1 to 128 of A-Z a-z 0-9 . _ -")
    sent, total = 0, 0
    try:
        with service_at(url) as client:
            tools = iter(_tools(path))
            while some := list(islice(tools, AT_A_TIME)):
                total = _write(client, f"/v1/catalogs/{catalog}", some)
                sent += len(some)
                sys.stderr.write(f"{catalog}: {sent:,} tools written\n")
    except ConfigurationError as error:
        raise ConfigurationError(f"after {sent:,} tools: {error}") from None
    return total


def _write(client: httpx2.Client, path: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """Add tools to a catalog, which is made where there is none; returns how many it has then."""
    answer = client.get(path)
    if answer.is_success and answer.json().get("keep") != "postgres":
        raise ConfigurationError(f"{path} is there and kept whole; delete it, or take another name")
    answer = client.patch(path, json={"upsert": tools})
    if answer.status_code == httpx2.codes.NOT_FOUND:
        answer = client.put(path, json={"tools": tools, "keep": "postgres"})
    return int(answer.raise_for_status().json()["tools"])


def _tools(path: Path) -> Iterator[Any]:
    """Yield the tools of a file, line by line where it has one in each."""
    place = str(path)
    try:
        with path.open("rb") as file:
            if file.read(64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
                text = path.read_bytes().removeprefix(codecs.BOM_UTF8)
                yield from msgspec.json.decode(text, type=list[Any])
                return
            file.seek(0)
            for number, line in enumerate(file, 1):
                place = f"{path}, line {number}"
                if text := line.removeprefix(codecs.BOM_UTF8).strip():
                    yield msgspec.json.decode(text)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from None
    except NOT_JSON as error:
        raise ConfigurationError(f"{place}: not JSON: {error}") from None
