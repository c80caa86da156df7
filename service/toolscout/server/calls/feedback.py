"""Take feedback, and show what was learned.

Both are refused while learning is off, so that no feedback is silently lost.
"""

from hashlib import sha256
from time import perf_counter
from urllib.parse import parse_qsl

import msgspec

from toolscout.contract.bounds import MAX_PATTERN_CHARS
from toolscout.contract.learning import (
    ChainReport,
    FeedbackAnswer,
    FeedbackBatch,
    FeedbackEvent,
    InsightAnswer,
    LearnedTool,
    LearningAnswer,
)
from toolscout.contract.tools import ToolDetail
from toolscout.errors import FieldError, InvalidRequest
from toolscout.index.catalog import Catalog
from toolscout.learning.experience import Key, Observation, ToolExperience, Use
from toolscout.learning.learner import Learner
from toolscout.server.calls.envelope import Decoder, decode, decode_checked
from toolscout.server.http.answer import Answer, answer_json
from toolscout.server.http.problems import Refused, blank, invalid
from toolscout.server.http.request import Request
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

SHOWN = 1_000
"""Maximum number of tools listed."""

_one = Decoder(FeedbackEvent)
_chain = Decoder(ChainReport)
_many = Decoder(FeedbackBatch)
_NULL = msgspec.Raw(b"null")


class _Kind(msgspec.Struct):
    """The field that distinguishes several events from one."""

    events: msgspec.Raw = _NULL


_peek = Decoder(_Kind)


async def feedback(service: Service, request: Request, trace: Trace) -> Answer:
    """Store one event, or several as `events`.

    Raises:
        Refused: learning is off, the request is at fault, or the store did not take it.
        InvalidRequest: an event has neither a pattern nor a turn.
        EmptyPattern: a pattern is blank.
    """
    learner = _learner(service)
    body = await request.json_body(service.settings)
    arrived = perf_counter()
    batch = decode(body, _peek).events != _NULL
    events = decode_checked(body, _many).events if batch else (decode_checked(body, _one),)
    trace.phases["decode"] = perf_counter() - arrived
    for number, event in enumerate(events):
        path = f"events[{number}].pattern" if batch else "pattern"
        if event.pattern is None:
            if not event.turn:
                raise invalid(path, "is required, unless turn is given")
        elif not event.pattern.strip():
            raise blank(path)
    observed = [
        Observation(
            pattern=event.pattern or "",
            tool=event.tool,
            success=event.success,
            duration_ms=event.duration_ms,
            catalog=event.catalog or "",
            turn=event.turn or "",
            subjects=_subjects(trace.tenant, session=event.session, source=event.source),
        )
        for event in events
    ]
    counted = await learner.record(trace.tenant, observed, trace.key, trace.space)
    trace.reports = events
    for seen in counted:
        service.metrics.feedback.labels("yes" if seen.success else "no").inc()
    return answer_json(FeedbackAnswer(len(counted)), status=202)


async def report_chain(service: Service, request: Request, trace: Trace) -> Answer:
    """Store one chain of tools.

    Raises:
        Refused: learning is off, the request is at fault, or the store did not take it.
        EmptyPattern: the intent is blank.
    """
    learner = _learner(service)
    _need_all_tools(trace)
    body = await request.json_body(service.settings)
    report = decode_checked(body, _chain)
    if not report.intent.strip():
        raise blank("intent")
    seen = Observation(
        pattern=report.intent,
        tool="",
        success=report.success,
        chain=report.chain,
        turn=report.turn or "",
        subjects=_subjects(trace.tenant, session=report.session, source=report.source),
    )
    counted = await learner.record(trace.tenant, [seen], trace.key, trace.space)
    return answer_json(FeedbackAnswer(len(counted)), status=202)


def _need_all_tools(trace: Trace) -> None:
    if trace.space != trace.tenant:
        raise Refused("forbidden", "this key sees a part of the tools, and a chain may name others")


async def show_insight(service: Service, request: Request, trace: Trace) -> Answer:
    """Return the chain that fits `pattern` of the query string.

    Raises:
        Refused: learning is off.
        EmptyPattern: there is no pattern.
    """
    _need_all_tools(trace)
    learner = _learner(service)
    pattern = request.arguments().get("pattern", "")[:MAX_PATTERN_CHARS]
    if not pattern.strip():
        raise blank("pattern")
    await learner.prepare(pattern)
    known = learner.insight(trace.tenant, pattern)
    answer = InsightAnswer([], 0.0, 0)
    if known is not None:
        steps = ", then ".join(f"`{name}`" for name in known.chain)
        worked = f"{known.successes} of {known.evidence} times"
        is_shown = all(map(str.isprintable, known.chain))
        sentence = f"For requests like this, {steps} worked {worked}." if is_shown else ""
        answer = InsightAnswer(list(known.chain), known.confidence, known.evidence, sentence)
    return answer_json(answer)


async def show_learning(service: Service, request: Request, trace: Trace) -> Answer:
    """Summarise the tenant's feedback.

    Raises:
        Refused: learning is off.
    """
    experience = _learner(service).experience(trace.tenant)
    by_use = sorted(experience, key=lambda item: (-item[1].successes - item[1].failures, item[0]))
    tools = [_described(key, tool) for key, tool in by_use[:SHOWN]]
    return answer_json(LearningAnswer(experience.observations, tools))


async def forget(service: Service, request: Request, trace: Trace) -> Answer:
    """Delete the tenant's feedback, or that of a `session` and a `source`, and what it taught.

    Raises:
        Refused: learning is off, or the query string has something else.
        StoreUnavailable: some or all may remain.
    """
    learner, given = _learner(service), request.arguments()
    pairs = parse_qsl(request.query.decode("latin-1"), keep_blank_values=True)
    if request.has_body or len(pairs) > len(given):
        detail = "name one session or one source in the query string, and send no body"
        raise InvalidRequest(detail, (FieldError("", detail),))
    for name, value in given.items():
        if name not in ("session", "source"):  # else a typing error would delete everything
            raise invalid(name, "is unknown; expected session or source")
        if not value:
            raise blank(name)
    if not given:
        await learner.reset(trace.tenant)
    elif not await learner.forget(trace.tenant, _subjects(trace.tenant, **given)):
        raise Refused("not_found", "no report names it; write a plus sign as %2B")
    return Answer(status=204)


def _subjects(tenant: str, **names: str | None) -> tuple[str, ...]:
    """Return the digests of what a report is about, by which it can be deleted."""
    return tuple(
        sha256(f"{tenant}\n{kind}\n{name}".encode()).hexdigest()[:16]
        for kind, name in names.items()
        if name
    )


def with_use(service: Service, tenant: str, catalog: Catalog, shown: ToolDetail) -> ToolDetail:
    """Add the statistics of a tool's reported calls, if there are any."""
    learner = service.learner
    use = None if learner is None else learner.use(tenant, catalog, catalog.rows[shown.name])
    if use is None:
        return shown
    return msgspec.structs.replace(
        shown,
        uses=use.successes + use.failures,
        success_rate=use.success_rate,
        typical_duration_ms=use.typical_duration_ms,
    )


def _learner(service: Service) -> Learner:
    if service.learner is None:
        raise Refused("not_found", "learning is off; remove learning_days = 0 from the settings")
    return service.learner


def _described(key: Key, tool: ToolExperience) -> LearnedTool:
    name, content = key
    use = Use(tool.successes, tool.failures, tool.duration_ms)
    return LearnedTool(
        name=name,
        successes=tool.successes,
        failures=tool.failures,
        success_rate=use.success_rate,
        patterns=len(tool.slots),
        typical_duration_ms=use.typical_duration_ms,
        content=content or None,
    )
