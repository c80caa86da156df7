"""Where values of settings come from: flags, environment, files.

A value comes from the command line, else from `TOOLSCOUT_NAME`, else from the file that
`TOOLSCOUT_NAME_FILE` names, else from the TOML file, else it is the default. Others are refused.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError, suggest
from toolscout.settings import BY_NAME, PREFIX, SETTINGS, Settings, Value


def load(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Read all settings.

    Raises:
        ConfigurationError: a name is unknown, a value is malformed, a file cannot be read, or a
        caller's key stands where the service's belongs.
    """
    environ = os.environ if environ is None else environ
    if config is None and environ.get(PREFIX + "CONFIG"):
        config = Path(environ[PREFIX + "CONFIG"])
    raw_values = _from_toml(config) if config else {}
    raw_values |= _from_environment(environ) | _from_flags(flags or {})
    values: dict[str, Any] = {name: BY_NAME[name].parse(*raw) for name, raw in raw_values.items()}
    if environ.get(_CALLERS_KEY) and not values.get("api_keys"):
        raise ConfigurationError(
            f"{_CALLERS_KEY} is the key that a caller sends; the service reads its own from "
            f"{BY_NAME['api_keys'].env}"
        )
    origins = {name: raw_values[name][1] if name in raw_values else "default" for name in BY_NAME}
    return Settings(**values, origins=origins)


SERVING = (
    "insecure",
    "allowed_hosts",
    "tls_cert",
    "tls_key",
    "tls_client_ca",
    "caller_timeout_s",
    "keep_alive_s",
)
"""Settings of how HTTP is served, which hold for the proxy and the gateway too."""


def load_serving(flags: Mapping[str, Any]) -> Settings:
    """Read the settings in `SERVING`; all others have their defaults.

    Raises:
        ConfigurationError: a value is malformed.
    """
    variables = [BY_NAME[name].env + end for name in SERVING for end in ("", "_FILE")]
    return load(
        {name: value for name, value in flags.items() if name in SERVING},
        {name: os.environ[name] for name in variables if name in os.environ},
    )


def find_secret_file(settings: Settings, name: str) -> Path | None:
    """Return the file that `TOOLSCOUT_NAME_FILE` names for a setting, if any."""
    variable = BY_NAME[name].env + "_FILE"
    path = os.environ.get(variable)
    if path is None or settings.origins[name] != _describe_file(path, variable):
        return None
    return Path(path)


def _describe_file(path: str, variable: str) -> str:
    return f"file {path} (environment {variable})"


def redact(value: Value) -> Value:
    """Replace the password in an address by stars."""
    if not isinstance(value, str):
        return value
    return _QUERY.sub(r"\1***", _PASSWORD.sub(r"\1***", value))


_PASSWORD = re.compile(r"(://[^/?#@:]*:).*(?=@)")
"""Up to the last `@`: one in a password may not be encoded."""

_QUERY = re.compile(r"(?i)([?&][a-z_]*password=)[^&#]*")


def _from_flags(flags: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    raw: dict[str, tuple[Any, str]] = {}
    for setting in SETTINGS:
        value = flags.get(setting.name)
        if redact(value) != value:
            raise ConfigurationError(
                f"{setting.flag}: holds a password, which every process list would show; "
                f"use {setting.env} or {setting.env}_FILE"
            )
        if value is not None:
            raw[setting.name] = value, f"flag {setting.flag}"
    return raw


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    values: dict[str, tuple[Any, str]] = {}
    for variable, raw in sorted(environ.items(), reverse=True):  # X_FILE before X, so X wins
        if not variable.startswith(PREFIX) or variable in _NOT_SETTINGS:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name.endswith("_file") and name.removesuffix("_file") in BY_NAME:
            origin = _describe_file(raw, variable)
            if not Path(raw).is_file() and Path(raw).exists():
                raise ConfigurationError(f"{raw} ({variable}) is no regular file")
            value = _read(Path(raw), variable).strip()
            if not value:
                raise ConfigurationError(f"{raw} ({variable}) is empty")
            values[name.removesuffix("_file")] = (value, origin)
        elif name in BY_NAME:
            # Templates write "not set" as an empty secret; it must not hide the file.
            if raw or not BY_NAME[name].secret:
                values[name] = (raw, f"environment {variable}")
        else:
            raise ConfigurationError(_explain_unknown(variable, [s.env for s in SETTINGS]))
    return values


_CALLERS_KEY = PREFIX + "API_KEY"

_NOT_SETTINGS = frozenset(
    PREFIX + name
    for name in (
        "CONFIG",  # the file of settings
        "DATA",  # of tests and evaluations
        "OPENAPI",
        # of callers
        "ALWAYS_KEEP",
        "API_KEY",
        "DEFER_ABOVE",
        "ENDPOINT",
        "LEARN",
        "ROLLOUT",
        "TOP_K",
        "IMAGE",  # of Compose
        "MCP_KEY",  # of the gateway
        "PROXY_KEY",  # of the proxy
        "URL",  # of the examples
    )
)
"""Variables of the same prefix that are no settings of the service."""


def _from_toml(path: Path) -> dict[str, tuple[Any, str]]:
    text = _read(path, "the configuration file")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not valid TOML, such as port = 8080: {error}") from None
    for name in table:
        if name not in BY_NAME:
            where = f"{path}{_find_line(text, name)}"
            raise ConfigurationError(f"{where}: {_explain_unknown(name, list(BY_NAME))}")
    return {name: (value, f"file {path}{_find_line(text, name)}") for name, value in table.items()}


def _find_line(text: str, name: str) -> str:
    """Return the line of a TOML file that sets a name or begins its table."""
    begins = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[]=.]""")
    lines = text.splitlines()
    return next((f", line {n}" for n, line in enumerate(lines, 1) if begins.match(line)), "")


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path} ({what}): {error}") from None


def _explain_unknown(name: str, names: list[str]) -> str:
    return f"unknown setting {name}{suggest(name, names)}"
