"""The commands `toolscout mcp` and `toolscout import`; what they need is loaded when they run."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import msgspec

from toolscout.commands.searching import add_overlay
from toolscout.commands.terminal import DIM, USAGE, YELLOW, complain, read_whole_number
from toolscout.contract.bounds import CATALOG_NAME
from toolscout.contract.fields import Risk
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.servers import Config, HttpServer, ServerOptions, find_prefix
from toolscout.serving.callers import check_key
from toolscout.settings_sources import load_serving
from toolscout.tools.overlay import NO_OVERLAY, Overlay, read_overlay

if TYPE_CHECKING:
    from toolscout.serving.followed_files import FollowedFiles

OK = 0

KEY = "TOOLSCOUT_MCP_KEY"
"""The variable with the key that hosts send over HTTP."""


WAITING = (
    "waiting for a host on standard input; --check shows the servers, "
    "--http 127.0.0.1:8200 serves a URL"
)
"""What a person is told who starts the gateway at a terminal."""

FILE = "JSON file with mcpServers, as hosts have it"


def add_gateway_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout mcp`."""
    add = parser.add_argument
    about = f"{FILE}; with --import mcp.json unless given"
    add("--config", type=Path, metavar="FILE", help=about)
    add("--http", metavar="HOST:PORT", help="serve streamable HTTP at /mcp instead of stdio")
    about = "file of hosts' keys with the filters of what each may see, as the service has it"
    add("--keys", type=Path, metavar="FILE", help=f"{about}; with --http")
    add("--max-risk", choices=get_args(Risk), help="offer no tool of a higher risk")
    about = "tools to list as themselves"
    add("--pin", dest="pinned", nargs="+", default=(), metavar="TOOL", help=about)
    add_overlay(parser)
    about = "characters of text of a result to pass on; the rest can be read as a resource"
    add("--max-result-chars", type=read_whole_number, default=0, metavar="COUNT", help=about)
    rare = "list the rarely used tools, too: pages of all tools, single definitions, keys"
    add("--all-meta-tools", action="store_true", help=rare)
    pins = "file of accepted definitions, others are refused; written if new"
    add("--pin-definitions", type=Path, metavar="FILE", help=pins)
    accept = "accept tools as they are now, by SERVER__TOOL or a pattern such as git__*, and end"
    add("--accept", nargs="+", default=(), metavar="NAME", help=accept)
    check = "try every server, print a row for each, and end; exit status 2 if one has failed"
    add("--check", action="store_true", help=check)
    listed = "print the tools of all servers as JSON, for search, lint and evaluate, and end"
    add("--list", action="store_true", help=listed)
    hosts = "move servers from hosts' own files, by default those of all projects, into --config;"
    hosts += " only says what would change, unless --write is given, too"
    add("--import", dest="hosts", type=Path, nargs="*", metavar="FILE", help=hosts)
    add("--write", action="store_true", help="with --import: change the files")
    add("--undo", action="store_true", help="with --import: put the hosts' files back")
    login = "log in to a server with auth: oauth in a browser, keep its tokens, and end"
    add("--login", metavar="SERVER", help=login)
    add("--no-cache", action="store_true", help="keep no lists of tools on disk")
    store = "keep what was learned: sqlite:PATH, or a store that replicas share, as of the service"
    add("--store", metavar="URL", default="memory", help=store)


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `toolscout import`."""
    add = parser.add_argument
    add("--mcp", type=Path, metavar="FILE", help=FILE)
    about = (
        "list of tools, OpenAPI, or a folder of skills; with a tool in each line, these are written"
    )
    about += " one by one into PostgreSQL"
    add("--tools", type=Path, metavar="FILE", help=about)
    add("--catalog", metavar="NAME", required=True, help="name of the catalog")
    add("--url", default="http://127.0.0.1:8080", help="address of the service")


def gateway(parsed: argparse.Namespace) -> int:
    """Run the gateway; returns the exit status.

    Raises:
        ConfigurationError: the file, a flag or the installation is at fault.
    """
    if parsed.hosts is not None or parsed.write or parsed.undo:
        return _move(parsed)
    if parsed.config is None:
        parsed.command.error("the following arguments are required: --config")
    file = _Followed(parsed)
    config = file.read()
    _warn(parsed.config, config)
    from toolscout.gateway.mcp import checking, importing, serving, web
    from toolscout.gateway.mcp.cache import ListCache, find_user_folder
    from toolscout.gateway.mcp.gateway import Gateway
    from toolscout.gateway.mcp.keys import HostKeys
    from toolscout.gateway.mcp.pins import DefinitionPins

    if parsed.pin_definitions == Path("store"):
        raise ConfigurationError("pin-definitions: expected a file; there are none in a store")
    if parsed.accept and parsed.pin_definitions is None:
        raise ConfigurationError("accept: expected --pin-definitions FILE, too")
    pins = parsed.pin_definitions and DefinitionPins(parsed.pin_definitions, tuple(parsed.accept))
    folder = None if parsed.no_cache else find_user_folder(os.environ, "XDG_CACHE_HOME", ".cache")
    cache = ListCache(folder)
    if parsed.login is not None:
        return _print(_log_in(config, parsed.login))
    if parsed.accept:
        return _print(importing.accept(config, pins, cache))
    keys = parsed.keys and HostKeys(parsed.keys)
    if parsed.check:
        text, is_well = checking.check(config, keys)
        return _print(text, OK if is_well else USAGE)
    if parsed.list:
        text, failed = checking.list_tools(config)
        return _print(text, USAGE if failed else OK, failed)
    http = None if parsed.http is None else web.read_address(parsed.http)
    settings = load_serving(vars(parsed))
    key = os.environ.get(KEY)
    if keys and (http is None or key):
        why = f"without {KEY}" if key else "with --http: over stdio there is one host"
        raise ConfigurationError(f"keys: expected {why}")
    if http is not None:
        check_key(http[0], KEY, key, insecure=settings.insecure or bool(keys))
    if http is None and sys.stdin is not None and sys.stdin.isatty():
        complain(WAITING, DIM)
    made = Gateway(config, parsed.store, pins, cache, file.changed, keys)
    return serving.serve(made, http, key, settings)


def _print(text: str, status: int = OK, wrong: Sequence[str] = ()) -> int:
    print(text)  # noqa: T201  # a command prints
    for line in wrong:
        complain(line)
    return status


def _move(parsed: argparse.Namespace) -> int:
    """Move servers from hosts' files, or back; returns the exit status.

    Raises:
        ConfigurationError: there is no such file, or it cannot be moved or put back.
    """
    from toolscout.gateway.mcp import takeover
    from toolscout.gateway.mcp.host_files import list_possible_files

    files = parsed.hosts
    if files is None:
        raise ConfigurationError("write and undo: expected --import, too")
    if parsed.write and parsed.undo:
        raise ConfigurationError("write and undo: expected one of them")
    if not files:
        known = list_possible_files(os.environ, Path.home())
        files = [path for path in known if path.is_file()]
        if parsed.undo:
            files = [path for path in files if takeover.has_backup(path)]
        if not files:
            raise ConfigurationError("import: there is no file of a host; name one")
    if parsed.undo:
        return _print("\n".join(takeover.undo(files)))
    config = parsed.config or Path("mcp.json")
    lines, is_well = takeover.import_servers(files, config, is_written=parsed.write)
    return _print("\n".join(lines), OK if is_well else USAGE)


def _log_in(config: Config, server: str) -> str:
    import asyncio  # a third of what starting any command would take

    from toolscout.gateway.mcp.oauth import log_in

    name = find_prefix(server)
    configured = config.servers.get(name)
    if configured is not None and configured.fault is not None:
        raise ConfigurationError(f"login: {configured.fault}")
    if not isinstance(configured, HttpServer) or configured.auth is None:
        raise ConfigurationError(f'login: no server {server} with a url and "auth": "oauth"')
    try:
        return asyncio.run(log_in(name, configured))
    except KeyboardInterrupt:
        raise ConfigurationError("login: stopped before it was done") from None


def import_servers(parsed: argparse.Namespace) -> int:
    """Register tools of a file, or of servers, at a service; returns the exit status.

    Raises:
        ConfigurationError: the file, a server, the service or the installation is at fault.
    """
    from toolscout.commands.registering import is_keeping_each, register, write_each
    from toolscout.files.reading import read_entries
    from toolscout.gateway.mcp.config import read_config

    if (parsed.tools is None) == (parsed.mcp is None):
        raise ConfigurationError("import: expected either --mcp FILE or --tools FILE")
    if not CATALOG_NAME.fullmatch(parsed.catalog):
        raise ConfigurationError("catalog: expected 1 to 128 of A-Z a-z 0-9 . _ -")
    if parsed.tools is not None:
        tools = read_entries(parsed.tools)
        place = (parsed.catalog, parsed.url)
        is_whole = isinstance(tools, list) and not is_keeping_each(*place)
        report = register(list(tools), *place) if is_whole else write_each(tools, *place)
        return _print(report)
    config = read_config(parsed.mcp, os.environ)
    _check_that_one_starts(parsed.mcp, config)
    _warn(parsed.mcp, config)
    from toolscout.gateway.mcp import importing

    return _print(importing.run(config, parsed.catalog, parsed.url))


class _Followed:
    """The files of the configuration and of the overlay, with the flags that come before them."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self.flags = flags
        self._servers = self._follow(flags.config, self._read_servers)
        self._rows = self._follow(flags.overlay, self._read_rows)
        self._config = Config({}, ServerOptions())
        """What both files said when they were right last."""
        self._has_changed = False
        """Whether they say something else than was returned last."""

    def read(self) -> Config:
        """Return the configuration.

        Raises:
            ConfigurationError: a file is at fault.
        """
        self._config = self._read_servers()
        self._config = self._read_rows()
        return self._config

    def changed(self, is_written: bool = False) -> Config | None:
        """Look at the files; return the configuration if they are others than when they were read.

        That is once three looks in a row have found them so: who writes may pause in the middle.
        One look is enough where somebody says that they are written.

        Raises:
            ConfigurationError: the servers' file is at fault; said once for each state of it.
        """
        from toolscout.gateway.mcp.log import logger
        from toolscout.serving.connections import LoggedEvents

        try:
            self._rows.look(is_written=is_written)
        except ConfigurationError as error:
            LoggedEvents(logger).error("overlay_kept", reason=error.detail)
        self._servers.look(is_written=is_written)
        if not self._has_changed:
            return None
        self._has_changed = False
        return self._config

    def _follow(self, path: Path | None, read: Callable[[], Config]) -> "FollowedFiles[object]":
        from toolscout.serving.followed_files import FollowedFiles

        def find_state() -> object:
            return _find_state(path)

        def use(state: object) -> None:
            config = read()
            if find_state() == state:  # nobody has written meanwhile
                self._config = config
                self._has_changed = True

        return FollowedFiles(find_state, use, find_state())

    def _read_servers(self) -> Config:
        """Return the configuration as its file is now, with the overlay as it was.

        Raises:
            ConfigurationError: the file is at fault.
        """
        from toolscout.gateway.mcp.config import read_config

        flags = vars(self.flags)
        config = read_config(self.flags.config, os.environ)
        if not (self.flags.check or self.flags.list):
            _check_that_one_starts(self.flags.config, config)
        options = {key: flags[key] for key in ServerOptions.__struct_fields__ if flags[key]}
        options["pinned"] = tuple(dict.fromkeys((*config.options.pinned, *self.flags.pinned)))
        replace = msgspec.structs.replace
        overlay = self._config.overlay
        return replace(config, options=replace(config.options, **options), overlay=overlay)

    def _read_rows(self) -> Config:
        """Return the configuration as it was, with the overlay as its file is now.

        Raises:
            ConfigurationError: the file is at fault.
        """
        path = self.flags.overlay
        overlay = _keep_namespaces(read_overlay(path)) if path else NO_OVERLAY
        return msgspec.structs.replace(self._config, overlay=overlay)


def _keep_namespaces(overlay: Overlay) -> Overlay:
    """Return rows that leave the namespaces of tools alone: they are the names of the servers."""
    return Overlay([msgspec.structs.replace(row, namespace=None) for row in overlay.rows])


def _find_state(path: Path | None) -> object:
    """Return what changes when a file is written; None if there is none."""
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _check_that_one_starts(path: Path, config: Config) -> None:
    """Refuse a file of which no server can be started.

    Raises:
        ConfigurationError: each of them names a variable that is not set.
    """
    faults = [one.fault for one in config.servers.values()]
    if all(faults):
        raise ConfigurationError(f"{path}: {'; '.join(filter(None, faults))}")


def _warn(path: Path, config: Config) -> None:
    """Print what was ignored in a file."""
    for warning in config.warnings:
        complain(f"{path}: {warning}", YELLOW)
