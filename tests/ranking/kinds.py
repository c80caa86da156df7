"""How a case of each kind is asked of the service, and what has to come of it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from toolscout.contract.requests import Context, Filters, Session, Use
from toolscout.engine import Engine
from toolscout.errors import EmptyPattern
from toolscout.index.details import describe_tool
from toolscout.ranking.boost import find_work
from toolscout.text.domains import load_bundled
from toolscout.text.query import analyse
from toolscout.text.tokens import analyse_terms
from toolscout.tools.summary import cut_first_sentence

DEFAULT_DOMAIN = "code"
"""What the system of the cold-start cases assumes of every request."""

_FACETS = {"domain": "domains", "namespace": "namespaces", "tag": "tags", "source": "sources"}
"""Filters of other systems that take one value, and ours."""


class Found(NamedTuple):
    """What came of a case: names, in words, and expectations of its kind that do not hold."""

    names: list[str]
    said: str
    failures: list[str]


def check(case: dict[str, Any], model: str) -> tuple[str, list[str]]:
    """Return what came of a case of one of `KINDS`, and the expectations that do not hold."""
    found = KINDS[case["kind"]](case, model)
    got = f"{found.said}: {', '.join(found.names) or 'nothing'}"
    missed = [wanted for wanted, holds in _expectations(case, found.names) if not holds]
    return got, found.failures + missed


def _expectations(case: dict[str, Any], names: Sequence[str]) -> list[tuple[str, bool]]:
    """Each expectation in words, and whether it holds."""
    first = names[0] if names else None
    found: list[tuple[str, bool]] = []
    if case.get("expect_top1"):
        found.append((f"{case['expect_top1']} first", first == case["expect_top1"]))
    if case.get("expect_in_top_k"):
        wanted = case["expect_in_top_k"]
        shown = f"{', '.join(wanted)} among {case['top_k']}"
        found.append((shown, set(wanted) <= set(names)))
    if case.get("expect_none"):
        found.append(("nothing", not names))
    found += [(f"not {name} first", first != name) for name in case.get("expect_not_top1") or ()]
    found += [(f"not {name}", name not in names) for name in case.get("expect_not_in") or ()]
    if case.get("expect_max_results") is not None:
        most = case["expect_max_results"]
        found.append((f"at most {most}", len(names) <= most))
    return found


def _search(case: dict[str, Any], model: str) -> Found:
    engine = Engine(case["tools"], model=model)
    try:
        result = engine.search(
            case["query"],
            case.get("top_k") or 5,
            filters=_filters(case.get("filters") or {}),
            session=_session(case.get("usage") or ()),
        )
    except EmptyPattern:
        return Found([], "refused as empty", [])
    return Found(result.names, result.outcome, [])


def _resolve(case: dict[str, Any], model: str) -> Found:
    return Found(Engine(case["tools"], model=model).resolve(case["query"]), "resolved", [])


def _suggest(case: dict[str, Any], model: str) -> Found:
    found = Engine(case["tools"], model=model).resolution(case["query"])
    return Found((found.suggestions or [])[: case.get("top_k") or 5], "suggested", [])


def _first_sentence(case: dict[str, Any], _: str) -> Found:
    text = cut_first_sentence(case["query"])
    wanted = case["expect_text"]
    return Found([], f"cut to {text!r:.40}", [] if text == wanted else [f"{wanted!r:.40}"])


def _risk(case: dict[str, Any], model: str) -> Found:
    catalog = Engine(case["tools"], model=model).catalog
    row = catalog.rows[case["query"]]
    detail = describe_tool(catalog.tool(row), catalog.facets.of(row), "brief")
    failures = [
        f"{field} {case['expect_' + field]}"
        for field in ("risk", "requires_full_schema", "requires_confirmation")
        if (getattr(detail, field) or False) != case["expect_" + field]
    ]
    return Found([], f"risk {detail.risk}", failures)


def _budget(case: dict[str, Any], model: str) -> Found:
    engine, budget = Engine(case["tools"], model=model), case["token_budget"]
    top_k = case.get("top_k") or 5
    result = engine.search(case["query"], top_k, budget_tokens=budget, detail="brief")
    spent = sum(tool.tokens_brief or 0 for tool in result.tools)
    fits = 0 < spent <= case["expect_max_tokens"]
    wanted = f"something within {case['expect_max_tokens']} tokens"
    return Found(result.names, f"{spent} tokens", [] if fits else [wanted])


def _cold_start(case: dict[str, Any], _: str) -> Found:
    """Return the domain of a request, where the case names one beside the default.

    The cases name domains in words of their own system; each stands for the domain of ours that
    it is a telling word of.
    """
    taxonomy = load_bundled()
    context = Context(files=tuple(case.get("repo_files") or ()))
    domain, _strength = find_work(context, analyse(case["query"]), taxonomy)
    named = [label for label in case["expect_domains"] if label != DEFAULT_DOMAIN]
    wanted = {ours for label in named for ours in taxonomy.count(analyse_terms(label))}
    holds = domain in wanted if named else domain in ("", DEFAULT_DOMAIN)
    expected = ", ".join(named or [DEFAULT_DOMAIN])
    return Found([], f"domain {domain or 'open'}", [] if holds else [f"domain {expected}"])


def _filters(given: dict[str, Any]) -> Filters | None:
    lists = {_FACETS.get(key, key): value for key, value in given.items()}
    fields: dict[str, Any] = {
        key: tuple([value] if isinstance(value, str) else value)
        for key, value in lists.items()
        if key != "max_risk"
    }
    if "max_risk" in given:
        fields["max_risk"] = given["max_risk"]
    return Filters(**fields) if fields else None


def _session(usage: Sequence[dict[str, Any]]) -> Session | None:
    uses = [
        Use(
            use["tool"],
            successes=use.get("count", 1) if use["success"] else 0,
            failures=0 if use["success"] else use.get("count", 1),
            turns_ago=use.get("turns_ago", 0),
        )
        for use in usage
    ]
    return Session(recent=tuple(uses)) if uses else None


KINDS: dict[str, Callable[[dict[str, Any], str], Found]] = {
    "search": _search,
    "search_with_usage": _search,
    "resolve": _resolve,
    "suggest": _suggest,
    "first_sentence": _first_sentence,
    "risk": _risk,
    "budget": _budget,
    "cold_start": _cold_start,
}
