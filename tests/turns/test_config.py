"""The proxy's configuration files load as they are."""

from pathlib import Path

import pytest

from toolscout.client import ConfigurationError
from toolscout.turns.config import DiscoveryConfig, load


def read(text: str, folder: Path) -> DiscoveryConfig:
    path = folder / "gateway.yaml"
    path.write_text(text, "utf-8")
    return load(path)


@pytest.mark.parametrize(
    ("strategy", "given", "effective"),
    [
        ("relevance", True, False),
        ("tool-search", False, True),
        ("api", False, True),
        ("passthrough", True, True),
        ("passthrough", False, False),
    ],
)
def test_the_search_fallback_is_forced_as_the_proxy_forces_it(strategy, given, effective):
    section = {"enabled": True, "strategy": strategy, "enable_search_fallback": given}
    assert DiscoveryConfig.of(section).enable_search_fallback is effective


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"stratgy": "api"}, "stratgy: unknown key; did you mean strategy?"),
        ({"surprise": 1}, "surprise: unknown key"),
        ({"api": {"endpont": "x"}}, "api.endpont: unknown key; did you mean endpoint?"),
        ({"compresr": {"time_out": 1}}, "compresr.time_out: unknown key; did you mean timeout?"),
        (
            {"pipes": {"tool_discvery": {}}},
            "pipes.tool_discvery: unknown key; did you mean tool_discovery?",
        ),
        ({True: 1}, "True: unknown key"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest(document, message):
    with pytest.raises(ConfigurationError) as raised:
        DiscoveryConfig.of(document)
    assert str(raised.value) == message


@pytest.mark.parametrize("enabled", [True, False])
def test_an_unknown_strategy_is_an_error_that_names_the_nearest(enabled):
    known = "passthrough, relevance, tool-search, api, hybrid-first"
    expected = f"strategy: expected one of {known}, got"
    with pytest.raises(ConfigurationError, match=f"{expected} 'foo'$"):
        DiscoveryConfig.of({"enabled": enabled, "strategy": "foo"})
    with pytest.raises(ConfigurationError, match=r"did you mean tool-search\?"):
        DiscoveryConfig(enabled=enabled, strategy="tool_search")


@pytest.mark.parametrize(
    ("section", "is_told"),
    [
        ({"enabled": True}, True),
        ({"enabled": True, "strategy": ""}, True),
        ({"enabled": True, "strategy": "passthrough"}, False),
        ({"enabled": True, "strategy": "api"}, False),
        ({"enabled": False}, False),
        ({}, False),
    ],
)
def test_a_file_that_is_enabled_without_a_strategy_says_that_nothing_happens(
    caplog, section, is_told
):
    DiscoveryConfig.of(section)
    assert ("no strategy is set: every request goes out as it came" in caplog.text) == is_told


@pytest.mark.parametrize(
    ("section", "is_told"),
    [
        ({"strategy": "api"}, True),
        ({"strategy": "tool-search"}, True),
        ({"strategy": "api", "enabled": False}, False),
        ({"strategy": "api", "enabled": True}, False),
        ({"strategy": "passthrough"}, False),
        ({}, False),
    ],
)
def test_a_strategy_that_nobody_enabled_is_told_to_do_nothing(
    caplog, section: dict[str, object], is_told: bool
):
    assert DiscoveryConfig.of(section).strategy == (
        "api" if section.get("enabled") else "passthrough"
    )
    assert ("does nothing without `enabled: true`" in caplog.text) is is_told


def test_keys_of_the_proxy_that_mean_nothing_here_are_passed_over():
    config = DiscoveryConfig.of(
        {
            "server": {"port": 18080},
            "pipes": {
                "tool_output": {"enabled": True, "min_bytes": 8192},
                "tool_discovery": {
                    "enabled": True,
                    "strategy": "compresr",
                    "fallback_strategy": "relevance",
                    "token_threshold": 512,
                    "schema_compression": {"enabled": True},
                    "search_result_compression": {"enabled": False},
                    "enable_tool_description_compression": False,
                    "compresr": {"endpoint": "http://x", "model": "m", "query_agnostic": False},
                },
            },
        }
    )
    assert (config.strategy, config.api.endpoint) == ("api", "http://x")
    assert DiscoveryConfig.of({"pipes": {"tool_output": {}}}).strategy == "passthrough"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("500ms", 0.5), ("1m30s", 90.0), ("2s", 2.0), (3, 3.0), (0, 1.5), ("0s", 1.5), (-1, 1.5)],
)
def test_durations_are_the_proxys(text, seconds):
    assert DiscoveryConfig.of({"api": {"timeout": text}}).api.timeout == seconds


def test_variables_have_defaults(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NOWHERE", raising=False)
    config = DiscoveryConfig.of(
        {"api": {"endpoint": "http://${NOWHERE:-127.0.0.1}:8080${NOWHERE}"}}
    )
    assert config.api.endpoint == "http://127.0.0.1:8080"


@pytest.mark.parametrize("number", [0, -1, "0", "-1", "${NUMBER}"])
def test_a_number_that_is_not_above_zero_is_the_default(monkeypatch, number):
    monkeypatch.setenv("NUMBER", "0")
    keys = ("min_tools", "max_tools", "target_ratio", "max_search_results")
    assert DiscoveryConfig.of(dict.fromkeys(keys, number)) == DiscoveryConfig.of({})


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"min_tools": "many"}, "min_tools: expected a whole number, got text"),
        ({"min_tools": 2.5}, "min_tools: expected a whole number"),
        ({"always_keep": "read_file"}, "always_keep: expected a list"),
        ({"api": {"timeout": "soon"}}, "api.timeout: expected a duration"),
        ({"api": "http://x"}, "api: expected a section"),
        ({"enabled": "maybe"}, "enabled: expected true or false"),
        ({"restore_on_no_match": 0}, "restore_on_no_match: expected true or false"),
        ({"rollout": 0}, "rollout: expected text"),
        ({"dispatch": "often"}, "dispatch: "),
        ({"target_ratio": float("nan")}, "target_ratio: expected a number"),
        ({"strategy": ["api"]}, "strategy: expected text"),
        ({"api": {"timeout": ""}}, "api.timeout: expected a duration"),
        ({"min_tools": ""}, "min_tools: expected a whole number"),
    ],
)
def test_a_malformed_value_is_named(section, message):
    with pytest.raises(ConfigurationError, match=message):
        DiscoveryConfig.of({"pipes": {"tool_discovery": section}})


def test_a_file_that_is_no_yaml_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"gateway\.yaml"):
        read("a: [", tmp_path)
