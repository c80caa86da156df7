"""Every setting: one typed struct, a line per variable.

Flags, environment variables, TOML keys and the documentation follow from it. Where values come
from is in `settings_sources`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from toolscout.contract.fields import NO_MATCH_BELOW, RankerName
from toolscout.errors import ConfigurationError

PREFIX = "TOOLSCOUT_"
MIB = 1024 * 1024
RANKERS: tuple[str, ...] = get_args(RankerName)

Value = str | int | float | bool | None


def about(
    text: str, low: float | None = None, high: float | None = None, *, secret: bool = False
) -> msgspec.Meta:
    """Describe a setting, with bounds if it is a number; the value of a secret is not shown."""
    return msgspec.Meta(description=text, ge=low, le=high, extra={"secret": secret})


LEARNING_DAYS = 365


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Effective values, and the origin of each."""

    host: Annotated[str, about("listen on this address")] = "127.0.0.1"
    port: Annotated[int, about("listen on this port", 0, 65_535)] = 8_080
    api_keys: Annotated[
        str | None,
        about(
            "accept these keys: comma-separated KEY or TENANT=KEY, each of at least 32 characters",
            secret=True,
        ),
    ] = None
    insecure: Annotated[bool, about("allow a non-loopback address without an API key")] = False
    allowed_hosts: Annotated[
        str | None, about("accept these names in `Host` and `Origin`, comma-separated")
    ] = None
    tls_cert: Annotated[str | None, about("serve TLS with the certificate in this PEM file")] = None
    tls_key: Annotated[
        str | None, about("read the private key from this file if tls_cert does not contain it")
    ] = None
    tls_client_ca: Annotated[
        str | None, about("require client certificates signed by the authority in this file")
    ] = None
    metrics_auth: Annotated[bool, about("require an API key for /metrics")] = False
    ranker: Annotated[RankerName, about("use this ranker if a request names none")] = "auto"
    model: Annotated[
        str | None,
        about("load this model2vec folder, or OWNER/NAME@COMMIT of the hub, not the bundled model"),
    ] = None
    encoder: Annotated[
        bool, about("compare by a small transformer too, while a search has time; an extra package")
    ] = False
    synonyms: Annotated[
        str | None, about("add the synonyms in this TOML file to the bundled ones")
    ] = None
    domains: Annotated[
        str | None, about("add the domains in this TOML file to the bundled ones")
    ] = None
    no_match: Annotated[
        Literal["empty", "pins"],
        about("return this if nothing matches: an empty list, or the tools of always_keep"),
    ] = "empty"
    prerequisites: Annotated[
        bool, about("select the tools that find what other selected tools require, such as an id")
    ] = True
    no_match_below: Annotated[
        float,
        about("report no match if the best tool's calibrated score is below this, 0 to 1", 0, 1),
    ] = NO_MATCH_BELOW
    latency_budget_ms: Annotated[
        int, about("answer within this many milliseconds if a request sets no budget", 1, 60_000)
    ] = 150
    max_body_bytes: Annotated[
        int, about("accept request bodies of up to this many bytes", 1_024, 1_024 * MIB)
    ] = 16 * MIB
    max_tools: Annotated[
        int, about("accept up to this many distinct tools in one request", 1, 200_000)
    ] = 10_000
    cache_bytes: Annotated[
        int,
        about("keep compiled catalogs in up to this many bytes of memory", MIB, 1_024_000 * MIB),
    ] = 256 * MIB
    max_in_flight: Annotated[
        int, about("serve up to this many requests at once; more get 503", 1, 100_000)
    ] = 256
    max_lag_ms: Annotated[
        int, about("answer 503 while the event loop lags by this many milliseconds", 1, 60_000)
    ] = 400
    rate_limit: Annotated[
        float,
        about(
            "allow each tenant this many requests per second; more get 429; 0 sets no limit",
            0,
            1_000_000,
        ),
    ] = 0
    max_connections_per_address: Annotated[
        int, about("allow each address this many open connections; 0 sets no limit", 0, 1_000_000)
    ] = 0
    caller_timeout_s: Annotated[
        float,
        about(
            "wait this many seconds for the body of a request and for a caller to read an answer; "
            "for the headers of a request, a third of that",
            0.1,
            3_600,
        ),
    ] = 30
    keep_alive_s: Annotated[
        int, about("close idle connections after this many seconds", 1, 3_600)
    ] = 95
    drain_s: Annotated[
        float, about("keep serving for this many seconds after SIGTERM while not ready", 0, 600)
    ] = 5
    shutdown_s: Annotated[int, about("then wait this many seconds for open requests", 0, 600)] = 10
    store: Annotated[
        str,
        about("keep state here: memory, sqlite:PATH, redis://HOST:PORT/DB or postgres://HOST/DB"),
    ] = "memory"
    store_bytes: Annotated[
        int,
        about(
            "evict unregistered tool lists from a SQLite store above this many bytes",
            MIB,
            1_024_000 * MIB,
        ),
    ] = 1_024 * MIB
    share_key: Annotated[
        str | None,
        about("take only compiled tools that were signed with this secret", secret=True),
    ] = None
    learning_days: Annotated[
        int, about("rank by the feedback of this many days, then delete it; 0 takes none", 0, 3_650)
    ] = LEARNING_DAYS
    playground: Annotated[
        Literal["auto", "on", "off"],
        about("serve the playground at /; auto serves it on loopback addresses only"),
    ] = "auto"
    mcp: Annotated[bool, about("serve the Model Context Protocol at /mcp")] = False
    tracing: Annotated[
        bool, about("export a span per request by OTLP; the OTEL_* variables configure it")
    ] = False
    log: Annotated[
        Literal["off", "hashed", "full"],
        about("log decisions with hashed or full patterns, or not at all"),
    ] = "hashed"
    origins: Mapping[str, str] = {}

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
        value = _WORDS.get(str(raw).lower(), raw) if self.kind is bool else raw
        try:
            # Only texts stand for something else: 1.0 is no whole number, and "1" is.
            parsed: Value = msgspec.convert(value, self.hint, strict=not isinstance(raw, str))
        except msgspec.ValidationError:
            message = f"expected {self.expected}, got {raw!r}"
            raise ConfigurationError(f"{self.name} (from {origin}): {message}") from None
        return parsed


_KINDS = {bool: "on or off", int: "a whole number", float: "a number", str: "a text"}
_WORDS = {"on": True, "true": True, "yes": True, "1": True}
_WORDS |= {"off": False, "false": False, "no": False, "0": False}


def _setting(name: str, hint: Any, default: Value) -> Setting:
    kind, meta = get_args(hint)
    choices = tuple(
        word for part in _parts(kind) if get_origin(part) is Literal for word in get_args(part)
    )
    plain = str if choices else next(part for part in _parts(kind) if part is not type(None))
    secret = bool(meta.extra["secret"])
    return Setting(name, default, meta.description, hint, plain, meta.ge, meta.le, choices, secret)


def _parts(kind: Any) -> tuple[Any, ...]:
    """Return the alternatives of a union, or the type itself."""
    return get_args(kind) if isinstance(kind, UnionType) or get_origin(kind) is Union else (kind,)


_HINTS = get_type_hints(Settings, include_extras=True)
SETTINGS = tuple(
    _setting(field.name, _HINTS[field.name], field.default)
    for field in msgspec.structs.fields(Settings)
    if field.name != "origins"
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
