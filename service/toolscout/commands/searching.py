"""The command `toolscout search`: one question to a file of tools, here or at a running service."""

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Any

import msgspec

from toolscout.commands.terminal import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    as_json,
    complain,
    paint,
    read_positive,
)
from toolscout.common.counted import write_count
from toolscout.contract.tools import Tool
from toolscout.errors import ConfigurationError
from toolscout.settings import RANKERS, Settings
from toolscout.settings_sources import load

if TYPE_CHECKING:
    import httpx2

    from toolscout.engine import Engine

PATIENCE_S = 120.0
"""How long a service may take to answer: it may read thousands of new tools first."""

SILENCE_S = 1.0
"""After so long a terminal is told what is going on."""


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout search`."""
    add = parser.add_argument
    add("pattern", help="what to look for")
    about = (
        "tools in any provider's shape, OpenAPI, or a folder of skills; - for stdin; else samples"
    )
    add("--tools", type=Path, metavar="FILE", help=about)
    add("--url", metavar="URL", help="ask the service there; its key is in TOOLSCOUT_API_KEY")
    add("--catalog", metavar="NAME", help="a catalog of that service, instead of --tools")
    add("--ranker", choices=RANKERS, default="auto", help="which ranker")
    add("--top-k", type=read_positive, metavar="COUNT", default=5, help="names to print at most")
    about = "name to keep anyway; may be given several times"
    add("--always-keep", action="append", metavar="NAME", default=[], help=about)
    add("--model", metavar="FOLDER", help="model2vec folder, or OWNER/NAME@COMMIT of the hub")
    for words in ("synonyms", "domains"):
        text = f"TOML file with further {words}"
        add(f"--{words}", type=Path, metavar="FILE", help=text)
    add_overlay(parser)
    add("--explain", action="store_true", help="scores and reasons")
    add("--json", action="store_true", help="the whole answer as JSON")


def add_overlay(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the file that adds to tools."""
    about = "TOML file that adds to tools, by name"
    parser.add_argument("--overlay", type=Path, metavar="FILE", help=about)


def apply_overlay(engine: "Engine", path: Path | None, tenant: str = "") -> None:
    """Apply the rows of a file that hold for a tenant, and say how many do not.

    Raises:
        ConfigurationError: the file cannot be read, or has another form.
    """
    from toolscout.tools.overlay import read_overlay

    if path is None:
        return
    every = read_overlay(path)
    engine.compiler.overlay = every.narrow(tenant)
    if left := len(every.rows) - len(engine.compiler.overlay.rows):
        whose = "other tenants" if tenant else "a tenant"
        verb = "is" if left == 1 else "are"
        complain(f"{path}: {write_count(left, 'row')} of {whose} {verb} left out", YELLOW)


def search(parsed: argparse.Namespace) -> int:
    """Ask, and print the names; returns 0, or 1 if nothing fits.

    Raises:
        ConfigurationError: flags do not fit together, or the service refuses or is not there.
        ToolscoutError: the file has no tools.
    """
    from toolscout.files.reading import SAMPLE, read_file

    if not parsed.pattern.strip():
        raise ConfigurationError("the pattern is blank")
    if parsed.catalog and not parsed.url:
        raise ConfigurationError("--catalog is a catalog of a service: give its --url, too")
    is_sample = not (parsed.tools or parsed.catalog or parsed.url)
    if not is_sample and (parsed.tools is None) == (parsed.catalog is None):
        raise ConfigurationError("give --tools FILE, or --url URL and --catalog NAME")
    tools = None if parsed.catalog else read_file(SAMPLE if is_sample else parsed.tools)
    with _note_progress(f"asking {parsed.url}" if parsed.url else "reading the tools"):
        answer = _ask_service(parsed, tools) if parsed.url else _ask_engine(parsed, tools or [])
    if tools is not None:
        _warn_of_unknown(parsed.always_keep, tools)
    if parsed.json:
        print(as_json(answer))  # noqa: T201  # a command prints
    elif parsed.explain:
        _print_explained(answer)
    elif answer["selected_names"]:
        print("\n".join(_write_found(answer["selected_names"], tools or [])))  # noqa: T201  # a command prints
    if not answer["selected_names"]:
        how = "" if parsed.explain else "; --explain says how it was judged"
        complain(f"no tool fits{how}", YELLOW)
    if is_sample:
        own = shlex.join(["toolscout", "search", parsed.pattern, "--tools", "tools.json"])
        complain(f"searched {len(tools or ())} sample tools; to search yours: {own}", DIM)
    return 0 if answer["selected_names"] else 1


def _write_found(names: list[str], tools: list[Tool]) -> Iterator[str]:
    """Yield a line for each name, with what it is and its path where it is a file to read."""
    from toolscout.tools.file_entries import describe_file

    files = {tool.name: describe_file(tool.tags, tool.source) for tool in tools}
    for name in names:
        yield "  ".join(filter(None, (name, files.get(name))))


def _ask_engine(parsed: argparse.Namespace, tools: list[Tool]) -> dict[str, Any]:
    """Return the answer of an engine in this process, with the fields of the service's."""
    from toolscout.engine import Engine

    engine = Engine(
        tools,
        model=parsed.model,
        ranker=parsed.ranker,
        synonyms=parsed.synonyms,
        domains=parsed.domains,
        max_tools=read_max_tools(),
    )
    apply_overlay(engine, parsed.overlay)
    result = engine.search(
        parsed.pattern, parsed.top_k, always_keep=parsed.always_keep, explain=True
    )
    answer: dict[str, Any] = msgspec.to_builtins(result)
    del answer["tools"]  # only with a level of detail, which this command has not
    return {"selected_names": answer.pop("names"), **answer}


def refuse_settings(parsed: argparse.Namespace, *flags: str) -> None:
    """Refuse flags that a running service would not know of.

    Raises:
        ConfigurationError: one was given.
    """
    for flag in flags:
        if getattr(parsed, flag):
            raise ConfigurationError(f"--{flag}: the service at --url has its own settings")


def refuse_beside(parsed: argparse.Namespace, flag: str, *others: str) -> None:
    """Refuse flags that mean nothing beside one.

    Raises:
        ConfigurationError: one was given.
    """
    for other in others:
        if getattr(parsed, other):
            raise ConfigurationError(f"--{other} means nothing beside --{flag}")


def read_max_tools() -> int:
    """Return how many tools a list may have, by the setting in the environment.

    Raises:
        ConfigurationError: it is no such number.
    """
    return read_settings().max_tools


def read_settings() -> Settings:
    """Return the settings in the environment that hold without a service, others by default.

    Raises:
        ConfigurationError: one is malformed.
    """
    names = ("TOOLSCOUT_MAX_TOOLS", "TOOLSCOUT_NO_MATCH_BELOW")
    variables = [name + end for name in names for end in ("", "_FILE")]
    return load({}, {one: os.environ[one] for one in variables if one in os.environ})


def _ask_service(parsed: argparse.Namespace, tools: list[Tool] | None) -> dict[str, Any]:
    refuse_settings(parsed, "model", "synonyms", "domains", "overlay")
    asked = {
        "pattern": parsed.pattern,
        "top_k": parsed.top_k,
        "ranker": parsed.ranker,
        "always_keep": parsed.always_keep,
        "explain": True,
        **({"catalog": parsed.catalog} if tools is None else {"tools": tools}),
    }
    return ask_service(parsed.url, asked)


def ask_service(address: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Ask a running service for an explained answer; its key is in TOOLSCOUT_API_KEY.

    Raises:
        ConfigurationError: it cannot be reached, is no such service, or refuses.
    """
    catalog = asked.get("catalog")
    with open_service(address, catalog and f"there is no catalog {catalog!r}") as service:
        return post(service, "/v1/tool-discovery/search", asked, "counts")


@contextmanager
def open_service(address: str, missing: str | None = None) -> Iterator["httpx2.Client"]:
    """Yield a client of a running service; its key is in TOOLSCOUT_API_KEY.

    `missing` is what a 404 means there.

    Raises:
        ConfigurationError: the service is not there, or refuses a request.
    """
    import httpx2

    from toolscout.client.endpoint import hide_secrets, is_web_address

    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("TOOLSCOUT_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    if not is_web_address(address):
        got = "" if "@" in address else f", got {address!r}"  # before it may be a password
        raise ConfigurationError(f"--url: expected an http(s) URL{got}")
    shown = hide_secrets(address)
    try:
        with httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE_S) as service:
            yield service
    except httpx2.HTTPStatusError as error:
        status = error.response.status_code
        detail = _explain_detail(error.response.content)
        if status == httpx2.codes.UNAUTHORIZED:
            detail = "give one of its keys in TOOLSCOUT_API_KEY"
        elif status == httpx2.codes.NOT_FOUND and (path := httpx2.URL(address).path.strip("/")):
            detail = f"{missing}, or " if missing and detail else ""
            detail += f"give --url without /{path}"
        elif status == httpx2.codes.NOT_FOUND and detail and missing:
            detail = missing
        what = f"refuses ({status}): {detail}" if detail else f"is no Toolscout: status {status}"
        raise ConfigurationError(f"{shown} {what}") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        hint = "; it may speak http, not https" if "WRONG_VERSION" in str(error) else ""
        raise ConfigurationError(f"{shown} does not answer: {error}{hint}") from None


def post(service: "httpx2.Client", path: str, sent: object, has: str) -> dict[str, Any]:
    """Return the answer of a service to what is sent, which has a certain field.

    Raises:
        ConfigurationError: it is no answer of a service like this one.
        httpx2.HTTPError: there is none, or a refusal.
    """
    from toolscout.client.endpoint import hide_secrets

    response = service.post(path, content=msgspec.json.encode(sent)).raise_for_status()
    what = "is not JSON"
    with suppress(msgspec.DecodeError):
        answer: Any = msgspec.json.decode(response.content)
        if isinstance(answer, dict) and has in answer:
            return answer
        what = f"has no {has}"
    address = hide_secrets(str(service.base_url)).rstrip("/")
    raise ConfigurationError(f"{address} is no Toolscout: its answer {what}")


def _explain_detail(body: bytes) -> str | None:
    try:
        return str(msgspec.json.decode(body)["detail"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def _print_explained(answer: dict[str, Any]) -> None:
    colour = GREEN if answer["outcome"] == "match" else YELLOW
    outcome = paint(answer["outcome"], colour, sys.stdout)
    counts = answer["counts"]
    lines = [f"{outcome}, ranker {answer['ranker']}, {write_count(counts['unique'], 'tool')}"]
    lines[0] += f", {counts['ranked']} with some evidence"
    for match in answer["matches"]:
        mark = " (pinned)" if match.get("pinned") else ""
        lines.append(f"{match['score']:.3f}  {paint(match['name'], BOLD, sys.stdout)}{mark}")
        for reason in match["reasons"]:
            text = f"{reason['weight']:.3f} {reason['via']} {reason['term']!r} in {reason['field']}"
            lines.append(f"         {paint(text, DIM, sys.stdout)}")
    lines += [paint(f"note: {note}", DIM, sys.stdout) for note in answer.get("notes", ())]
    print("\n".join(lines))  # noqa: T201  # a command prints


def _warn_of_unknown(names: list[str], tools: list[Tool]) -> None:
    there = {tool.name for tool in tools}
    for name in names:
        if name not in there:
            complain(f"--always-keep {name}: there is no tool of this name")


@contextmanager
def _note_progress(what: str) -> Iterator[None]:
    """Tell a terminal what takes so long; files and pipes get no progress."""
    timer = Timer(SILENCE_S, complain, [f"{what} …"])
    if sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
