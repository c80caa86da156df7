"""What `toolscout mcp --check` and `--list` print: how each server answers, and all tools."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolscout.commands.terminal import as_json
from toolscout.common.counted import write_count
from toolscout.common.spelling import match_names
from toolscout.files.skills import read_skills
from toolscout.gateway.mcp.keys import HostKeys
from toolscout.gateway.mcp.listing import (
    Listing,
    explain_missing_pins,
    explain_refused_pins,
    find_always_loaded,
    name_some,
)
from toolscout.gateway.mcp.servers import SEPARATOR, Config, FolderServer
from toolscout.gateway.mcp.trying import Tried, list_failures, try_servers
from toolscout.server.http.auth import Keyring
from toolscout.tools.filters import filters_of
from toolscout.tools.risk import describe_inferred

ABOUT_POISON = "with texts that order the model about, or hide something"

COLUMNS = ("server", "state", "tools", "seconds", "why")
NUMBERS = ("tools", "seconds")


def check(config: Config, keys: HostKeys | None = None) -> tuple[str, bool]:
    """Return a row for each server, what is left out of its tools, and whether all is well.

    Then what each key sees.

    It is not where a server has failed, or where a pinned tool of another is not there.
    """
    tried = try_servers(config)
    listing = Listing([one.connection for one in tried], config)
    failed = [one.connection.name for one in tried if one.connection.reason is not None]
    pinned = [one for one in config.options.pinned if not _is_of(one, failed)]
    missing = explain_missing_pins(pinned, listing)
    lines = [
        *_make_table(tried, listing),
        *list_left_out(listing),
        *missing,
        *_write_notes(config, listing),
        *(_count_seen(keys.keyring, listing) if keys else ()),
    ]
    return "\n".join(lines), not (failed or missing)


def list_tools(config: Config) -> tuple[str, list[str]]:
    """Return the tools as the gateway names them, as JSON, and why servers have failed."""
    tried = try_servers(config)
    listing = Listing([one.connection for one in tried], config)
    return as_json(listing.shown), list_failures(tried)


def list_left_out(listing: Listing) -> list[str]:
    """Return of each server with tools that are left out, which and why."""
    return [f"{name}: left out: {why}" for name, why in listing.left_out.items()]


def _is_of(pinned: str, servers: Sequence[str]) -> bool:
    """Return whether a pin belongs to one of these servers."""
    return any(
        pinned.startswith(f"{name}{SEPARATOR}") or pinned == f"server:{name}" for name in servers
    )


def _make_table(tried: Sequence[Tried], listing: Listing) -> Iterator[str]:
    """Yield a row for each server, below a row of titles."""
    counts = Counter(one.connection.name for one in listing.tools.values())
    rows = [COLUMNS]
    for one in tried:
        name = one.connection.name
        why = one.why
        state = ("ok", f"{counts[name]:,}") if why is None else ("failed", "-")
        rows.append((name, *state, f"{one.seconds:.1f}", why or ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if title in NUMBERS else cell.ljust(width)
            for title, cell, width in zip(COLUMNS, row, widths, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def _count_seen(keyring: Keyring, listing: Listing) -> Iterator[str]:
    """Yield for each key how many tools it sees."""
    for key in keyring.keys:
        filters = filters_of(key.space)
        part = listing.narrow(filters) if filters else listing
        counts = Counter(one.connection.name for one in part.tools.values())
        named = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        ended = " (expired)" if key.has_expired else ""
        seen = f"{len(part.tools):,} of {write_count(len(listing.tools), 'tool')}"
        yield f"key {key.name} of {key.tenant}{ended} sees {seen}: {named or 'none'}"


def _write_notes(config: Config, listing: Listing) -> list[str]:
    """Return notes on the offered tools, a line for each kind."""
    tools = listing.tools
    pinned = config.options.pinned
    loaded = [name for name in find_always_loaded(tools) if name not in match_names(pinned, tools)]
    listed = {*match_names(pinned, tools), *loaded}
    refused = [name for name, one in tools.items() if name not in listed and one.refusals()]
    notes = explain_refused_pins([*pinned, *loaded], tools)
    notes += name_some("listed as themselves, as their host or server says", loaded)
    notes += name_some("that providers refuse where they are listed as themselves", refused)
    poisoned = {name: poison for name, one in tools.items() if (poison := one.poison())}
    told = [f"{name} ({', '.join(poison)})" for name, poison in poisoned.items()]
    notes += name_some(ABOUT_POISON, told)
    for server in config.servers.values():
        if isinstance(server, FolderServer) and server.fault is None:
            notes += read_skills(*map(Path, server.folders)).flaws
    inferred = [one.shown["risk"] for one in tools.values() if not one.is_annotated()]
    if inferred:
        notes.append(describe_inferred(inferred))
    unused = config.overlay.explain_unused(tools.keys() | listing.reasons.keys())
    notes += [f"overlay: {line}" for line in unused]
    return notes + name_some("disabled in the configuration", config.disabled)
