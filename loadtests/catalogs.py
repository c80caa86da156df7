"""Tool lists to send: real ones where there are any, else invented ones of the same size."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import count, islice, product
from typing import Any

from evals.speed import traffic

_VERBS = ("create", "list", "find", "update", "delete", "export", "archive", "share", "validate")
_THINGS = ("issue", "invoice", "calendar_event", "customer", "image", "branch", "ticket", "report")
_SYSTEMS = ("acme", "billing", "crm", "mail", "forge", "tracker", "drive", "planner", "warehouse")
_FIELDS = ("id", "title", "owner", "due_date", "labels", "page_size")

_serial = count()


@cache
def tools(size: int) -> str:
    """Return a catalog of that many tools, as JSON."""
    folder = traffic.catalogs(None)
    if folder is not None and (folder / f"{size}.json").is_file():
        return json.dumps(traffic.load(folder, size))
    return json.dumps(list(islice(_invented(), size)))


def unseen(size: int) -> str:
    """Return the same catalog with texts that no earlier call had, as JSON."""
    serial = next(_serial)
    renewed = [
        {**tool, "description": f"{tool.get('description') or ''} (edition {serial})"}
        for tool in json.loads(tools(size))
    ]
    return json.dumps(renewed)


def _invented() -> Iterator[dict[str, Any]]:
    """Tools with about 600 bytes of schema each, as real ones have."""
    kinds = tuple(product(_SYSTEMS, _VERBS, _THINGS))
    for number in count():
        edition, kind = divmod(number, len(kinds))
        system, verb, thing = kinds[kind]
        name = f"{system}__{verb}_{thing}" + (f"_v{edition}" if edition else "")
        words = thing.replace("_", " ")
        about = f"of the {words} to {verb} in {system}"
        properties = {
            field: {"type": "string", "description": f"The {field.replace('_', ' ')} {about}"}
            for field in _FIELDS
        }
        description = f"{verb.capitalize()} a {words} in {system} and return what became of it"
        schema = {"type": "object", "properties": properties, "required": ["id"]}
        yield {
            "name": name,
            "description": description,
            "definition": {"name": name, "description": description, "input_schema": schema},
        }
