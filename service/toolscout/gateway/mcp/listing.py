"""The tools of all servers under one set of names, and which of them are offered at all."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import mcp_types

from toolscout.common.spelling import match_names
from toolscout.contract.fields import Risk
from toolscout.contract.requests import Filters
from toolscout.contract.tools import Tool
from toolscout.errors import InvalidRequest
from toolscout.gateway.mcp.connection import Connection
from toolscout.gateway.mcp.folders import FILE, HINT
from toolscout.gateway.mcp.pins import SeenTools
from toolscout.gateway.mcp.servers import (
    NO_SERVERS,
    SEPARATOR,
    Config,
    FolderServer,
    find_unmatched,
    is_permitted,
)
from toolscout.index.tool_list import MAX_TOOLS
from toolscout.text.domains import load_bundled
from toolscout.tools.conversion import read_tools
from toolscout.tools.filters import is_passing
from toolscout.tools.overlay import Adjustment
from toolscout.tools.poisoned import find_poison, has_hidden, strip_hidden
from toolscout.tools.refused import explain_refusals, is_refused_by_all, write_reasons
from toolscout.tools.renaming import RenamedTool
from toolscout.tools.risk import LEVELS, is_annotated, judge_risk
from toolscout.tools.shapes import schema_of
from toolscout.tools.summary import MAX_HINT_CHARS

ALWAYS_LOAD = "anthropic/alwaysLoad"
"""In the `_meta` of a tool: whether hosts list it as itself rather than behind a search."""

MAX_ALWAYS_LOADED = 20
"""Tools of one server that are listed as themselves because it says so."""

CANNOT_BE_READ = "that cannot be read"

ABOVE = "above max_risk"
HIDDEN = "hidden by the overlay"
BY_DEFAULT = "by default_risk"
BY_OVERLAY = "by the overlay"
NOT_ACCEPTED = "not accepted as they are now"
NOT_PERMITTED = "that the entry of their server does not permit"
NOT_THERE = "allowed, but there is no such tool"
DENIED_IN_VAIN = "denied, but there is nothing of this name"

MAX_NAMED = 5
"""Tools that are named of those that are left out for one reason."""


class UnlistedTools(NamedTuple):
    """A tool that is left out."""

    name: str
    """Its own name, or what stands for it."""
    reason: str
    """The words after "1 tool" that say which tools are counted."""
    flaw: str = ""
    """What is wrong with it, where that can be said."""
    cause: str = ""
    """What alone makes its risk too high, if not the tool itself."""

    def __str__(self) -> str:
        return f"{self.name} ({self.flaw})" if self.flaw else self.name

    def among(self) -> str:
        """Return why it is left out, after "is"."""
        return f"left out, among those {self.reason}" + (f": {self.flaw}" if self.flaw else "")


STRICTEST = "anthropic"
"""The interface whose keys all others take."""


class Offered(NamedTuple):
    """One tool of one server."""

    connection: Connection
    tool: mcp_types.Tool
    """As hosts list it: what the server lists, without hidden characters in descriptions."""
    shown: Mapping[str, Any]
    """As it is searched and shown: under its whole name, with `risk`, `namespace` and `status`."""
    is_changed: bool
    """Whether it is no longer as it was listed first, or accepted."""
    original: mcp_types.Tool
    """As the server lists it."""
    read: Tool
    """What keys' filters judge: of the overlay its risk alone, which only narrows what is seen."""

    def is_annotated(self) -> bool:
        """Return whether its server's hints decide its risk."""
        return is_annotated(self.shown.get("annotations"))

    def poison(self) -> list[str]:
        """Return what is wrong with its texts as its server lists them."""
        return find_poison(self.original.model_dump(mode="json", by_alias=True, exclude_none=True))

    def refusals(self) -> dict[str, list[str]]:
        """Return why providers refuse it where it is listed as itself, each reason with whom."""
        return explain_refusals(self.shown["name"], schema_of(self.rename_keys().definition))

    def rename_keys(self) -> RenamedTool:
        """Return it with keys that every provider takes: whose model a host has is not known."""
        name = self.shown["name"]
        tool = {"name": name, "input_schema": self.tool.input_schema}
        return RenamedTool(STRICTEST, tool, name, ())


class Listing:
    """A state of all lists; it never changes.

    Args:
        connections: the servers.
        config: which of their tools are offered, and what the operator adds to them.
        seen: what the tools were before.
    """

    def __init__(
        self,
        connections: Iterable[Connection] = (),
        config: Config = NO_SERVERS,
        seen: SeenTools | None = None,
    ) -> None:
        self.tools: dict[str, Offered] = {}
        self.left_out: dict[str, str] = {}
        """Which tools of a server are left out though its entry permits them, and why."""
        self.reasons: dict[str, str] = {}
        """Of tools that are left out, by their whole names, why."""
        self.changes: list[str] = []
        """Which tools have changed since the listing before, and in what."""
        self._seen = seen or SeenTools()
        self.overlay = config.overlay
        """What the operator adds to them."""
        self._overlay = config.overlay.of("")
        self._highest = LEVELS.index(config.options.max_risk)
        usable = [(one, *_find_usable(one)) for one in connections]
        share = _share([len(tools) for _, tools, _ in usable])
        for connection, tools, left in usable:
            left += filter(None, (self._offer(connection, tool) for tool in tools[:share]))
            prefix = f"{connection.name}{SEPARATOR}"
            self.reasons |= {prefix + one.name: one.among() for one in left}
            shown = [one for one in left if one.reason != NOT_PERMITTED]
            notes = []
            for reason in dict.fromkeys(one.reason for one in shown):
                notes += name_some(reason, [one for one in shown if one.reason == reason])
            for cause in (BY_OVERLAY, BY_DEFAULT):
                caused = [one for one in shown if one.cause == cause]
                notes += name_some(f"of them {cause}", caused)
            if len(tools) > share or connection.listed.is_cut:
                notes.append(f"all beyond the first {min(share, len(tools)):,}")
            elif connection.listed.tools:
                names = [tool.name for tool in connection.listed.tools]
                notes += name_some(NOT_THERE, find_unmatched(connection.server.allow, names))
                notes += name_some(DENIED_IN_VAIN, _find_denied_in_vain(connection, names))
            faulty = [f"{uri} ({flaw})" for uri, flaw in connection.listed.unreadable_skills]
            notes += name_some("skills that cannot be read", faulty)
            if notes:
                self.left_out[connection.name] = "; ".join(notes)
        self._narrowed: dict[Filters, Listing] = {}

    @property
    def shown(self) -> list[Mapping[str, Any]]:
        """Return the tools as they are searched."""
        return [one.shown for one in self.tools.values()]

    def narrow(self, filters: Filters) -> "Listing":
        """Return the tools that pass filters, with no word of others."""
        known = self._narrowed.get(filters)
        if known is None:
            known = Listing()
            known.overlay = self.overlay
            taxonomy = load_bundled()
            for name, one in self.tools.items():
                if is_passing(one.read, filters, taxonomy):
                    known.tools[name] = one
            self._narrowed[filters] = known
        return known

    def _offer(self, connection: Connection, tool: mcp_types.Tool) -> UnlistedTools | None:
        """Add a tool, or return why it is left out."""
        definition = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
        # By its own name: that of the server may be a verb.
        about = tool.name, tool.description or "", definition.get("annotations")
        level = judge_risk(*about, is_elsewhere=True, default=connection.server.default_risk)
        name = f"{connection.name}{SEPARATOR}{tool.name}"
        verdict = self._seen.judge(connection.name, name, definition, level)
        if verdict is None:
            return UnlistedTools(tool.name, "with new names, after too many others")
        if verdict.news:
            level = verdict.risk
            self.changes.append(f"{name} has changed: {', '.join(verdict.news)}; it is {level}")
        if not verdict.is_accepted:
            return UnlistedTools(tool.name, NOT_ACCEPTED)
        row = self._overlay.find(name)
        risk = row.raise_risk(verdict.risk) if row else verdict.risk
        is_above = LEVELS.index(risk) > self._highest
        if is_above or (row is not None and row.row.hide):
            least = judge_risk(*about, is_elsewhere=True, default="read_only")
            cause = self._find_cause(least, row) if is_above else ""
            return UnlistedTools(tool.name, ABOVE if is_above else HIDDEN, cause=cause)
        shown = tool
        if has_hidden(definition):
            try:
                definition = strip_hidden(definition)
            except RecursionError:
                return UnlistedTools(tool.name, CANNOT_BE_READ, "nested too deeply")
            shown = mcp_types.Tool.model_validate(definition, by_name=False)
        if isinstance(connection.server, FolderServer):
            definition |= (shown.meta or {})[FILE]
        definition |= {"name": name, "risk": risk, "namespace": connection.name}
        hint = (shown.meta or {}).get(HINT)
        hints = (hint,) if isinstance(hint, str) else ()
        if keywords := connection.server.keywords.get(tool.name, ()) + hints:
            definition["keywords"] = keywords
        if examples := connection.server.examples.get(tool.name):
            definition["examples"] = examples
        if connection.reason is not None:
            definition["status"] = "unavailable"
        try:
            (read,) = read_tools([definition])
        except InvalidRequest as error:
            return UnlistedTools(tool.name, CANNOT_BE_READ, error.detail)
        self.tools[name] = Offered(connection, shown, definition, verdict.is_changed, tool, read)
        return None

    def _find_cause(self, least: Risk, row: Adjustment | None) -> str:
        """Return what makes a risk too high that would be this one by the lowest default."""
        if LEVELS.index(least) > self._highest:
            return ""
        if row is not None and LEVELS.index(row.raise_risk(least)) > self._highest:
            return BY_OVERLAY
        return BY_DEFAULT


def find_always_loaded(tools: Mapping[str, Offered]) -> list[str]:
    """Return the tools that their host lists as themselves, or their server wants to be."""
    names = []
    wanted: Counter[str] = Counter()
    for name, one in tools.items():
        is_wanted = (one.tool.meta or {}).get(ALWAYS_LOAD) is True
        wanted[one.connection.name] += is_wanted
        is_within = is_wanted and wanted[one.connection.name] <= MAX_ALWAYS_LOADED
        if one.connection.server.pinned or is_within:
            names.append(name)
    return names


def name_some(what: str, names: Collection[object]) -> list[str]:
    """Count the tools of a finding, with some of their names;  nothing of none."""
    different = list(dict.fromkeys(map(str, names)))
    shown = [name[:MAX_HINT_CHARS] for name in different[:MAX_NAMED]]
    some = ", ".join([*shown, *(["…"] if len(different) > MAX_NAMED else [])])
    return [f"{len(names):,} {what}: {some}"] if names else []


def explain_missing_pins(pinned: Iterable[str], listing: Listing) -> list[str]:
    """Return in a line each which pinned tools are not in a listing, and why."""
    missing = [one for one in dict.fromkeys(pinned) if not match_names((one,), listing.tools)]
    reasons = listing.reasons
    unknown = [name for name in missing if name not in reasons]
    lines = [f"pinned: there is no tool {', '.join(unknown)}"] if unknown else []
    return lines + [f"pinned: {name} is {reasons[name]}" for name in missing if name in reasons]


def explain_refused_pins(pinned: Iterable[str], tools: Mapping[str, Offered]) -> list[str]:
    """Return in a line each which pinned tools providers refuse, and who and why."""
    lines = []
    for name in match_names(pinned, tools):
        if reasons := tools[name].refusals():
            hidden = "; it is found, not listed" if is_refused_by_all(reasons) else ""
            lines.append(f"pinned: {name}: {write_reasons(reasons)}{hidden}")
    return lines


def _find_denied_in_vain(connection: Connection, tools: list[str]) -> list[str]:
    """Return what a server's entry denies though the server lists nothing of this name.

    A URI is not told: servers may have resources that they list nowhere.
    """
    listed = connection.listed
    denied = find_unmatched(connection.server.deny, [*tools, *(one.name for one in listed.prompts)])
    return [name for name in denied if "://" not in name]


def _find_usable(connection: Connection) -> tuple[list[mcp_types.Tool], list[UnlistedTools]]:
    """Return the tools that are permitted and a model can name and call, and the others."""
    left = [
        UnlistedTools(name, CANNOT_BE_READ, flaw) for name, flaw in connection.listed.unreadable
    ]
    by_name: dict[str, list[mcp_types.Tool]] = {}
    for tool in connection.listed.tools:
        server = connection.server
        if not is_permitted(tool.name, server.allow, server.deny):
            left.append(UnlistedTools(tool.name, NOT_PERMITTED))
        elif not tool.name.strip() or not tool.name.isprintable():
            left.append(UnlistedTools(ascii(tool.name), "without a name that can be shown"))
        elif tool.execution is not None and tool.execution.task_support == "required":
            left.append(UnlistedTools(tool.name, "runnable only as an MCP task"))
        else:
            by_name.setdefault(tool.name, []).append(tool)
    for name, tools in list(by_name.items()):
        if any(other != tools[0] for other in tools):  # which of them a call means, nobody knows
            left += [UnlistedTools(name, "of one name with several definitions")] * len(tools)
            del by_name[name]
    return [tools[0] for tools in by_name.values()], left


def _share(sizes: list[int]) -> int:
    """Return how many tools each server may have at most, so that all have room together."""
    room = MAX_TOOLS
    for place, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - place)
        if size > share:
            return share
        room -= size
    return MAX_TOOLS
