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
from typing import Any

from toolscout.client.endpoint import find_placeholder, is_web_address
from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import dialects, host_auth, json_file, restrictions
from toolscout.gateway.mcp.servers import (
    Config,
    FolderServer,
    HttpServer,
    Server,
    ServerOptions,
    StdioServer,
    find_prefix,
)

TRANSPORTS = {"stdio": "stdio", "local": "stdio", "http": "http", "streamablehttp": "http"}
TRANSPORTS |= {"sse": "sse", "remote": "http"}
"""By their spellings in lower case, without `-` and `_`."""

KINDS: dict[str, type[Server]] = {
    "command": StdioServer,
    "url": HttpServer,
    "folders": FolderServer,
}
"""By the key that an entry has."""


def read_config(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a file.

    Raises:
        ConfigurationError: it cannot be read, or has an error; says where and which.
    """
    content = json_file.read_object(path)
    folder = path.absolute().parent
    try:
        return config_of(content, folder, environ)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error.detail}") from None


def config_of(content: dict[str, Any], folder: Path, environ: Mapping[str, str]) -> Config:
    """Read what a file in some folder holds.

    Raises:
        ConfigurationError: it has an error; says where and which.
    """
    return _ConfigFile(content, folder, environ).config()


class _ConfigFile:
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
            **_find_defaults(dialects.find_settings(content).get(dialects.INPUTS)),
            **_find_defaults(content.get(dialects.INPUTS)),
            **environ,
        }
        self._warnings: list[str] = []

    def config(self) -> Config:
        """Return the configuration that it is."""
        if not dialects.is_unwrapped(self._content):
            self._note_unknown(self._content, (*dialects.SECTIONS, *dialects.AT_TOP), "")
            self._note_unknown(
                dialects.find_settings(self._content), dialects.SETTINGS, dialects.MCP
            )
        lists = dialects.find_server_lists(self._content)
        servers: dict[str, Server] = {}
        disabled: list[str] = []
        named: dict[str, str] = {}
        for section, place, name, value in dialects.entries(self._content):
            prefix = find_prefix(name)
            if not prefix:
                raise ConfigurationError(f"{place}: {name!r} is no name: it has no letter or digit")
            if prefix in named:
                both = f"{named[prefix]!r} and {name!r}"
                raise ConfigurationError(f"{place}: {both} have the same prefix, {prefix}__")
            named[prefix] = name
            if dialects.is_off(value) or dialects.is_left_out(name, lists):
                disabled.append(name)
            else:
                servers[prefix] = self._server(section, value, place)
        self._warnings += dialects.explain_missing(named.values(), lists)
        if not named:
            raise ConfigurationError("mcpServers: expected an object with at least one server")
        if not servers:
            raise ConfigurationError("every server is disabled")
        return Config(servers, self._options(), tuple(self._warnings), tuple(disabled))

    def _options(self) -> ServerOptions:
        """Return the options; an unknown key is refused."""
        written = self._content.get(dialects.OPTIONS, {})
        keys = ServerOptions.__struct_fields__
        for key, hint in json_file.find_unknown_keys(written, keys):
            hint = hint or f"; known are {', '.join(keys)}"
            raise ConfigurationError(f"{dialects.OPTIONS}.{key}: unknown key{hint}")
        options: ServerOptions = json_file.convert_checked(written, ServerOptions, dialects.OPTIONS)
        return options

    def _server(self, section: str, value: dict[str, Any], place: str) -> Server:
        if "headersHelper" in value:
            raise ConfigurationError(
                f"{place}.headersHelper: no command is run for headers; write them as headers"
            )
        value = json_file.drop_blanks(value)
        keys = (*dialects.KEYS, *dialects.FOR_HOSTS_ALONE)
        unknown = self._note_unknown(value, keys, place, of_server=True)
        fields = dialects.translate(section, value, place)
        kinds = [kind for key, kind in KINDS.items() if key in fields]
        if len(kinds) != 1:
            many = "several" if kinds else "neither"
            why = f"; unknown here: {', '.join(unknown)}" if unknown else ""
            expected = "expected either command or url, or folders"
            raise ConfigurationError(f"{place}: {expected}, got {many}{why}")
        kind = kinds[0]
        timeout = value.get("timeout", 0)
        if 0 < timeout < dialects.SHORT_TIMEOUT and not value.get("timeout_ms"):
            how = f"read as {timeout:g} seconds; timeout_ms is exact"
            self._warnings.append(f"{place}.timeout: {how}")
        self._note_unread_pins(value, place)
        try:
            fields = json_file.expand(fields, self._environ, place)
        except json_file.VariableNotSet as error:
            fields["fault"] = error.detail
        self._check_auth(value, fields, place)
        if kind is FolderServer:
            self._find_folders(fields, place)
        else:
            fields["transport"] = _find_transport(fields, place, kind)
        if kind is StdioServer and "fault" not in fields:
            fields["env"] = self._variables(fields, place)
        elif kind is HttpServer and "fault" not in fields:
            _check_address(fields["url"], place)
        fields = {field: fields[field] for field in kind.__struct_fields__ if field in fields}
        server: Server = json_file.convert_checked(fields, kind, place)
        return server

    def _find_folders(self, fields: dict[str, Any], place: str) -> None:
        """Write folders as they are seen from the file's; one that is not there is a fault."""
        folders = [self._folder / Path(one).expanduser() for one in fields["folders"]]
        fields["folders"] = list(map(str, folders))
        for folder in folders:
            if not folder.is_dir():
                fields.setdefault("fault", f"{place}.folders: there is no folder {folder}")

    def _variables(self, fields: Mapping[str, Any], place: str) -> dict[str, str]:
        """Return the variables of a subprocess: those of its file, then its own."""
        variables: dict[str, str] = {}
        if "envFile" in fields:
            from dotenv import dotenv_values  # of the extra, which only the commands here need

            try:
                text = json_file.read_text(self._folder / fields["envFile"])
            except ConfigurationError as error:
                raise ConfigurationError(f"{place}.envFile: {error.detail}") from None
            pairs = dotenv_values(stream=StringIO(text), interpolate=False).items()
            variables = {name: one for name, one in pairs if one is not None}
        return variables | fields.get("env", {})

    def _check_auth(self, value: dict[str, Any], fields: dict[str, Any], place: str) -> None:
        """Drop what of OAuth is not used, and note it.

        Raises:
            ConfigurationError: the server is given a key, too.
        """
        has_key = "authorization" in map(str.lower, fields.get("headers", ()))
        if has_key and "auth" in value and "auth" in fields:
            raise ConfigurationError(f"{place}: either auth or the header Authorization: give one")
        why = 'expected "auth": "oauth", or an object with client_id'
        if "url" not in fields:
            why = "it has no url"
        elif has_key:
            why = "it has the header Authorization"
        if has_key or "url" not in fields:
            fields.pop("auth", None)
        for key in filter(value.__contains__, host_auth.READERS):
            if "auth" not in fields:
                self._warnings.append(f"{place}.{key}: ignored: {why}")
                continue
            for name, hint in json_file.find_unknown_keys(value[key], [*host_auth.FIELDS]):
                self._warnings.append(f"{place}.{key}.{name}: ignored: unknown key{hint}")

    def _note_unread_pins(self, value: dict[str, Any], place: str) -> None:
        """Note what would list tools as themselves, and is written otherwise than hosts do."""
        for key in dialects.PINNING.keys() & value.keys():
            if type(value[key]) is not type(dialects.PINNING[key]):
                kind = type(dialects.PINNING[key]).__name__
                self._warnings.append(f"{place}.{key}: ignored: expected a {kind}")
        for name, one in value.get("configs", {}).items():
            if one.get("defer_loading") is False:
                where = f"{place}.configs.{name}.defer_loading"
                self._warnings.append(f"{where}: ignored: write pinned in toolscout instead")

    def _note_unknown(
        self, value: dict[str, Any], keys: Sequence[str], place: str, *, of_server: bool = False
    ) -> Sequence[str]:
        """Note keys that are ignored, and return them.

        Raises:
            ConfigurationError: one may say which tools are not to be offered, or that none is.
        """
        unknown = dict(json_file.find_unknown_keys(value, keys))
        dot = "." if place else ""
        for key, hint in unknown.items():
            where = f"{place}{dot}{key}"
            permissions = list(
                restrictions.find_tool_rules(key, value[key], where, of_server=of_server)
            )
            if of_server:
                restrictions.check_key_of_server(key, hint, where)
            self._warnings += [f"{one}: ignored: {restrictions.DENY_HERE}" for one in permissions]
            if where not in permissions:
                self._warnings.append(f"{where}: ignored: unknown key{hint}")
        return tuple(unknown)


def _check_address(url: str, place: str) -> None:
    if placeholder := find_placeholder(url):
        raise ConfigurationError(f"{place}.url: write your own in place of {placeholder}")
    if not is_web_address(url):
        raise ConfigurationError(f"{place}.url: expected an http:// or https:// URL")


def _find_defaults(inputs: Any) -> dict[str, str]:
    """Return the defaults of VS Code's inputs, by their names."""
    listed = [one for one in inputs if isinstance(one, dict)] if isinstance(inputs, list) else []
    pairs = ((one.get("id"), one.get("default")) for one in listed)
    return {key: text for key, text in pairs if isinstance(key, str) and isinstance(text, str)}


def _find_transport(fields: Mapping[str, Any], place: str, kind: type[Server]) -> str | None:
    """Return the transport of a server, if it is given; `type` and `transport` mean the same."""
    possible = ("stdio",) if kind is StdioServer else ("http", "sse")
    for key in ("type", "transport"):
        if key in fields:
            transport = TRANSPORTS.get(re.sub("[-_]", "", fields[key].lower()))
            if transport not in possible:
                raise ConfigurationError(f"{place}.{key}: expected {' or '.join(possible)}")
            return transport
    return None
