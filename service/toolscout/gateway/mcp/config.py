"""The configuration of the gateway: the `mcpServers` file, as any host has it.

{
  "mcpServers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"], "deny": ["git_reset"]},
    "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
  },
  "toolscout": {"max_risk": "write_remote", "pinned": ["git__git_status"]}
}
"""

import os
import re
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from toolscout.client.endpoint import is_web_address, placeholder_in
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import dialects, json_file
from toolscout.gateway.mcp.dialects import Text
from toolscout.gateway.mcp.servers import Config, Entry, HttpServer, Options, StdioServer, prefix_of

OAUTH = "oauth"
UNSUPPORTED = {OAUTH: 'of OAuth only "auth": "oauth" is read'}

TRANSPORTS = {"stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http"}
TRANSPORTS |= {"sse": "sse", "remote": "http"}
"""By their spellings in lower case, without `-` and `_`."""

SHORT_TIMEOUT = 1_000
"""A `timeout` below is in seconds, as in Cline and Roo Code; other hosts mean milliseconds."""

Duration = Annotated[float, msgspec.Meta(ge=0)]
"""0 stands for no limit of its own."""


class _Written(Entry, frozen=True, kw_only=True):
    """An entry as it is written, with its keys in our words."""

    command: str | None = None
    args: tuple[Text, ...] = ()
    env: dict[str, Text] = msgspec.field(default_factory=dict)
    env_file: str | None = msgspec.field(default=None, name="envFile")  # Cursor, VS Code
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, Text] = msgspec.field(default_factory=dict)
    auth: Any = None
    type: str | None = None
    transport: str | None = None
    timeout: Duration = 0
    timeout_ms: Duration = 0
    tool_timeout_sec: Duration = 0  # Codex
    startup_timeout_sec: Duration = 0  # Codex
    idle_timeout: Duration = 0
    disabled: bool = False
    enabled: bool = True


def read_config(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a file.

    Raises:
        ConfigurationError: it cannot be read, or has an error; says where and which.
    """
    content = json_file.read_object(path)
    folder = path.absolute().parent
    try:
        return _File(content, folder, environ).config()
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error.detail}") from None


class _File:
    """The content of a file; what is odd in it is noted while it is read."""

    def __init__(self, content: dict[str, Any], folder: Path, environ: Mapping[str, str]) -> None:
        self._content = content
        self._folder = folder
        project = folder.parent if folder.name.startswith(".") else folder  # such as .vscode
        self._environ = {
            "gatewayPython": sys.executable,
            "pathSeparator": os.sep,
            "userHome": str(Path.home()),
            "workspaceFolder": str(project),
            "workspaceFolderBasename": project.name,
            **_defaults(dialects.settings_of(content).get(dialects.INPUTS)),
            **_defaults(content.get(dialects.INPUTS)),
            **environ,
        }
        self._warnings: list[str] = []

    def config(self) -> Config:
        """Return the configuration that it is."""
        if not dialects.is_unwrapped(self._content):
            self._note_unknown(self._content, (*dialects.SECTIONS, *dialects.AT_TOP), "")
            self._note_unknown(dialects.settings_of(self._content), dialects.SETTINGS, dialects.MCP)
        is_left_out = dialects.left_out(self._content)
        servers: dict[str, StdioServer | HttpServer] = {}
        named: dict[str, str] = {}
        for section, place, name, value in dialects.entries(self._content):
            prefix = prefix_of(name)
            if not prefix:
                raise ConfigurationError(f"{place}: {name!r} is no name: it has no letter or digit")
            if prefix in named:
                both = f"{named[prefix]!r} and {name!r}"
                raise ConfigurationError(f"{place}: {both} have the same prefix, {prefix}__")
            named[prefix] = name
            is_off = value.get("disabled") is True or value.get("enabled") is False
            if not is_off and not is_left_out(name):
                servers[prefix] = self._server(section, value, place)
        if not named:
            raise ConfigurationError("mcpServers: expected an object with at least one server")
        if not servers:
            raise ConfigurationError("every server is disabled")
        return Config(servers, self._options(), tuple(self._warnings))

    def _options(self) -> Options:
        """Return the options, of which every key has to be known."""
        written, keys = self._content.get(dialects.OPTIONS, {}), Options.__struct_fields__
        for key, hint in json_file.unknown_keys(written, keys):
            hint = hint or f"; known are {', '.join(keys)}"
            raise ConfigurationError(f"{dialects.OPTIONS}.{key}: unknown key{hint}")
        options: Options = json_file.checked(written, Options, dialects.OPTIONS)
        return options

    def _server(self, section: str, value: dict[str, Any], place: str) -> StdioServer | HttpServer:
        if "headersHelper" in value:
            raise ConfigurationError(
                f"{place}.headersHelper: no command is run for headers; write them as headers"
            )
        value = json_file.without_blanks(value)
        keys = _Written.__struct_encode_fields__
        ours = (*keys, *dialects.ALIASES, *dialects.FOR_HOSTS_ALONE)
        unknown = self._note_unknown(value, ours, place, of_server=True)
        value = dialects.in_our_words(section, value, place)
        value = {key: value[key] for key in keys if key in value}
        entry = json_file.checked(json_file.expand(value, self._environ, place), _Written, place)
        url = entry.url
        if (entry.command is None) == (url is None):
            many = "neither" if url is None else "both"
            why = f"; unknown here: {', '.join(unknown)}" if unknown else ""
            raise ConfigurationError(f"{place}: expected either command or url, got {many}{why}")
        common = {key: getattr(entry, key) for key in Entry.__struct_fields__}
        common["timeout_s"] = self._timeout_s(entry, place)
        common["idle_timeout_s"] = entry.idle_timeout or None
        if entry.startup_timeout_sec:
            common["start_s"] = entry.startup_timeout_sec
        if entry.auth is not None and (url is None or entry.auth != OAUTH):
            why = "it has no url" if url is None else 'expected "oauth"'
            self._warnings.append(f"{place}.auth: ignored: {why}")
        if entry.command is not None:
            _transport(entry, place, ("stdio",))
            env = self._variables(entry, place)
            args, cwd = tuple(map(_text, entry.args)), entry.cwd
            return StdioServer(command=entry.command, args=args, env=env, cwd=cwd, **common)
        if placeholder := placeholder_in(url):
            raise ConfigurationError(f"{place}.url: write your own in place of {placeholder}")
        if not is_web_address(url):
            raise ConfigurationError(f"{place}.url: expected an http:// or https:// URL")
        transport = _transport(entry, place, ("http", "sse"))
        headers = {name: _text(one) for name, one in entry.headers.items()}
        auth: Literal["oauth"] | None = "oauth" if entry.auth == OAUTH else None
        if auth and "authorization" in map(str.lower, headers):
            raise ConfigurationError(f"{place}: either auth or the header Authorization: give one")
        return HttpServer(url=url, headers=headers, transport=transport, auth=auth, **common)

    def _timeout_s(self, entry: _Written, place: str) -> float | None:
        if entry.timeout_ms:
            return entry.timeout_ms / 1_000
        if not entry.timeout:
            return entry.tool_timeout_sec or None
        if entry.timeout >= SHORT_TIMEOUT:
            return entry.timeout / 1_000
        seconds = f"{entry.timeout:g}"
        self._warnings.append(f"{place}.timeout: read as {seconds} seconds; timeout_ms is exact")
        return entry.timeout

    def _variables(self, entry: _Written, place: str) -> dict[str, str]:
        """Return the variables of a subprocess: those of its file, then its own."""
        variables: dict[str, str] = {}
        if entry.env_file is not None:
            from dotenv import dotenv_values  # of the extra, which only the commands here need

            try:
                text = json_file.read_text(self._folder / entry.env_file)
            except ConfigurationError as error:
                raise ConfigurationError(f"{place}.envFile: {error.detail}") from None
            pairs = dotenv_values(stream=StringIO(text), interpolate=False).items()
            variables = {name: one for name, one in pairs if one is not None}
        return variables | {name: _text(one) for name, one in entry.env.items()}

    def _note_unknown(
        self, value: dict[str, Any], keys: Sequence[str], place: str, *, of_server: bool = False
    ) -> Sequence[str]:
        """Note keys that are ignored, and return them.

        Raises:
            ConfigurationError: one may say which tools are not to be offered.
        """
        unknown, dot = dict(json_file.unknown_keys(value, keys)), "." if place else ""
        for key, hint in unknown.items():
            where = f"{place}{dot}{key}"
            permissions = list(dialects.about_tools(key, value[key], where, of_server=of_server))
            self._warnings += [f"{one}: ignored: {dialects.DENY_HERE}" for one in permissions]
            if where not in permissions:
                why = UNSUPPORTED.get(key, f"unknown key{hint}")
                self._warnings.append(f"{where}: ignored: {why}")
        return tuple(unknown)


def _defaults(inputs: Any) -> dict[str, str]:
    """Return the defaults of VS Code's inputs, by their names."""
    listed = [one for one in inputs if isinstance(one, dict)] if isinstance(inputs, list) else []
    pairs = ((one.get("id"), one.get("default")) for one in listed)
    return {key: text for key, text in pairs if isinstance(key, str) and isinstance(text, str)}


def _text(value: Text) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _transport(entry: _Written, place: str, possible: Sequence[str]) -> Any:
    """Return how to talk to a server, if that is there; `type` and `transport` mean the same."""
    for key, text in (("type", entry.type), ("transport", entry.transport)):
        if text is not None:
            kind = TRANSPORTS.get(re.sub("[-_]", "", text.lower()))
            if kind not in possible:
                raise ConfigurationError(f"{place}.{key}: expected {' or '.join(possible)}")
            return kind
    return None
