"""Take feedback, and show what was learned.

Both are refused while learning is off, so that no feedback is silently lost.
"""

from hashlib import sha256
from time import perf_counter
from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
from litestar import delete, get, post
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import JSONBody, QueryParameter
from msgspec.structs import replace

from toolscout.contract import learning as contract
from toolscout.contract.tools import ToolDetail
from toolscout.errors import FieldError, InvalidRequest
from toolscout.experience.reported import Key, Observation, ToolExperience
from toolscout.index.catalog import Catalog
from toolscout.server.calls.decoding import decode, decode_checked, decoder_of
from toolscout.server.calls.typed import NOT_BLANK, BodyDecoder, TypedRequest
from toolscout.server.context import context_of
from toolscout.server.http.problems import Refused, refuse_blank, refuse_field
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service
from toolscout.text.passages import find_asking_part

SHOWN = 1_000
"""Maximum number of tools listed."""

_NULL = msgspec.Raw(b"null")


class _Kind(msgspec.Struct):
    """The field that distinguishes several events from one."""

    events: msgspec.Raw = _NULL


async def require_learning(
    connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler
) -> None:
    """Refuse calls about learning while it is off.

    Raises:
        Refused: it is off.
    """
    if context_of(connection.scope).service.learner is None:
        raise Refused("not_found", "learning is off; remove learning_days = 0 from the settings")


async def require_all_tools(
    connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler
) -> None:
    """Refuse a chain to who may not see all of its tools.

    Raises:
        Refused: the key sees a part of the tools.
    """
    trace = context_of(connection.scope).trace
    if trace.space != trace.tenant:
        detail = "this key sees a part of the tools, and a chain may name others"
        raise Refused("forbidden", detail)


class ReportDecoder(BodyDecoder):
    """Decodes one event, or several as `events`."""

    def decode_bytes(self, value: bytes) -> Any:
        """Decode a report.

        Raises:
            Refused, InvalidRequest: it is none, or a field is misspelt.
        """
        is_one = decode(value, decoder_of(_Kind)).events == _NULL
        shape = contract.FeedbackEvent if is_one else contract.FeedbackBatch
        return decode_checked(value, shape)


@post("/feedback", call="feedback", scope="feedback", status_code=202, dto=ReportDecoder)
async def feedback(
    request: TypedRequest, data: JSONBody[contract.FeedbackEvent | contract.FeedbackBatch]
) -> contract.FeedbackAnswer:
    """Tell which tool worked.

    Answers 404 with `learning_days = 0`. One event, or several as `events`.
    """
    service = request.service
    trace = request.trace
    batch = isinstance(data, contract.FeedbackBatch)
    trace.phases["decode"] = perf_counter() - request.head.arrived
    events = data.events if isinstance(data, contract.FeedbackBatch) else (data,)
    for number, event in enumerate(events):
        path = f"events[{number}].pattern" if batch else "pattern"
        if event.pattern is None:
            if not event.turn:
                raise refuse_field(path, "is required, unless turn is given")
        elif not event.pattern.strip():
            raise refuse_blank(path)
    observed = [
        replace(
            _make_observation(trace, event, event.pattern or ""),
            tool=event.tool,
            duration_ms=event.duration_ms,
            catalog=event.catalog or "",
        )
        for event in events
    ]
    counted = await request.learner.record(trace.tenant, observed, trace.key, trace.space)
    trace.reports = events
    for seen in counted:
        service.metrics.feedback.labels("yes" if seen.success else "no").inc()
    return contract.FeedbackAnswer(len(counted))


@post("/chains", call="chains", scope="feedback", status_code=202, guards=[require_all_tools])
async def chains(
    request: TypedRequest, data: JSONBody[contract.ChainReport]
) -> contract.FeedbackAnswer:
    """Tell which tools worked one after the other.

    Answers 404 with `learning_days = 0`.
    """
    trace = request.trace
    if not data.intent.strip():
        raise refuse_blank("intent")
    seen = replace(_make_observation(trace, data, data.intent), chain=data.chain)
    counted = await request.learner.record(trace.tenant, [seen], trace.key, trace.space)
    return contract.FeedbackAnswer(len(counted))


@get("/insights", call="insights", guards=[require_all_tools])
async def insights(
    request: TypedRequest,
    pattern: Annotated[
        str, QueryParameter(description="What is to be done", schema_extra={"pattern": NOT_BLANK})
    ] = "",
) -> contract.InsightAnswer:
    """Return the chain of tools for a pattern.

    Answers 404 with `learning_days = 0`.
    """
    learner = request.learner
    pattern = find_asking_part(pattern)
    if not pattern.strip():
        raise refuse_blank("pattern")
    await learner.prepare(pattern)
    insight = learner.find_insight(request.trace.tenant, pattern)
    if insight is None:
        return contract.InsightAnswer([], 0.0, 0)
    names = list(insight.chain.names)
    steps = ", then ".join(f"`{name}`" for name in names)
    worked = f"{insight.successes} of {insight.evidence} times"
    is_shown = all(map(str.isprintable, names))
    sentence = f"For requests like this, {steps} worked {worked}." if is_shown else ""
    return contract.InsightAnswer(names, insight.chain.confidence, insight.evidence, sentence)


def _describe_parameter(subject: str) -> QueryParameter:
    about = f"Only reports that name this {subject}"
    return QueryParameter(description=about, schema_extra={"minLength": 1})


@get("/", call="learning", scope="admin")
async def learning(request: TypedRequest) -> contract.LearningAnswer:
    """Return what was learned.

    Answers 404 with `learning_days = 0`.
    """
    learner = request.learner
    tenant = request.trace.tenant
    experience = learner.experience(tenant)
    by_use = sorted(experience, key=lambda item: (-item[1].successes - item[1].failures, item[0]))
    tools = [_describe(key, tool) for key, tool in by_use[:SHOWN]]
    return contract.LearningAnswer(experience.observations, tools)


@delete("/", call="learning", scope="admin")
async def forget(
    request: TypedRequest,
    session: Annotated[str | None, _describe_parameter("session")] = None,
    source: Annotated[str | None, _describe_parameter("source")] = None,
) -> None:
    """Forget what was learned.

    Answers 404 with `learning_days = 0`. Everything, or the reports of a session, of a source, or
    of both together; 404 where no report names it.
    """
    learner = request.learner
    tenant = request.trace.tenant
    pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
    if request.head.has_body or len(pairs) > len(dict(pairs)):
        detail = "name one session or one source in the query string, and send no body"
        raise InvalidRequest(detail, (FieldError("", detail),))
    for name, value in pairs:
        if name not in ("session", "source"):  # else a typing error would delete everything
            raise refuse_field(name, "is unknown; expected session or source")
        if not value:
            raise refuse_blank(name)
    if not pairs:
        await learner.reset(tenant)
    elif not await learner.forget(tenant, _hash_subjects(tenant, session=session, source=source)):
        raise Refused("not_found", "no report names it; write a plus sign as %2B")


def _make_observation(
    trace: Trace, report: contract.FeedbackEvent | contract.ChainReport, pattern: str
) -> Observation:
    """Return what is observed by any report, without a tool or a chain."""
    subjects = _hash_subjects(trace.tenant, session=report.session, source=report.source)
    return Observation(pattern, "", report.success, turn=report.turn or "", subjects=subjects)


def _hash_subjects(tenant: str, **names: str | None) -> tuple[str, ...]:
    """Return the digests of what a report is about, by which it can be deleted."""
    return tuple(
        sha256(f"{tenant}\n{kind}\n{name}".encode()).hexdigest()[:16]
        for kind, name in names.items()
        if name
    )


def add_use(service: Service, tenant: str, catalog: Catalog, shown: ToolDetail) -> ToolDetail:
    """Add the statistics of a tool's reported calls, if there are any."""
    learner = service.learner
    use = None if learner is None else learner.use(tenant, catalog, catalog.rows[shown.name])
    if use is None:
        return shown
    return replace(
        shown,
        uses=use.successes + use.failures,
        success_rate=use.success_rate,
        typical_duration_ms=use.typical_duration_ms,
    )


def _describe(key: Key, tool: ToolExperience) -> contract.LearnedTool:
    name, content = key
    return contract.LearnedTool(
        name=name,
        successes=tool.successes,
        failures=tool.failures,
        success_rate=tool.success_rate,
        patterns=len(tool.slots),
        typical_duration_ms=tool.typical_duration_ms,
        content=content or None,
    )
