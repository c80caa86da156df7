"""Mutate the examples of every operation of the API's description, and look for what breaks.

An answer must come, be no 500, and be a problem document where it refuses. One seed makes one
sequence of requests.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from http.client import HTTPException
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.support import Process, exchange, running
from toolscout.server.openapi.document import make_document

JSON = Any

ODD: list[JSON] = [
    None,
    True,
    0,
    -1,
    0.5,
    1e308,
    2**63,
    -(2**70),
    "",
    "\0",
    "\ud800",
    "ﬁle\u202e",
    "a" * 5_000,
    "(a|b)*c",
    "[",
    [],
    {},
    [[]],
    [None],
    {"": None},
    {"name": "x"},
    [{"name": "x"}] * 3,
    {"role": "user", "content": "open a file"},
]
"""Values in place of others."""

BYTES = [b"\xff", b"\xc3", b"\0", b'"', b"{", b"]", b"\\u", b"\\ud800", b"1e999", b",", b"\r\n"]
"""Bytes that are put into a body."""

TEXTS = ["", "mine", "%00", "%ff", "..%2f", "%F0%9F%98%80", "a" * 300, "~", "-1", "1e9", "full"]
"""Texts in paths, queries and headers, as they are sent."""


class Operation(NamedTuple):
    """One operation of the description."""

    method: str
    path: str
    example: JSON
    parameters: list[dict[str, Any]]


def operations() -> list[Operation]:
    """Return all operations."""
    found = []
    for path, item in make_document()["paths"].items():
        for method, operation in item.items():
            content = operation.get("requestBody", {}).get("content", {})
            example = content.get("application/json", {}).get("example")
            parameters = operation.get("parameters", [])
            found.append(Operation(method.upper(), path, example, parameters))
    return found


def field_names() -> list[str]:
    """Return the names of all fields that any body may have."""
    schemas = make_document()["components"]["schemas"].values()
    return sorted({name for schema in schemas for name in schema.get("properties", {})})


def places(value: JSON) -> Iterator[tuple[Any, Any]]:
    """Yield each container in a value, with each key or index in it."""
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    for key, inner in pairs:
        yield value, key
        yield from places(inner)


def mutate(random: Random, example: JSON, names: list[str]) -> bytes:
    """Return a body that is the example but for a few changes."""
    value = json.loads(json.dumps(example))
    for _ in range(random.choice([0, 1, 1, 2, 5])):
        container, key = random.choice([*places(value)] or [({}, "")])
        way = random.randrange(4)
        if way == 0:
            container[key] = deepcopy(random.choice(ODD))
        elif way == 1 and isinstance(container, dict):
            container.pop(key, None)
        elif isinstance(container, dict):
            container[random.choice(names)] = deepcopy(random.choice(ODD))
        else:
            container.append(deepcopy(random.choice(ODD)))
    body = json.dumps(value).encode()
    for _ in range(random.choice([0, 0, 0, 1, 1, 3])):
        at = random.randrange(len(body) + 1)
        body = body[:at] + random.choice(BYTES) + body[at + random.randrange(3) :]
    return body[: random.randrange(len(body) + 1)] if random.random() < 0.05 else body


def make(random: Random, operation: Operation, names: list[str]) -> bytes:
    """Return a request of an operation."""
    path, query, headers = operation.path, list[str](), ["Host: localhost"]
    for parameter in operation.parameters:
        name = parameter["name"]
        usual = "mine" if name == "id" else "search_code"
        text = usual if random.random() < 0.7 else random.choice(TEXTS)
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", text)
        elif random.random() < 0.5:
            if parameter["in"] == "query":
                query.append(f"{name}={text}")
            else:
                headers.append(f"{name}: {text}")
    if query:
        path += "?" + "&".join(query)
    body = b""
    if operation.example is not None:
        body = mutate(random, operation.example, names)
        headers += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines = [f"{operation.method} {path} HTTP/1.1", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def fault(server: Process, request: bytes) -> tuple[int, str]:
    """Send a request; return the status, and what is wrong with the answer."""
    try:
        status, headers, body = exchange(server, request)
    except (OSError, HTTPException) as error:
        return 0, f"no answer: {error!r}"
    if status == 500:
        return status, "an internal error"
    is_told = headers.get("content-type", "").startswith("application/problem+json")
    if status >= 400 and not (is_told and json.loads(body)["code"]) and b"/readyz" not in request:
        return status, f"no problem document: {body[:200]!r}"
    return status, ""


def fuzz(folder: Path, seconds: float, seed: str) -> bool:
    """Send mutated requests for so long; print a line, and each request with a bad answer."""
    random, names, every = Random(seed), field_names(), operations()
    statuses, faults = Counter[int](), 0
    flags = ["--store", f"sqlite:{folder / 'state.db'}"]
    with running(folder, *flags) as server:
        until = time.monotonic() + seconds
        while time.monotonic() < until and server.process.poll() is None and faults < 10:
            request = make(random, random.choice(every), names)
            status, wrong = fault(server, request)
            statuses[status] += 1
            if wrong:
                faults += 1
                print(f"fuzz: FUZZ_SEED={seed}, request {statuses.total()}: {wrong}\n  {request!r}")
        has_ended = server.process.poll() is not None
        tracebacks = (server.stdout + server.stderr).count("Traceback")
    counts = ", ".join(f"{count} × {status}" for status, count in sorted(statuses.items()))
    print(
        f"fuzz: {statuses.total()} requests of {len(every)} operations, seed {seed}: {counts};",
        end="",
    )
    print(f" {faults} faults, {tracebacks} tracebacks{', the service ended' * has_ended}")
    return not (faults or tracebacks or has_ended)
