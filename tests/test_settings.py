"""Settings: one table; flag before environment before secret file before TOML before default."""

from pathlib import Path

import pytest

from toolscout.errors import ConfigurationError
from toolscout.settings import SETTINGS, Setting, Settings
from toolscout.settings_sources import load

NUMBERS = [setting for setting in SETTINGS if setting.kind in (int, float)]


def toml(folder: Path, text: str) -> Path:
    path = folder / "toolscout.toml"
    path.write_text(text, "utf-8")
    return path


def test_no_secret_is_in_what_a_log_may_repeat():
    settings = Settings(api_keys="acme=" + "S" * 32, store="redis://:PASSWORD@db")
    assert "SSS" not in repr(settings)
    assert "PASSWORD" not in repr(settings)


def test_defaults_of_the_contract():
    settings = load(environ={})
    assert settings.host == "127.0.0.1"
    assert settings.ranker == "auto"
    assert settings.no_match == "empty"
    assert settings.latency_budget_ms == 150
    assert settings.max_body_bytes == 16 * 1024 * 1024
    assert settings.max_tools == 10_000
    assert settings.drain_s == 5
    assert settings.shutdown_s == 10
    assert settings.log == "hashed"
    assert settings.api_keys is None


def test_connections_are_kept_longer_than_callers_keep_them():
    assert load(environ={}).keep_alive_s > 90


def test_every_source_goes_before_the_next(tmp_path: Path):
    config = toml(tmp_path, "max_tools = 4")
    secret = tmp_path / "value"
    secret.write_text(" 3\n", "utf-8")
    environ: dict[str, str] = {}
    flags: dict[str, str] = {}

    def now() -> tuple[int, str]:
        settings = load(flags, environ, config)
        return settings.max_tools, settings.origins["max_tools"].split()[0]

    assert load({}, {}, None).origins["max_tools"] == "default"
    assert now() == (4, "file")
    environ["TOOLSCOUT_MAX_TOOLS_FILE"] = str(secret)
    assert now() == (3, "file")
    environ["TOOLSCOUT_MAX_TOOLS"] = "2"
    assert now() == (2, "environment")
    flags["max_tools"] = "1"
    assert now() == (1, "flag")


def test_the_settings_file_may_be_named_by_the_environment(tmp_path: Path):
    config = toml(tmp_path, 'ranker = "bm25"\ninsecure = true\ndrain_s = 0.5')
    settings = load(environ={"TOOLSCOUT_CONFIG": str(config)})
    assert (settings.ranker, settings.insecure, settings.drain_s) == ("bm25", True, 0.5)


def test_a_flag_that_was_not_given_counts_as_absent():
    assert load({"max_tools": None}, {"TOOLSCOUT_MAX_TOOLS": "7"}).max_tools == 7


@pytest.mark.parametrize(
    ("variable", "meant"),
    [("TOOLSCOUT_MAX_TOOL", "TOOLSCOUT_MAX_TOOLS"), ("TOOLSCOUT_RANKERS", "TOOLSCOUT_RANKER")],
)
def test_unknown_variables_are_refused_with_a_hint(variable: str, meant: str):
    with pytest.raises(ConfigurationError, match=f"{variable}.*did you mean {meant}"):
        load(environ={variable: "1"})


def test_variables_of_others_are_no_business_of_ours():
    assert load(environ={"PATH": "/bin", "MY_TOOLSCOUT_X": "1"}).port == 8080


def test_variables_of_clients_and_of_the_gateway_are_left_alone():
    theirs = ["ENDPOINT", "ROLLOUT", "DEFER_ABOVE", "LEARN", "API_KEY", "MCP_KEY", "IMAGE"]
    theirs += ["ALWAYS_KEEP", "TOP_K"]
    environ = {f"TOOLSCOUT_{name}": "x" for name in theirs}
    assert load(environ={**environ, "TOOLSCOUT_API_KEYS": "k" * 40}).port == 8080


def test_the_key_of_a_caller_never_stands_for_that_of_the_service(tmp_path: Path):
    environ = {"TOOLSCOUT_API_KEY": "k" * 40}
    with pytest.raises(ConfigurationError, match="the service reads its own from TOOLSCOUT_API_KE"):
        load(environ=environ)
    assert load(environ=environ, config=toml(tmp_path, f'api_keys = "{"s" * 40}"')).api_keys


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.name)
def test_numbers_have_bounds(setting: Setting):
    assert setting.low is not None
    assert setting.high is not None
    for bound in (setting.low, setting.high):
        assert load(environ={setting.env: str(bound)}).values[setting.name] == bound
    for beyond in (setting.low - 1, setting.high + 1, "inf", "-inf", "nan", "", "many", "1e9999"):
        with pytest.raises(ConfigurationError, match=setting.name):
            load(environ={setting.env: str(beyond)})


@pytest.mark.parametrize("value", ["1.5", "true", '"1.5"', "[1]", "{}"])
def test_whole_numbers_are_whole(tmp_path: Path, value: str):
    with pytest.raises(ConfigurationError, match="max_tools"):
        load(environ={}, config=toml(tmp_path, f"max_tools = {value}"))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("no_match_below", ".2", 0.2),
        ("no_match_below", "1", 1.0),
        ("port", " 8080\n", 8080),
        ("port", "+8080", 8080),
    ],
)
def test_numbers_may_be_written_as_python_takes_them(name: str, text: str, value: float):
    assert getattr(load({name: text}, {}), name) == value


@pytest.mark.parametrize("text", ["8080.0", "8e3", "nan", ""])
def test_what_is_no_whole_number_is_refused(text: str):
    with pytest.raises(ConfigurationError, match="a whole number"):
        load({"port": text}, {})


@pytest.mark.parametrize("value", ["[1]", "{}"])
def test_texts_are_texts(tmp_path: Path, value: str):
    with pytest.raises(ConfigurationError, match="host"):
        load(environ={}, config=toml(tmp_path, f"host = {value}"))


@pytest.mark.parametrize("setting", [s for s in SETTINGS if s.choices], ids=lambda s: s.name)
def test_choices_are_listed_when_missed(setting: Setting):
    with pytest.raises(ConfigurationError) as refused:
        load(environ={setting.env: "other"})
    assert all(choice in refused.value.detail for choice in setting.choices)
    for choice in setting.choices:
        assert load(environ={setting.env: choice}).values[setting.name] == choice


def test_yes_and_no_have_several_words():
    for word in ("on", "true", "yes", "1", "ON", "True"):
        assert load(environ={"TOOLSCOUT_INSECURE": word}).insecure is True
    for word in ("off", "false", "no", "0", "OFF"):
        assert load(environ={"TOOLSCOUT_INSECURE": word}).insecure is False
    for word in ("", "maybe", "2", "onn"):
        with pytest.raises(ConfigurationError, match="on or off"):
            load(environ={"TOOLSCOUT_INSECURE": word})


@pytest.mark.parametrize("text", ["port = ", "= 5", "port: 5", "\x00"])
def test_files_that_are_no_toml_are_refused(tmp_path: Path, text: str):
    path = toml(tmp_path, text)
    with pytest.raises(ConfigurationError, match=r"toolscout\.toml"):
        load(environ={}, config=path)


def test_files_that_cannot_be_read_are_named(tmp_path: Path):
    missing = tmp_path / "nowhere"
    with pytest.raises(ConfigurationError, match="nowhere"):
        load(environ={}, config=missing)
    with pytest.raises(ConfigurationError, match="TOOLSCOUT_API_KEYS_FILE"):
        load(environ={"TOOLSCOUT_API_KEYS_FILE": str(missing)})


def test_errors_say_where_the_value_stood(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="TOOLSCOUT_PORT"):
        load(environ={"TOOLSCOUT_PORT": "x"})
    with pytest.raises(ConfigurationError, match="--port"):
        load({"port": "x"}, {})
    with pytest.raises(ConfigurationError, match=r"toolscout\.toml"):
        load(environ={}, config=toml(tmp_path, 'port = "x"'))


@pytest.mark.parametrize("variable", ["TOOLSCOUT_DATA", "TOOLSCOUT_OPENAPI"])
def test_variables_of_tests_and_evaluations_are_no_unknown_settings(monkeypatch, variable: str):
    monkeypatch.setenv(variable, "somewhere")
    load()
