"""Write the answers of the meta-tools: JSON text for a model, short for any number of tools."""

from collections.abc import Mapping
from typing import Any

import msgspec

from toolscout.client.offer import Offer
from toolscout.client.selection import Reason, Selection
from toolscout.discovery.names import Names
from toolscout.discovery.overview import MAX_HINTS, examples, namespaces
from toolscout.discovery.risk import RiskGate, requires_confirmation, requires_full_schema, risk_of
from toolscout.tools.shapes import as_mapping, schema_of, texts
from toolscout.tools.summary import first_sentence

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200
MAX_SCHEMAS = 20
"""Maximum number of schemas in one answer; each may have thousands of tokens."""


def search_answer(selection: Selection, offer: Offer) -> str:
    """Answer a search: the tools, that nothing fits, or that the service could not be asked."""
    if selection.reason is Reason.EMPTY_SELECTION and selection.fell_open:
        return _nothing_fits(offer)
    if selection.fell_open:
        # A model gains nothing from hundreds of names at once.
        return error_answer(
            "the search is not available; use list_tools_meta", reason=selection.reason
        )
    if not selection.names:
        return _nothing_fits(offer)
    return _write({"tools": [_summary(offer, name) for name in selection.names]})


def list_answer(arguments: Mapping[str, Any], offer: Offer) -> str:
    """Answer with one page of all tools in the order of their names."""
    names = sorted(offer.names)
    size, cursor = arguments.get("page_size") or PAGE_SIZE, arguments.get("cursor")
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        return error_answer("page_size: expected a whole number above 0")
    start = 0
    if cursor:
        if not isinstance(cursor, str) or cursor not in offer.by_name:
            return error_answer("cursor: not one that this list gave")
        start = names.index(cursor) + 1
    shown = names[start : start + min(size, MAX_PAGE_SIZE)]
    answer: dict[str, Any] = {"tools": [_summary(offer, name) for name in shown]}
    if shown and shown[-1] != names[-1]:
        answer["next_cursor"] = shown[-1]
    return _write({**answer, "total": len(names)})


def info_answer(arguments: Mapping[str, Any], offer: Offer, gate: RiskGate | None) -> str:
    """Answer with one whole tool, by its name in any spelling."""
    name = arguments.get("name")
    if not isinstance(name, str):
        return error_answer("name: expected a text")
    resolved = Names(offer.names).resolve(name)
    if resolved.name is None:
        if resolved.ambiguous:
            several = resolved.ambiguous[:MAX_HINTS]
            return error_answer("several tools answer to this name", did_you_mean=several)
        near = resolved.suggestions or []
        return error_answer("there is no tool of this name", did_you_mean=near)
    return _write(_full_detail(offer, resolved.name, gate))


def schemas_answer(arguments: Mapping[str, Any], offer: Offer, gate: RiskGate | None) -> str:
    """Answer with several whole tools, and with similar names for each unknown one."""
    wanted = arguments.get("names")
    if not isinstance(wanted, list) or not all(isinstance(name, str) for name in wanted):
        return error_answer("names: expected a list of texts")
    if not 0 < len(wanted) <= MAX_SCHEMAS:
        return error_answer(f"names: expected 1 to {MAX_SCHEMAS}, got {len(wanted)}")
    names = Names(offer.names)
    shown: dict[str, dict[str, Any]] = {}
    missing = []
    for name in dict.fromkeys(wanted):
        resolved = names.resolve(name)
        if resolved.name is None:
            near = (resolved.ambiguous or resolved.suggestions or [])[:MAX_HINTS]
            missing.append({"name": name, "did_you_mean": near})
        elif resolved.name not in shown:
            shown[resolved.name] = _full_detail(offer, resolved.name, gate)
    return _write({"schemas": list(shown.values()), "errors": missing, "count": len(shown)})


def error_answer(message: str, **more: Any) -> str:
    """Answer with what is wrong."""
    return _write({"error": message, **more})


def is_error_answer(answer: str) -> bool:
    """Whether an answer says what is wrong, and nothing else."""
    return answer.startswith('{"error":')


def _nothing_fits(offer: Offer) -> str:
    """Say that nothing fits, how many tools there are, and some namespaces or names."""
    total = len(offer.names)
    answer: dict[str, Any] = {
        "tools": [],
        "message": f"No tool fits this query. There are {total} tools: try other words, "
        "or page through them with list_tools_meta.",
        "total": total,
    }
    if spaces := namespaces(offer.names):
        answer["namespaces"] = spaces
    elif named := examples(offer.names):
        answer["for_example"] = named
    return _write(answer)


def _full_detail(offer: Offer, name: str, gate: RiskGate | None) -> dict[str, Any]:
    tool = offer.by_name[name]
    if gate is not None:
        gate.note_read(tool)
    return _with_status(
        tool,
        {
            "name": name,
            "description": texts(tool)[1],
            "input_schema": schema_of(tool),
            "risk": risk_of(tool),
            "requires_confirmation": requires_confirmation(tool),
        },
    )


def _summary(offer: Offer, name: str) -> dict[str, Any]:
    tool = offer.by_name[name]
    summary: dict[str, Any] = {
        "name": name,
        "description": first_sentence(texts(tool)[1]),
        "risk": risk_of(tool),
    }
    if requires_full_schema(tool):
        summary["requires_tool_info"] = True
    return _with_status(tool, summary)


def _with_status(tool: Any, shown: dict[str, Any]) -> dict[str, Any]:
    """Add the status of a tool that cannot be called now."""
    status = as_mapping(tool).get("status")
    return {**shown, "status": status} if status == "unavailable" else shown


def _write(answer: dict[str, Any]) -> str:
    return msgspec.json.encode(answer, enc_hook=str).decode()
