"""The proxy's own configuration, `pipes.tool_discovery`, read as the proxy reads it.

    discovery = ToolDiscovery(load("gateway.yaml"))

Names, defaults and forced values are the proxy's, with one default of our own: the selector call
may take 1.5 s, not 10. `${VAR}` and `${VAR:-default}` are filled in from the environment, in lists
too, and a variable that is not set is logged by name. Six keys are our own: `rollout`,
`defer_above`, `defer_above_tokens`, `ask_every_turn`, and two whose defaults in a file are what the
proxy does: `dispatch` (`off`) and `restore_on_no_match` (on). An unknown strategy or key is an
error that names the nearest known one; keys of the proxy that have no meaning here are ignored.
`provider` is read and, as in the proxy, not used for the call.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from math import isnan
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from toolscout.client.endpoint import hide_secrets
from toolscout.client.log import logger
from toolscout.client.rollout import Rollout
from toolscout.client.settings import DEFAULT_TIMEOUT_S
from toolscout.common.optional import write_install_command
from toolscout.contract.fields import DEFAULT_TOP_K
from toolscout.errors import (
    ConfigurationError,
    InvalidArgument,
    check_count,
    check_names,
    check_switches,
    suggest,
    wrong_field,
)
from toolscout.text.relevance import MAX_TOOLS, MIN_TOOLS, TARGET_RATIO

STRATEGIES = ("passthrough", "relevance", "tool-search", "api", "hybrid-first")
SEARCH_TOOL_NAME = "gateway_search_tools"
_KEYS_OF_THE_PROXY = (
    "compresr",
    "fallback_strategy",
    "token_threshold",
    "schema_compression",
    "search_result_compression",
    "enable_tool_description_compression",
)
_API_KEYS_OF_THE_PROXY = ("model", "query_agnostic")
"""Keys of some release of the proxy that have no meaning here, but for `compresr`, its `api`."""

_NUMBERS = ("min_tools", "max_tools", "target_ratio", "max_search_results")
"""Keys of numbers; one that is not above zero is the default, as in the proxy."""

_SWITCHES = ("restore_on_no_match", "ask_every_turn")
"""Keys of our own that are true or false."""

_AS_THE_PROXY = {"restore_on_no_match": True, "dispatch": "off"}
"""Defaults of a file, by which the proxy's own flow is kept: it declares whatever is found."""

_MAY_BE_EMPTY = ("strategy", "search_tool_name", "always_keep")
"""Keys whose empty text is the default."""

NO_STRATEGY = (
    "enabled is true, but no strategy is set: every request goes out as it came; "
    "hybrid-first and api ask the service"
)

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


Dispatching = Literal["auto", "on", "off"]
"""When found tools are called through one constant tool, where a provider does not load tools by
itself: from the second find of a conversation on (`auto`), always, or never. What the searches of
one answer find is one find.
"""


class ApiConfig(msgspec.Struct, frozen=True):
    """The address of the service; `timeout` in seconds."""

    endpoint: str = ""
    api_key: str = ""
    timeout: float = DEFAULT_TIMEOUT_S

    def __repr__(self) -> str:
        """Show neither the key nor secret parts of the endpoint."""
        key = "'…'" if self.api_key else "''"
        endpoint = hide_secrets(self.endpoint)
        return f"ApiConfig(endpoint={endpoint!r}, api_key={key}, timeout={self.timeout})"


class DiscoveryConfig(msgspec.Struct, frozen=True):
    """`pipes.tool_discovery` with every default filled in."""

    enabled: bool = False
    strategy: str = "passthrough"
    provider: str = ""
    min_tools: int = MIN_TOOLS
    max_tools: int = MAX_TOOLS
    target_ratio: float = TARGET_RATIO
    always_keep: tuple[str, ...] = ()
    enable_search_fallback: bool = False
    search_tool_name: str = SEARCH_TOOL_NAME
    max_search_results: int = DEFAULT_TOP_K
    rollout: str = "on"
    restore_on_no_match: bool = False
    defer_above: int | None = None
    """Requests with at most this many tools are forwarded as they are."""
    defer_above_tokens: int | None = None
    """Requests whose definitions have at most this many tokens, by an estimate, are, too."""
    dispatch: Dispatching = "auto"
    ask_every_turn: bool = True
    """Whether the service is asked at each message of a user; else at the first alone."""
    api: ApiConfig = ApiConfig()

    def __post_init__(self) -> None:
        """Check the strategy and the rollout.

        Raises:
            ConfigurationError: one is unknown; the message has the known ones.
        """
        try:
            Rollout.parse(self.rollout)
        except InvalidArgument as error:
            raise ConfigurationError(str(error)) from None
        if self.strategy not in STRATEGIES:
            near = suggest(self.strategy, STRATEGIES)
            raise ConfigurationError(
                f"strategy: expected one of {', '.join(STRATEGIES)}, got {self.strategy!r}{near}"
            )

    def with_arguments(
        self, always_keep: Collection[str], top_k: int | None, **others: Any
    ) -> "DiscoveryConfig":
        """Return the configuration with what the arguments of a flow add to it, if not None.

        Raises:
            InvalidArgument: `always_keep` holds no names, or one of the others is no count.
        """
        check_names("always_keep", always_keep)
        others |= {"max_search_results": top_k, "always_keep": (*self.always_keep, *always_keep)}
        changes = {key: value for key, value in others.items() if value is not None}
        changed = msgspec.structs.replace(self, **changes)
        check_count("defer_above", changed.defer_above or 0, 0)
        check_count("defer_above_tokens", changed.defer_above_tokens or 0, 0)
        check_count("top_k", changed.max_search_results, 1)
        check_switches(**{key: getattr(changed, key) for key in _SWITCHES})
        if changed.dispatch not in get_args(Dispatching):
            raise InvalidArgument.of("dispatch", "auto, on or off", changed.dispatch)
        return changed

    @classmethod
    def of(
        cls, document: Mapping[str, Any], changes: Mapping[str, Any] | None = None
    ) -> "DiscoveryConfig":
        """Read a parsed configuration file, or its `tool_discovery` section alone.

        Args:
            document: sections and values as YAML has them.
            changes: values that replace those of the section; `api` holds those of its own.

        Raises:
            ConfigurationError: a value has the wrong type, or a key or the strategy is unknown; the
                message names it, what was expected, and the nearest known one.
        """
        changes = dict(changes or {})
        of_api = changes.pop("api", {})
        section = {**_find_section(document), **changes}
        values = {**_AS_THE_PROXY, **_read_values(section, cls, _KEYS_OF_THE_PROXY)}
        # Later releases of the proxy name the block and the strategy after the vendor.
        name = "compresr" if "compresr" in section and "api" not in section else "api"
        block = {**_check_section(section.get(name), name), **of_api}
        values["api"] = _read_values(block, ApiConfig, _API_KEYS_OF_THE_PROXY, f"{name}.")
        if (spent := _read_seconds(values["api"].pop("timeout", 0), f"{name}.timeout")) != 0:
            values["api"]["timeout"] = spent
        if values.get("strategy") == "compresr":
            values["strategy"] = "api"
        for key in ("rollout", "dispatch"):
            if isinstance(values.get(key), bool):  # YAML reads `on` and `off` as these
                values[key] = "on" if values[key] else "off"
        for key in ("enabled", "enable_search_fallback", *_SWITCHES):
            if str(values.get(key, True)).lower() not in ("true", "false"):
                raise ConfigurationError(f"{key}: expected true or false")
        try:
            config = msgspec.convert(values, cls, strict=False)
        except msgspec.ValidationError as error:
            wrong = wrong_field("", error)
            raise ConfigurationError(f"{wrong.path}: {wrong.message}") from None
        if isnan(config.target_ratio):
            raise ConfigurationError("target_ratio: expected a number")
        default = cls()
        numbers = {key: max(getattr(config, key), 0) or getattr(default, key) for key in _NUMBERS}
        if config.enabled and not values.get("strategy"):
            logger.warning(NO_STRATEGY)
        if values.get("strategy", "passthrough") != "passthrough" and "enabled" not in values:
            logger.warning("strategy %s does nothing without `enabled: true`", config.strategy)
        strategy = config.strategy if config.enabled else "passthrough"
        forced = {"relevance": False, "passthrough": config.enable_search_fallback}
        fallback = forced.get(strategy, True)
        return msgspec.structs.replace(
            config, strategy=strategy, enable_search_fallback=fallback, **numbers
        )


def load(path: str | Path, changes: Mapping[str, Any] | None = None) -> DiscoveryConfig:
    """Read a YAML file; `changes` replace values of it, as in `DiscoveryConfig.of`.

    Raises:
        ConfigurationError: it cannot be read, is not YAML, or a value has the wrong type.
    """
    try:
        import yaml
    except ImportError:
        raise ConfigurationError(f"reading YAML needs: {write_install_command('proxy')}") from None
    hint = "; a file of the proxy is YAML, not TOML" if Path(path).suffix == ".toml" else ""
    try:
        document = yaml.safe_load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: {error}") from None
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or "malformed"
        mark = getattr(error, "problem_mark", None)
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ConfigurationError(f"{path}{place}: not valid YAML: {problem}{hint}") from None
    if isinstance(document, str):
        raise ConfigurationError(f"{path}: not a section in YAML, such as enabled: true{hint}")
    return DiscoveryConfig.of(_check_section(document or {}, str(path)), changes)


def _find_section(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the section `pipes.tool_discovery`, empty if the file has only other pipes."""
    if "pipes" in document:
        pipes = _check_section(document["pipes"], "pipes")
        if "tool_discovery" not in pipes:
            for near in get_close_matches("tool_discovery", list(map(str, pipes)), 1, 0.8):
                raise ConfigurationError(f"pipes.{near}: unknown key; did you mean tool_discovery?")
            return {}
        document = pipes
    if "tool_discovery" in document:
        return _check_section(document["tool_discovery"], "tool_discovery")
    return document


def _check_section(value: Any, name: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"{name}: expected a section, got {type(value).__name__}")
    return value


def _read_values(
    section: Mapping[str, Any], kind: type[msgspec.Struct], others: Sequence[str], prefix: str = ""
) -> dict[str, Any]:
    """Return the values of a section that are not empty, which is the default.

    Raises:
        ConfigurationError: a key is neither a field of its kind nor one of the others.
    """
    values = {}
    names = (*kind.__struct_fields__, *others)
    for key, value in section.items():
        if key not in names:
            raise ConfigurationError(f"{prefix}{key}: unknown key{suggest(key, names)}")
        if key not in others:
            filled = _fill(f"{prefix}{key}", value)
            if filled is not None and (filled != "" or key not in _MAY_BE_EMPTY):
                values[key] = filled
    return values


def _fill(key: str, value: Any) -> Any:
    """Fill variables in; one without a value or a default is empty, as in the proxy."""
    if isinstance(value, list):
        return [one for one in (_fill(key, one) for one in value) if one != ""]
    if not isinstance(value, str):
        return value
    for name, default in _VARIABLE.findall(value):
        if name not in os.environ and not default:
            logger.warning("%s: the variable %s is not set", key, name)
    return _VARIABLE.sub(lambda m: os.environ.get(m[1], "") or m[2] or "", value)


def _read_seconds(value: Any, key: str) -> Any:
    """Return a duration of Go in seconds; a number is one. None is negative."""
    if isinstance(value, str) and value and not _DURATION.sub("", value):
        return sum(float(n) * _SECONDS[unit] for n, unit in _DURATION.findall(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ConfigurationError(f"{key}: expected a duration like 2s or 500ms")
    return value if value > 0 else 0
