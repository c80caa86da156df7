"""Mistakes of a first hour, and what is said of them."""

import shlex
from importlib import import_module
from pathlib import Path

import httpx2
import pytest

import toolscout
from tests.support import PATIENCE_S, Process
from toolscout import Engine
from toolscout.cli import main
from toolscout.client import InvalidArgument, Selector
from toolscout.discovery import Transport
from toolscout.errors import ConfigurationError, suggest
from toolscout.server.http.auth import Keyring
from toolscout.serving.callers import check_reachable


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("search open a ticket", 'quote the question: "open a ticket"'),
        ("search ticket --top-k 3 open", 'quote the question: "ticket open"'),
        ("serve --workers 4", "docs/scale.md says how several processes serve"),
        ("serve -p 8081", "did you mean --port?"),
        ("serve 8081", "did you mean --port 8081?"),
        ("search x -k 3", "did you mean --top-k?"),
        ("search open tools.json", "did you mean --tools tools.json?"),
        ("search x --tools https://tools.example/a.json", "curl -o tools.json https://tools.ex"),
        ("lint --tools http://tools.example", "--tools takes a file: curl -o tools.json http://t"),
        ("serve --host 127.0.0.1:8081", "an address without a port; add --port 8081"),
        ("serve --host http://127.0.0.1", "an address alone, such as 127.0.0.1"),
        ("serve --host 127.0.0.1/", "an address alone, such as 127.0.0.1"),
        ("serve --host localhost:80a", "an address without a port; add --port 80a"),
        ("serve --host local..host", "there is no such address"),
        ("serve --host 0.0.0.0", "or pass --insecure if you want that"),
    ],
)
def test_a_command_says_what_to_write_instead(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
):
    try:
        status: object = main(shlex.split(command))
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("host", ["::1", "fe80::1", "2001:db8::8080", "localhost", "127.0.0.1"])
def test_an_address_is_not_taken_for_one_with_a_port(host: str):
    check_reachable(host, "KEY", has_key=True, insecure=False)


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost:8080", "[::1]:80", "0.0.0.0:1"])
def test_a_port_in_a_host_is_refused_with_or_without_a_key(host: str):
    for has_key in (True, False):
        with pytest.raises(ConfigurationError, match="add --port"):
            check_reachable(host, "KEY", has_key=has_key, insecure=True)


@pytest.mark.parametrize(
    ("written", "valid", "meant"),
    [
        ("--prot", ["--port", "--host"], "--port"),
        ("--workers", ["--ranker", "--host"], None),
        ("Ranker", ["ranker"], "ranker"),
        ("tok_p", ["top_p", "port"], "top_p"),
        ("", ["port"], None),
        (5, ["5"], None),
    ],
)
def test_a_name_that_begins_otherwise_means_something_else(
    written: object, valid: list[str], meant: str | None
):
    assert suggest(written, valid) == (f"; did you mean {meant}?" if meant else "")


def test_a_file_of_the_proxy_that_is_toml_is_told_to_be_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "proxy.toml"
    file.write_text("[pipes]\nstrategy = 'api'\n", "utf-8")
    assert main(["proxy", "--config", str(file), "--upstream", "http://127.0.0.1:9"]) == 2
    said = capsys.readouterr().err
    assert f"{file}:2:1: not valid YAML" in said
    assert "a file of the proxy is YAML, not TOML" in said
    file.write_text("strategy = 'api'\nenabled = true\n", "utf-8")
    assert main(["proxy", "--config", str(file), "--upstream", "http://127.0.0.1:9"]) == 2
    assert "a file of the proxy is YAML, not TOML" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("Selector", "client"),
        ("AsyncSelector", "client"),
        ("Transport", "discovery"),
        ("AsyncTransport", "discovery"),
    ],
)
def test_an_import_from_the_package_says_where_a_class_is(name: str, module: str):
    with pytest.raises(ImportError, match=f"from toolscout.{module} import {name}"):
        getattr(toolscout, name)
    assert hasattr(import_module(f"toolscout.{module}"), name)


def test_the_engine_says_what_an_option_and_a_result_are_called():
    engine = Engine([{"name": "read_file"}])
    with pytest.raises(TypeError, match="k: is no argument of search; did you mean top_k"):
        engine.search("read", k=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"use its \.names"):
        list(engine.search("read"))


def test_the_messages_of_a_conversation_are_a_pattern(server: Process):
    messages = [
        {"role": "user", "content": "send an e-mail"},
        {"role": "assistant", "content": "to whom?"},
        {"role": "user", "content": [{"type": "text", "text": "weather"}]},
    ]
    tools = [{"name": name} for name in ("send_email", "weather", "read_file")]
    with Selector(server.url, timeout=PATIENCE_S) as selector:
        assert selector.select(messages, tools, top_k=1).names == ["weather"]
        assert selector.select(messages[1:2], tools, top_k=1).reason == "empty_query"


def test_swapped_arguments_of_a_selection_are_refused():
    with Selector(None) as selector, pytest.raises(InvalidArgument, match="are swapped"):
        selector.select([{"name": "read_file"}], "read a file")


@pytest.mark.parametrize(("name", "meant"), [("k", "top_k"), ("query", "pattern"), ("x", "")])
def test_an_argument_of_another_library_names_ours(name: str, meant: str):
    expected = f"{name}: is no argument of Selector{f'; did you mean {meant}' if meant else ''}"
    with Selector(None) as selector, pytest.raises(InvalidArgument, match=expected):
        selector.select("read a file", [], **{name: 1})  # type: ignore[arg-type]


def test_a_selection_says_what_to_iterate_over():
    with Selector(None) as selector:
        selection = selector.select("read a file", [{"name": "read_file"}])
    assert selection  # is no empty list either
    with pytest.raises(TypeError, match=r"use its \.names or its \.tools"):
        list(selection)


def test_a_key_with_a_blank_is_refused():
    with pytest.raises(ConfigurationError, match="key 2 has a blank in it"):
        Keyring(f"acme={'k' * 32}, zenith={'k' * 16} {'k' * 16}")


def test_a_file_of_the_service_that_is_yaml_is_told_to_be_toml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "toolscout.yaml"
    file.write_text("port: 8081\n", "utf-8")
    assert main(["check-config", "--config", str(file)]) == 2
    assert f"{file}: not valid TOML, such as port = 8080" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("sqlite:{}/file/state.db", "file/state.db: "),
        ("redis://127.0.0.1:9/0", "redis at 127.0.0.1:9: "),
    ],
)
def test_a_store_that_cannot_be_used_is_a_warning_with_its_consequence(
    store: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "file").write_text("no folder", "utf-8")
    assert main(["check-config", "--store", store.format(tmp_path)]) == 0
    warned = capsys.readouterr().err
    assert "warning: store: " in warned
    assert said in warned
    assert "searches go on; registering, sessions and reports are refused until" in warned


def test_a_check_tells_of_a_folder_that_would_be_made_and_makes_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "a" / "b"
    assert main(["check-config", "--store", f"sqlite:{folder}/state.db"]) == 0
    assert f"store: the folder {folder} will be made" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_transport_in_a_client_of_another_library_names_both():
    class Request:
        __module__ = "httpx._models"

    transport = Transport("http://127.0.0.1:9")
    with pytest.raises(TypeError, match=r"works in httpx2\.Client; this is httpx\.C"):
        transport.handle_request(Request())  # type: ignore[arg-type]
    transport.close()
    assert isinstance(transport, httpx2.BaseTransport)
