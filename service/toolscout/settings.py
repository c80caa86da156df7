"""Every setting: one table from which flags, environment, TOML keys and documentation follow.

A value comes from the command line, else from `TOOLSCOUT_NAME`, else from the file that
`TOOLSCOUT_NAME_FILE` names, else from the TOML file, else from the table. Names that are not in
the table are refused.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError

PREFIX = "TOOLSCOUT_"
MIB = 1024 * 1024

Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `low` and `high` bound numbers; `choices` lists allowed words."""

    name: str
    default: Value
    help: str
    kind: type = str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False

    @property
    def env(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--" + self.name.replace("_", "-")

    def parse(self, raw: Any, origin: str) -> Value:
        """Convert and check one value.

        Raises:
            ConfigurationError: it has the wrong type or is out of bounds; says where it stood.
        """
        where = f"{self.name} (from {origin})"
        if self.kind is bool:
            value: Value = raw if isinstance(raw, bool) else _WORDS.get(str(raw).lower())
            if value is None:
                raise ConfigurationError(f"{where}: expected on or off, got {raw!r}")
            return value
        expected = {int: "a whole number", float: "a number", str: "a text"}[self.kind]
        try:
            if isinstance(raw, bool | list | dict) or (self.kind is int and isinstance(raw, float)):
                raise TypeError
            value = self.kind(raw)
            if value != value:  # not a number, which no bound would catch
                raise ValueError
        except (TypeError, ValueError):
            raise ConfigurationError(f"{where}: expected {expected}, got {raw!r}") from None
        if self.choices and value not in self.choices:
            listed = ", ".join(self.choices)
            raise ConfigurationError(f"{where}: expected one of {listed}, got {raw!r}")
        if isinstance(value, int | float):
            if self.low is not None and value < self.low:
                raise ConfigurationError(f"{where}: at least {self.low}, got {raw!r}")
            if self.high is not None and value > self.high:
                raise ConfigurationError(f"{where}: at most {self.high}, got {raw!r}")
        return value


_WORDS = {"on": True, "true": True, "yes": True, "1": True}
_WORDS |= {"off": False, "false": False, "no": False, "0": False}

RANKERS = ("auto", "regex", "bm25", "semantic", "hybrid", "rrf")

SETTINGS: tuple[Setting, ...] = (
    Setting("host", "127.0.0.1", "address to listen on"),
    Setting("port", 8080, "port to listen on", int, 0, 65_535),
    Setting("workers", 1, "processes on one socket; use a balancer for digests", int, 1, 256),
    Setting(
        "api_keys", None, "comma-separated KEY or TENANT=KEY, each ≥ 32 characters", secret=True
    ),
    Setting("insecure", False, "allow a non-loopback address without any key", bool),
    Setting("allowed_hosts", None, "comma-separated names by which callers may address it"),
    Setting("tls_cert", None, "file with the server's certificate (PEM); turns TLS on"),
    Setting("tls_key", None, "file with its private key, where tls_cert does not hold it"),
    Setting("tls_client_ca", None, "file with the authority that callers' certificates must have"),
    Setting("metrics_auth", False, "require a key for /metrics", bool),
    Setting("ranker", "auto", "ranker when a request names none", choices=RANKERS),
    Setting("model", None, "model2vec folder or hub id instead of the bundled model"),
    Setting("synonyms", None, "TOML file with synonyms beside the bundled ones"),
    Setting("domains", None, "TOML file with domains beside the bundled ones"),
    Setting(
        "shadow_ranker",
        "off",
        "ranker that is compared with every answer, in metrics only",
        choices=("off", *RANKERS),
    ),
    Setting(
        "no_match",
        "empty",
        "what a search without any match returns",
        choices=("empty", "pins"),
    ),
    Setting(
        "no_match_below",
        0.02,
        "calibrated score of the best tool below which nothing matches, 0 to 1",
        float,
        0,
        1,
    ),
    Setting(
        "latency_budget_ms",
        150,
        "milliseconds per search when a request says none",
        int,
        1,
        60_000,
    ),
    Setting("max_body_bytes", 16 * MIB, "largest request body", int, 1_024, 1_024 * MIB),
    Setting("max_answer_bytes", 4 * MIB, "largest answer", int, 65_536, 1_024 * MIB),
    Setting("max_tools", 10_000, "distinct tools in one request", int, 1, 200_000),
    Setting("max_catalogs", 1_000, "catalogs one tenant may register", int, 1, 1_000_000),
    Setting("max_pattern_chars", 4_096, "characters of a pattern that rank", int, 1, 65_536),
    Setting("cache_bytes", 256 * MIB, "memory for compiled catalogs", int, MIB, 1_024_000 * MIB),
    Setting("max_in_flight", 256, "requests at once before new ones get 503", int, 1, 100_000),
    Setting("max_lag_ms", 400, "event-loop lag from which new requests get 503", int, 1, 60_000),
    Setting(
        "rate_limit", 0, "requests a second of one tenant before 429; 0 is no limit", float, 0, 1e6
    ),
    Setting(
        "max_bytes_in_flight",
        256 * MIB,
        "bytes of request bodies in memory before new ones get 503",
        int,
        MIB,
        1_024_000 * MIB,
    ),
    Setting(
        "max_head_bytes",
        64 * 1_024,
        "bytes of a request line with its headers and trailers",
        int,
        1_024,
        MIB,
    ),
    Setting(
        "max_connections_per_address",
        0,
        "open connections of one address; 0 is no limit",
        int,
        0,
        1_000_000,
    ),
    Setting("head_timeout_s", 10, "seconds for a request's head to arrive", float, 0.1, 3_600),
    Setting("body_timeout_s", 30, "seconds for a request body to arrive", float, 0.1, 3_600),
    Setting("write_timeout_s", 30, "seconds for a caller to read its answer", float, 0.1, 3_600),
    Setting("keep_alive_s", 95, "seconds an idle connection is kept", int, 1, 3_600),
    Setting("drain_s", 5, "seconds of service after SIGTERM, not ready any more", float, 0, 600),
    Setting("shutdown_s", 10, "seconds for open requests after that", int, 0, 600),
    Setting("store", "memory", "where state is kept: memory, sqlite:PATH or redis://HOST:PORT/DB"),
    Setting(
        "store_bytes",
        1_024 * MIB,
        "size of a SQLite store from which lists that can be compiled again are evicted",
        int,
        MIB,
        1_024_000 * MIB,
    ),
    Setting("learning", False, "take feedback and let it move the ranking", bool),
    Setting(
        "learning_half_life_days", 30, "age at which feedback counts half", float, 0.01, 36_500
    ),
    Setting(
        "playground",
        "auto",
        "serve the playground at /; auto: where only this machine can ask",
        choices=("auto", "on", "off"),
    ),
    Setting("mcp", False, "answer the Model Context Protocol at /mcp", bool),
    Setting("tracing", False, "send a span per request by OTLP, as OTEL_* variables say", bool),
    Setting("log", "hashed", "decision log", choices=("off", "hashed", "full")),
)

BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}


@dataclass(frozen=True)
class Settings:
    """Effective values and where each came from; each value is an attribute."""

    values: Mapping[str, Value]
    origins: Mapping[str, str]

    def __post_init__(self) -> None:
        # Every request reads several of them: as plain attributes that costs nothing.
        self.__dict__.update(self.values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)  # whatever is a setting was found before


def load(
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
) -> Settings:
    """Read all settings.

    Raises:
        ConfigurationError: a name is unknown, a value is malformed, or a file cannot be read.
    """
    environ = os.environ if environ is None else environ
    if config is None and environ.get(PREFIX + "CONFIG"):
        config = Path(environ[PREFIX + "CONFIG"])
    sources = [
        _from_flags(flags or {}),
        _from_environment(environ),
        _from_toml(config) if config else {},
    ]
    values: dict[str, Value] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        values[setting.name], origins[setting.name] = setting.default, "default"
        for source in sources:
            if setting.name in source:
                raw, origin = source[setting.name]
                values[setting.name] = setting.parse(raw, origin)
                origins[setting.name] = origin
                break
    return Settings(values, origins)


def secret_file(
    settings: Settings, name: str, environ: Mapping[str, str] | None = None
) -> Path | None:
    """The file that a setting was read from, where `TOOLSCOUT_NAME_FILE` named one."""
    variable = BY_NAME[name].env + "_FILE"
    path = (os.environ if environ is None else environ).get(variable)
    if path is None or settings.origins[name] != _file_origin(path, variable):
        return None
    return Path(path)


def _file_origin(path: str, variable: str) -> str:
    return f"file {path} (environment {variable})"


def redacted(value: Value) -> Value:
    """A value as it may be shown: the password in an address replaced by stars."""
    return _PASSWORD.sub(r"\1***", value) if isinstance(value, str) else value


_PASSWORD = re.compile(r"(://[^/?#@:]*:(?=[^@]*@)|[?&]password=)[^@&#]*")


def _from_flags(flags: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
    for name, value in flags.items():
        if name in BY_NAME and redacted(value) != value:
            setting = BY_NAME[name]
            raise ConfigurationError(
                f"{setting.flag}: holds a password, which every process list would show; "
                f"use {setting.env} or {setting.env}_FILE"
            )
    return {
        name: (value, f"flag {BY_NAME[name].flag}")
        for name, value in flags.items()
        if name in BY_NAME and value is not None
    }


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    found: dict[str, tuple[Any, str]] = {}
    for variable, raw in sorted(environ.items(), reverse=True):  # X_FILE before X, so X wins
        if not variable.startswith(PREFIX) or variable in _NOT_SETTINGS:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name.endswith("_file") and name.removesuffix("_file") in BY_NAME:
            origin = _file_origin(raw, variable)
            if not Path(raw).is_file() and Path(raw).exists():
                raise ConfigurationError(f"{raw} ({variable}) is no regular file")
            value = _read(Path(raw), variable).strip()
            if not value:
                raise ConfigurationError(f"{raw} ({variable}) is empty")
            found[name.removesuffix("_file")] = (value, origin)
        elif name in BY_NAME:
            # An empty secret is how templates spell "not set"; it must not hide the file.
            if raw or not BY_NAME[name].secret:
                found[name] = (raw, f"environment {variable}")
        else:
            raise ConfigurationError(_unknown(variable, [s.env for s in SETTINGS]))
    return found


_NOT_SETTINGS = frozenset({PREFIX + "CONFIG", PREFIX + "DATA"})
"""The settings file itself, and where tests and evaluations find their data."""


def _from_toml(path: Path) -> dict[str, tuple[Any, str]]:
    text = _read(path, "the configuration file")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    for name in table:
        if name not in BY_NAME:
            where = f"{path}{_line(text, name)}"
            raise ConfigurationError(f"{where}: {_unknown(name, list(BY_NAME))}")
    return {name: (value, f"file {path}{_line(text, name)}") for name, value in table.items()}


def _line(text: str, name: str) -> str:
    """On which line a name of a TOML file is given a value, or made a table."""
    begins = re.compile(rf"""\s*\[*\s*["']?{re.escape(name)}["']?\s*[]=.]""")
    lines = text.splitlines()
    return next((f", line {n}" for n, line in enumerate(lines, 1) if begins.match(line)), "")


def _read(path: Path, what: str) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read {path} ({what}): {error}") from None


def _unknown(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"unknown setting {name}{hint}"
