"""The cases, and what has to come of each."""

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import msgspec

from toolscout.contract.fields import DEFAULT_TOP_K

FILE = Path(__file__).with_name("cases.toml")


class UnsupportedError(Exception):
    """A selector has no such thing, so a case says nothing about it."""


class RefusedError(Exception):
    """A selector refuses a request, and says why."""


class Case(msgspec.Struct, frozen=True):
    """A question, the list that it is asked of, and what is right."""

    id: str
    group: str
    thread: str
    """Where users have reported the problem: `owner/repository#number`."""
    tools: str
    query: str
    first: str = ""
    """The tool that comes first."""
    any: list[str] = []
    """Tools of which one is among the selected."""
    not_: list[str] = msgspec.field(default_factory=list, name="not")
    """Tools that are not selected."""
    nothing: bool = False
    within_s: float = 0.0
    """Seconds within which there has to be an answer or a refusal, whichever."""
    repeated: int = 1
    """How often the query is written one after the other."""
    top_k: int = DEFAULT_TOP_K
    always_keep: list[str] = []
    filters: dict[str, Any] = {}


class Suite(msgspec.Struct, frozen=True):
    """The whole file."""

    cases: list[Case]
    lists: dict[str, str]
    schemas: dict[str, Any]
    groups: dict[str, str]
    """What each group of cases is about."""


class Verdict(NamedTuple):
    """What came of a case; `holds` is None where it was not run."""

    case: Case
    holds: bool | None
    outcome: str


class Selector(Protocol):
    """What selects tools."""

    def __call__(self, tools: Sequence[Any], case: Case) -> list[str]:
        """Return names of tools, best first.

        Raises:
            RefusedError: the request is refused.
            UnsupportedError: there is no way to ask this.
        """


def load() -> Suite:
    """Read the cases."""
    return msgspec.convert(tomllib.loads(FILE.read_text("utf-8")), Suite)


def tools_of(suite: Suite, name: str) -> list[dict[str, Any]]:
    """Return a list of tools in the shape of MCP."""
    tools = []
    for line in suite.lists[name].strip().splitlines():
        own, _, description = line.partition(": ")
        schema = suite.schemas.get(own, {"type": "object", "properties": {}})
        tools.append({"name": own, "description": description, "inputSchema": schema})
    return tools


def run(
    suite: Suite, selector: Selector, clock: Callable[[], float] = perf_counter
) -> Iterator[Verdict]:
    """Ask each case, and judge what came of it."""
    for case in suite.cases:
        case = msgspec.structs.replace(case, query=case.query * case.repeated)
        started = clock()
        try:
            names: list[str] | None = selector(tools_of(suite, case.tools), case)
        except UnsupportedError as error:
            yield Verdict(case, None, str(error))
            continue
        except RefusedError:
            names = None
        yield _judged(case, names, clock() - started)


def _judged(case: Case, names: list[str] | None, spent_s: float) -> Verdict:
    """Judge the names that were selected; None for a refusal."""
    outcome = "refused" if names is None else ", ".join(names[: case.top_k]) or "nothing"
    if case.within_s:
        return Verdict(case, spent_s <= case.within_s, f"an answer after {spent_s:.1f} s")
    selected = names or []
    holds = not {*selected} & {*case.not_}
    if case.first:
        holds &= selected[:1] == [case.first]
    if case.any:
        holds &= bool({*selected[: case.top_k]} & {*case.any})
    if case.nothing:
        holds &= not selected
    return Verdict(case, holds, outcome)


def badge(verdicts: Sequence[Verdict]) -> str:
    """Return what shields.io draws a badge of, as JSON."""
    ran = [one for one in verdicts if one.holds is not None]
    held = sum(bool(one.holds) for one in ran)
    colour = "brightgreen" if held == len(ran) else "yellow"
    message = f"{held} of {len(ran)}"
    return json.dumps(
        {"schemaVersion": 1, "label": "tool selection", "message": message, "color": colour}
    )
