"""Every setting: one typed struct, a line per variable.

Flags, environment variables, TOML keys and the documentation follow from it. Where values come
from is in `settings_sources`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from toolscout.contract.fields import NO_MATCH_BELOW, RankerName
from toolscout.errors import ConfigurationError

PREFIX = "TOOLSCOUT_"
MIB = 1024 * 1024
RANKERS: tuple[str, ...] = get_args(RankerName)

Value = str | int | float | bool | None


def setting(
    default: Value, text: str, low: float | None = None, high: float | None = None, **more: bool
) -> Any:
    """Describe a setting, with bounds if it is a number; the value of a `secret` is not shown."""
    return field(default=default, metadata={"help": text, "low": low, "high": high, **more})


LEARNING_DAYS = 365


@dataclass(frozen=True, kw_only=True, repr=False)  # some are secrets, which no log may repeat
class Settings:
    """Effective values, and the origin of each."""

    host: str = setting("127.0.0.1", "listen on this address")
    port: int = setting(8_080, "listen on this port", 0, 65_535)
    api_keys: str | None = setting(
        None,
        "accept these keys: comma-separated KEY or TENANT=KEY, each of at least 32 characters",
        secret=True,
    )
    insecure: bool = setting(False, "allow a non-loopback address without an API key")
    allowed_hosts: str | None = setting(
        None, "accept these names in `Host` and `Origin`, comma-separated"
    )
    tls_cert: str | None = setting(None, "serve TLS with the certificate in this PEM file")
    tls_key: str | None = setting(
        None, "read the private key from this file if tls_cert does not contain it"
    )
    tls_client_ca: str | None = setting(
        None, "require client certificates signed by the authority in this file"
    )
    metrics_auth: bool = setting(False, "require an API key for /metrics")
    ranker: RankerName = setting("auto", "use this ranker if a request names none")
    model: str | None = setting(
        None, "load this model2vec folder, or OWNER/NAME@COMMIT of the hub, not the bundled model"
    )
    encoder: bool = setting(
        False, "compare by a small transformer, too, while a search has time (an extra package)"
    )
    synonyms: str | None = setting(None, "add the synonyms in this TOML file to the bundled ones")
    domains: str | None = setting(None, "add the domains in this TOML file to the bundled ones")
    overlay: str | None = setting(
        None, "add what this TOML file says of tools, by name; it is read again when it changes"
    )
    no_match: Literal["empty", "pins"] = setting(
        "empty", "return this if nothing matches: an empty list, or the tools of always_keep"
    )
    prerequisites: bool = setting(
        True, "select the tools that find what other selected tools require, such as an id"
    )
    no_match_below: float = setting(
        NO_MATCH_BELOW,
        "report no match if the best tool's calibrated score is below this, 0 to 1",
        0,
        1,
    )
    latency_budget_ms: int = setting(
        150, "answer within this many milliseconds if a request sets no budget", 1, 60_000
    )
    cold_budget_ms: int = setting(
        800,
        "answer within this many milliseconds about tools that are not compiled yet, if a request "
        "sets no budget",
        1,
        60_000,
    )
    max_body_bytes: int = setting(
        16 * MIB, "accept request bodies of up to this many bytes", 1_024, 1_024 * MIB
    )
    max_tools: int = setting(
        10_000, "accept up to this many distinct tools in one request", 1, 200_000
    )
    cache_bytes: int = setting(
        256 * MIB, "keep compiled catalogs in up to this many bytes of memory", MIB, 1_024_000 * MIB
    )
    max_in_flight: int = setting(
        256, "serve up to this many requests at once; more get 503", 1, 100_000
    )
    max_lag_ms: int = setting(
        400, "answer 503 while the event loop lags by this many milliseconds", 1, 60_000
    )
    rate_limit: float = setting(
        0,
        "allow each tenant this many requests per second; more get 429; 0 sets no limit",
        0,
        1_000_000,
    )
    caller_timeout_s: float = setting(
        30,
        "wait this many seconds for the body of a request and for a caller to read an answer; "
        "for the headers of a request, a third of that",
        0.1,
        3_600,
    )
    keep_alive_s: int = setting(95, "close idle connections after this many seconds", 1, 3_600)
    drain_s: float = setting(
        5, "keep serving for this many seconds after SIGTERM while not ready", 0, 600
    )
    shutdown_s: int = setting(10, "then wait this many seconds for open requests", 0, 600)
    store: str = setting(
        "memory", "keep state here: memory, sqlite:PATH, redis://HOST:PORT/DB or postgres://HOST/DB"
    )
    store_bytes: int = setting(
        1_024 * MIB,
        "evict unregistered tool lists from a SQLite store above this many bytes",
        MIB,
        1_024_000 * MIB,
    )
    learning_days: int = setting(
        LEARNING_DAYS,
        "rank by the feedback of this many days, then delete it; 0 takes none",
        0,
        3_650,
    )
    playground: Literal["auto", "on", "off"] = setting(
        "auto", "serve the playground at /; auto serves it on loopback addresses only"
    )
    mcp: bool = setting(False, "serve the Model Context Protocol at /mcp")
    native: bool = setting(
        True, "rank by the compiled part of the ranking, where it is built, not by Python alone"
    )
    tracing: bool = setting(
        False, "export a span per request by OTLP; the OTEL_* variables configure it"
    )
    log: Literal["off", "hashed", "full"] = setting(
        "hashed", "log decisions with hashed or full patterns, or not at all"
    )
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Value]:
        """All values by name."""
        return {setting.name: getattr(self, setting.name) for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `low` and `high` bound numbers; `choices` lists allowed words."""

    name: str
    default: Value
    help: str
    hint: Any
    """Its type, as msgspec reads it."""
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

    @property
    def expected(self) -> str:
        """What its values are, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        kind = _KINDS[self.kind]
        return kind if self.low is None else f"{kind}, {self.low:,} to {self.high:,}"

    def parse(self, raw: Any, origin: str) -> Value:
        """Convert and check one value.

        Raises:
            ConfigurationError: it has the wrong type or is out of bounds; names its origin.
        """
        value = raw
        try:
            if self.kind is bool:
                value = _WORDS.get(str(raw).lower(), raw)
            elif isinstance(raw, str | int | float) and not isinstance(raw, bool):
                # 1.0 is no whole number, and "1" is.
                value = raw if self.kind is int and isinstance(raw, float) else self.kind(raw)
            parsed: Value = msgspec.convert(value, self.hint)
            if parsed != parsed:  # not a number, which no bound catches
                raise ValueError
        except (ValueError, msgspec.ValidationError):
            message = f"expected {self.expected}, got {raw!r}"
            raise ConfigurationError(f"{self.name} (from {origin}): {message}") from None
        return parsed


_KINDS = {bool: "on or off", int: "a whole number", float: "a number", str: "a text"}
_WORDS = {"on": True, "true": True, "yes": True, "1": True}
_WORDS |= {"off": False, "false": False, "no": False, "0": False}


def _make_setting(name: str, kind: Any, default: Value, about: Mapping[str, Any]) -> Setting:
    choices = tuple(
        word for part in _parts(kind) if get_origin(part) is Literal for word in get_args(part)
    )
    plain = str if choices else next(part for part in _parts(kind) if part is not type(None))
    hint = Annotated[kind, msgspec.Meta(ge=about["low"], le=about["high"])]
    return Setting(name, default, hint=hint, kind=plain, choices=choices, **about)


def _parts(kind: Any) -> tuple[Any, ...]:
    """Return the alternatives of a union, or the type itself."""
    return get_args(kind) if isinstance(kind, UnionType) or get_origin(kind) is Union else (kind,)


_HINTS = get_type_hints(Settings)
SETTINGS = tuple(
    _make_setting(each.name, _HINTS[each.name], getattr(Settings, each.name), each.metadata)
    for each in fields(Settings)
    if each.name != "origins"
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
