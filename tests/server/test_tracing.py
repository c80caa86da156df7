"""Tracing: spans as a collector receives them, and nothing of it where it is off."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.otlp import Receiver, receiving, values
from tests.server.test_log import line_of
from tests.server.test_overload import one_in_flight
from tests.support import SEARCH, Process, crowd, free_port, running
from toolscout.errors import ConfigurationError
from toolscout.server.service import open_tracing

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@dataclass
class Traced:
    server: Process
    receiver: Receiver

    def span(self, request_id: str) -> Span:
        return self.receiver.span(request_id)


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    with receiving() as receiver:
        variables = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_BSP_SCHEDULE_DELAY": "20",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=plugh",
        }
        folder = tmp_path_factory.mktemp("traced")
        with running(folder, "--tracing", "--mcp", **variables) as server:
            yield Traced(server, receiver)


def test_a_search_is_one_server_span_with_what_was_decided(traced: Traced):
    tools = crowd(40, "sprocket")
    answer = traced.server.search(
        "sprocket 7", tools + tools, top_k=3, headers={"x-request-id": "span-1", "user-agent": "me"}
    )
    span = traced.span("span-1")
    assert span.kind == Span.SPAN_KIND_SERVER
    assert span.name == f"POST {SEARCH}"
    assert span.end_time_unix_nano > span.start_time_unix_nano
    assert span.status.code == Status.STATUS_CODE_UNSET
    assert values(span) == {
        "http.request.method": "POST",
        "http.route": SEARCH,
        "url.path": SEARCH,
        "url.scheme": "http",
        "network.protocol.version": "1.1",
        "http.request.body.size": len(answer.request.content),
        "http.response.status_code": 200,
        "user_agent.original": "me",
        "toolscout.call": "search",
        "toolscout.outcome": "match",
        "toolscout.request_id": "span-1",
        "toolscout.tenant": "anonymous",
        "toolscout.cache": "miss",
        "toolscout.catalog": answer.headers["x-catalog-digest"],
        "toolscout.tools.offered": 80,
        "toolscout.tools.unique": 40,
        "toolscout.tools.selected": 3,
        "toolscout.ranker": "hybrid",
        "toolscout.degraded": "no",
        "gen_ai.operation.name": "retrieval",
        "gen_ai.data_source.id": answer.headers["x-catalog-digest"],
        "gen_ai.retrieval.top_k": 3,
    }


def test_names_of_tools_are_in_a_span_only_where_content_may_be(tmp_path: Path):
    variables = {"OTEL_BSP_SCHEDULE_DELAY": "20"}
    variables["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    with receiving() as receiver:
        variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url
        with running(tmp_path, "--tracing", **variables) as server:
            answer = server.search("forecast", headers={"x-request-id": "named"})
            documents = json.loads(values(receiver.span("named"))["gen_ai.retrieval.documents"])
    assert [document["id"] for document in documents] == answer.json()["selected_names"]
    assert all(document["score"] > 0 for document in documents)


def test_phases_are_events_one_after_another_within_the_span(traced: Traced):
    tools = crowd(5, "cogwheel")
    for number, expected in enumerate(
        (["receive", "decode", "compile", "rank"], ["receive", "decode", "rank"])
    ):
        traced.server.search("cogwheel", tools, headers={"x-request-id": f"phase-{number}"})
        span = traced.span(f"phase-{number}")
        assert [event.name for event in span.events] == expected
        times = [event.time_unix_nano for event in span.events]
        bounds = [span.start_time_unix_nano, *times, span.end_time_unix_nano]
        assert bounds == sorted(bounds)
        assert all(values(event)["toolscout.duration_ms"] >= 0 for event in span.events)


def test_a_caller_that_sends_traceparent_is_the_parent(traced: Traced):
    given = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}
    traced.server.search(headers=given | {"x-request-id": "parent-1"})
    span = traced.span("parent-1")
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    assert span.trace_state == "vendor=1"
    assert line_of(traced.server, "parent-1")["trace_id"] == TRACE


def test_a_caller_that_does_not_sample_is_not_sampled(traced: Traced):
    given = {"traceparent": f"00-{TRACE}-{PARENT}-00", "x-request-id": "unsampled"}
    traced.server.search(headers=given)
    traced.server.search(headers={"x-request-id": "after"})
    traced.span("after")
    spans = [values(span)["toolscout.request_id"] for span in traced.receiver.spans]
    assert "unsampled" not in spans
    assert line_of(traced.server, "unsampled")["trace_id"] == TRACE


def test_a_server_error_is_an_error_of_the_span(tmp_path: Path):
    variables = {"OTEL_BSP_SCHEDULE_DELAY": "20"}
    with receiving() as receiver:
        variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = receiver.url + "/here"
        flags = ["--tracing", "on", "--max-in-flight", "1"]
        with running(tmp_path, *flags, **variables) as server:
            with one_in_flight(server):
                assert server.search(headers={"x-request-id": "shed"}).status_code == 503
            span = receiver.span("shed")
        assert set(receiver.paths) == {"/here"}
    assert span.status.code == Status.STATUS_CODE_ERROR
    assert values(span)["error.type"] == "overloaded"


def test_no_text_of_a_request_leaves_with_a_span(traced: Traced):
    tools = [{"name": "frobtool", "description": "frobtext", "tags": ["frobtag"]}]
    traced.server.search("frobpattern", tools, headers={"authorization": "Bearer frobkey"})
    traced.server.search("frobpattern", tools, session={"id": "frobsession"}, explain=True)
    traced.server.post({"names": ["frobname"], "tools": tools}, "/v1/tool-discovery/resolve")
    traced.server.search(headers={"x-request-id": "texts-end"})
    traced.span("texts-end")
    assert not any(b"frob" in body or b"plugh" in body for body in traced.receiver.bodies)


def test_the_resource_is_the_services_and_the_environments(traced: Traced):
    traced.server.search(headers={"x-request-id": "resource-1"})
    traced.span("resource-1")
    resource = traced.receiver.resource()
    assert resource["service.name"] == "toolscout"
    assert resource["service.version"]
    assert resource["deployment.environment.name"] == "test"
    assert traced.receiver.headers[0]["x-tenant"] == "plugh"
    assert set(traced.receiver.paths) == {"/v1/traces"}


def test_probes_make_no_spans(traced: Traced):
    for path in ("/healthz", "/readyz", "/metrics"):
        traced.server.get(path, **{"x-request-id": "probe"})
    traced.server.search(headers={"x-request-id": "probes-end"})
    traced.span("probes-end")
    names = {span.name for span in traced.receiver.spans}
    assert not any("z" in name.rpartition("/")[2] or "metrics" in name for name in names)


def test_the_last_spans_are_sent_when_the_service_stops(tmp_path: Path):
    with receiving() as receiver:
        with running(tmp_path, "--tracing", OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url) as server:
            server.search(headers={"x-request-id": "last"})
            server.process.terminate()
            assert server.wait() == 0
        assert receiver.span("last")


def test_a_collector_that_is_not_there_fails_no_request(tmp_path: Path):
    nowhere = f"http://127.0.0.1:{free_port()}"
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": nowhere, "OTEL_BSP_SCHEDULE_DELAY": "20"}
    with running(tmp_path, "--tracing", **variables) as server:
        assert all(server.search().status_code == 200 for _ in range(5))
        server.process.terminate()
        assert server.wait() == 0


def test_switched_off_neither_api_nor_sdk_is_imported(tmp_path: Path):
    """Litestar reads the names of attributes where they are installed: constants, no more."""
    with running(tmp_path, PYTHONPROFILEIMPORTTIME="1") as server:
        assert server.search().status_code == 200
        imported = re.findall(r"^import time:.*\| +(\S+)$", server.stderr, re.MULTILINE)
    assert "toolscout.server.endpoint" in imported
    assert "toolscout.server.observe.tracing" not in imported
    working = {f"opentelemetry.{part}" for part in ("trace", "context", "sdk", "exporter")}
    assert working.isdisjoint(imported)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
    ],
)
def test_an_exporter_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
):
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=f"{variable}.*{value}"):
        open_tracing()
