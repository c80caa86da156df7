"""The command line of the service, the proxy, the MCP gateway and a search."""

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from toolscout import __version__
from toolscout.commands.beginning import EXAMPLES, FIRST, add_init_arguments, init
from toolscout.commands.searching import add_search_arguments, search
from toolscout.commands.terminal import (
    USAGE,
    YELLOW,
    Parser,
    ShowVersion,
    as_json,
    complain,
    flush_output,
)
from toolscout.common.optional import write_install_command
from toolscout.errors import ConfigurationError, ToolscoutError
from toolscout.settings import BY_NAME, SETTINGS, Settings
from toolscout.settings_sources import load, redact

Run = Callable[[argparse.Namespace], int]

OK = 0
NOTHING = 1

EXITS = {
    OK: "done",
    NOTHING: "nothing was found, a check failed, or the service could not start",
    USAGE: "wrong usage, settings or files, or a taken address; standard error says which, where "
    "and what was expected",
}
"""The meaning of each exit status."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of this process; returns the exit status."""
    is_search = (sys.argv[1:] if arguments is None else arguments)[:1] == ["search"]
    if is_search and arguments is None:
        # Collecting what is loaded and soon ends with the process would take a sixth of its time.
        gc.disable()
        atexit.register(gc.freeze)
    commands = parser(only_search=is_search)
    if "_ARGCOMPLETE" in os.environ:  # a shell requests completions
        import argcomplete

        argcomplete.autocomplete(commands)
    try:
        return _run(commands, arguments)
    except ToolscoutError as error:
        message = error.detail
    except BrokenPipeError:  # the reader has had enough
        return OK
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}"
    except KeyboardInterrupt:
        sys.excepthook = lambda *_: None  # the interpreter ends by the signal, without a traceback
        raise
    complain(message)
    return USAGE


def _run(commands: argparse.ArgumentParser, arguments: list[str] | None) -> int:
    """Parse and run one command, and write out all that it printed.

    Raises:
        OSError: a file could not be read, or standard output not written.
        SystemExit: argparse has printed help, or what is wrong with the arguments.
    """
    try:
        parsed = commands.parse_args(arguments)
        status: int = parsed.run(parsed)
    except ModuleNotFoundError as error:
        missing = f"{error.name} is not installed: {write_install_command(parsed.extra)}"
        raise ConfigurationError(missing) from None
    except (SystemExit, OSError):
        flush_output()
        raise
    flush_output()
    return status


def _begin(_: argparse.Namespace) -> int:
    print(FIRST, end="")
    return OK


def _serve(parsed: argparse.Namespace) -> int:
    from toolscout.server.serve import serve

    try:
        return serve(_load_settings(parsed))
    except SystemExit:  # uvicorn exits if it cannot start, after printing the reason
        return NOTHING


def _check_config(parsed: argparse.Namespace) -> int:
    from toolscout.server.http.auth import Keyring
    from toolscout.server.serve import check, list_warnings
    from toolscout.state.health import find_warnings

    settings = _load_settings(parsed)
    check(settings)
    for warning in [*list_warnings(settings), *find_warnings(settings.store)]:
        complain(f"warning: {warning}", YELLOW)
    keys = Keyring(settings.api_keys).keys
    if keys and all(key.has_expired for key in keys):
        raise ConfigurationError("api_keys: every key has expired, so nobody could call")
    shown = {name: redact(value) for name, value in settings.values.items()}
    shown |= {s.name: "(set)" for s in SETTINGS if s.secret and shown[s.name]}
    if parsed.json:
        print(as_json({n: {"value": v, "origin": settings.origins[n]} for n, v in shown.items()}))
        return OK
    width = max(map(len, shown))
    for name, value in shown.items():
        print(f"{name:{width}}  {_write_value(value):20}  {settings.origins[name]}")
    for key in keys:
        ends = "expired" if key.has_expired else "until"
        until = f", {ends} {key.expires}" if key.expires else ""
        print(f"key {key.name} of {key.tenant}: {', '.join(sorted(key.scopes))}{until}")
    return OK


def _copy_store(parsed: argparse.Namespace) -> int:
    from toolscout.state.opening import find_sqlite_path
    from toolscout.state.sqlite_file import back_up

    path = find_sqlite_path(_load_settings(parsed).store)
    if path is None:
        raise ConfigurationError(
            "store: only sqlite:PATH is backed up here; "
            "Redis and PostgreSQL have their own means, memory has none"
        )
    back_up(*((parsed.file, path) if parsed.is_restored else (path, parsed.file)))
    return OK


def _print_openapi(parsed: argparse.Namespace) -> int:
    from toolscout.server.openapi.document import make_document, write_yaml

    print(f"{as_json(make_document())}\n" if parsed.json else write_yaml(), end="")
    return OK


def _print_help(parsed: argparse.Namespace) -> int:
    return main([*parsed.about, "--help"])


def _print_version(parsed: argparse.Namespace) -> int:
    import platform

    from toolscout.ranking.native import extension

    if parsed.json:
        about = {"python": platform.python_version(), "ranking": extension.describe()}
        print(as_json({"version": __version__, **about}))
    else:
        print(__version__)
    return OK


def _print_completion(parsed: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["toolscout"], shell=parsed.shell), end="")
    return OK


def _write_value(value: object) -> str:
    """Return a value as written in a flag."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else str(value)


def _load_settings(parsed: argparse.Namespace) -> Settings:
    return load(vars(parsed), config=parsed.config)


def parser(*, only_search: bool = False) -> argparse.ArgumentParser:
    """Return the parser of all commands; completion and docs/cli.md are made from it.

    With `only_search` it has one command, so that the modules of the others are not imported.
    """
    statuses = "; ".join(f"{status}: {text}" for status, text in EXITS.items())
    top = Parser(prog="toolscout", description=__doc__, epilog=f"Exit status. {statuses}.")
    about = "show program's version number and exit"
    top.add_argument("-v", "--version", action=ShowVersion, nargs=0, const=__version__, help=about)
    top.set_defaults(run=_begin, flags=top.flags, command=top)
    commands = top.add_subparsers(metavar="COMMAND", prog=top.prog)

    def command(name: str, run: Run, about: str, extra: str = "server") -> Any:
        shown = f"{about[0].upper()}{about[1:]}."
        form = argparse.RawDescriptionHelpFormatter
        example = f"example:\n  {EXAMPLES[name]}"
        added = commands.add_parser(
            name, help=about, description=shown, epilog=example, formatter_class=form
        )
        added.set_defaults(run=run, extra=extra, flags=added.flags, command=added)
        return added

    if not only_search:
        _add_service(command)
    add_search_arguments(command("search", search, "search tools of a file"))
    if not only_search:
        _add_others(command)
    return top


def _add_service(command: Callable[..., Any]) -> None:
    serve = command("serve", _serve, "run the service")
    check = command("check-config", _check_config, "show the effective settings")
    check.add_argument("--json", action="store_true", help="as JSON")
    for one in (serve, check):
        one.add_argument("--config", type=Path, metavar="FILE", help="TOML file with settings")
        for setting in SETTINGS:
            _add_setting(one, setting)


def _add_others(command: Callable[..., Any]) -> None:
    from toolscout.commands.evaluation import commands as evaluation
    from toolscout.commands.evaluation import log_commands as logs
    from toolscout.gateway import commands as proxy
    from toolscout.gateway.mcp import commands as mcp

    about = "judge by questions with known answers which tools are selected"
    evaluation.add_evaluate_arguments(command("evaluate", evaluation.evaluate, about))
    about = "find tools that are hard to tell apart, to find or to call"
    evaluation.add_lint_arguments(command("lint", evaluation.lint, about))
    about = "report to a service which tools were called for which requests, from a log"
    logs.add_learn_arguments(command("learn", logs.learn, about))
    about = "propose overlay rows from a log: requests whose tool was found too late"
    logs.add_suggest_arguments(command("suggest", logs.suggest, about))

    behind = command(
        "proxy", proxy.proxy, "run a reverse proxy before a provider of models", "proxy"
    )
    proxy.add_proxy_arguments(behind)
    between = command("mcp", mcp.gateway, "run a gateway before MCP servers", "mcp")
    mcp.add_gateway_arguments(between)
    for one in (behind, between):
        for name in ("insecure", "allowed_hosts", "tls_cert", "tls_key", "tls_client_ca"):
            _add_setting(one, BY_NAME[name])

    about = "register tools of a file, or of MCP servers, as a catalog"
    mcp.add_import_arguments(command("import", mcp.import_servers, about, "mcp"))

    about = "copy the SQLite store to a file, also while it is used"
    backup = command("backup", _copy_store, about)
    restore = command("restore", _copy_store, "make the SQLite store from a backup")
    for one, file in ((backup, "the new file"), (restore, "the backup")):
        one.add_argument("file", type=Path, help=file)
        one.add_argument("--config", type=Path, metavar="FILE", help="TOML file with settings")
        one.set_defaults(is_restored=one is restore)
        _add_setting(one, BY_NAME["store"])

    about = "write files of settings, tools and questions, to fill in"
    add_init_arguments(command("init", init, about))

    openapi = command("openapi", _print_openapi, "print the OpenAPI document, as YAML")
    version = command("version", _print_version, "print the version")
    for one in (openapi, version):
        one.add_argument("--json", action="store_true", help="as JSON")
    asked = command("help", _print_help, "print what a command takes")
    asked.add_argument("about", nargs="*", metavar="COMMAND", help="which; all of them if none")
    complete = command("completion", _print_completion, "print completion for a shell")
    complete.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def _add_setting(command: argparse.ArgumentParser, setting: Any) -> None:
    text = f"{setting.help} (default {_write_value(setting.default)}; {setting.env})".replace(
        "%", "%%"
    )
    if setting.secret:
        return  # every process list shows a secret on the command line
    words = ("on", "off") if setting.kind is bool else setting.choices
    added: Any = command.add_argument(
        setting.flag,
        dest=setting.name,
        nargs="?" if setting.kind is bool else None,
        const="on" if setting.kind is bool else None,
        metavar="|".join(words) or setting.kind.__name__.upper(),
        help=text,
    )
    if words:
        added.completer = lambda **_: words  # read by argcomplete
