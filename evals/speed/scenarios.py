"""What is measured, row by row."""

import json
from collections.abc import Iterator, Sequence
from statistics import median
from urllib.parse import quote

from evals.speed import against, client, compiles, scale, servers, traffic
from evals.speed.plan import BUSY, CROWDS, Asked, Plan, alone, in_turn, learn, pool, pooled, row
from evals.speed.questions import LENGTHS
from evals.speed.report import Row


def measure(plan: Plan) -> Iterator[Row]:
    """Run every scenario."""
    yield from against.measure(plan)
    with servers.floor() as floor, servers.toolscout() as ours:
        yield Row("start to ready", note=f"{ours.ready_s:.2f} s, {ours.memory()}")
        for scenario in (_warm, _questions, _crowds, _digest, _rankers, _agents, _classes, _cold):
            yield from scenario(plan, floor, ours)
        yield from compiles.measure(plan, ours)
        yield Row("memory after all this", note=ours.memory())
    if not plan.quick:
        yield from scale.large(plan)


def of_questions(plan: Plan) -> Iterator[Row]:
    """Yield what questions cost over 300 tools, and nothing else."""
    with servers.floor() as floor, servers.toolscout() as ours:
        yield from _questions(plan, floor, ours)


def _warm(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Inline tools, known catalog: the floor and ours in turn."""
    for size in plan.sizes:
        tools = json.dumps(traffic.load(plan.folder, size))
        payloads = plan.never_asked(traffic.inline(tools, [traffic.MARK]))
        learn(ours, tools, size)
        both = [(floor, payloads), (ours, payloads)]
        low, high = in_turn(plan, both, 1, plan.calls(size))
        yield row(f"floor, {size:,} inline", low)
        added = median(h.quantile(0.5) - f.quantile(0.5) for h, f in zip(high, low, strict=True))
        yield row(f"warm hybrid, {size:,} inline", high, f"floor {added:+.2f} ms")


def _questions(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """300 tools, inline and by digest, in turn with the floor, at every length and concurrency."""
    tools = json.dumps(traffic.load(plan.folder, 300))
    inline = traffic.inline(tools, [traffic.MARK])
    digest = learn(ours, tools, 300)
    by_digest = traffic.by_digest(digest, [traffic.MARK])
    three = (floor, ours, ours)
    for words in LENGTHS:
        new = [plan.never_asked(payloads, words) for payloads in (inline, inline, by_digest)]
        yield from _against_floor(plan, list(zip(three, new, strict=True)), f"{words} words")
    asked = traffic.PROSE[: against.ASKED_BEFORE]
    again = [traffic.inline(tools, asked)] * 2 + [traffic.by_digest(digest, asked)]
    yield from _against_floor(plan, list(zip(three, again, strict=True)), "asked before")


def _against_floor(plan: Plan, asked: Sequence[Asked], what: str) -> Iterator[Row]:
    """Yield the floor, inline and by digest, in turn, at every number of connections."""
    names = ("floor", "inline", "by digest")
    for connections in plan.connections:
        runs = in_turn(plan, asked, connections, plan.calls(300))
        for name, found in zip(names, runs, strict=True):
            pairs = zip(found, runs[0], strict=True)
            share = median(one.rate / low.rate for one, low in pairs)
            note = "" if name == "floor" else f"{share:.2f} of the floor"
            yield row(f"{name}, 300, {what}, {connections} at once", found, note)


def _crowds(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Many callers who connect simultaneously."""
    tools = json.dumps(traffic.load(plan.folder, 300))
    payloads = plan.never_asked(traffic.inline(tools, [traffic.MARK]))
    both = [(floor, payloads), (ours, payloads)]
    for callers in CROWDS:
        low, high = in_turn(plan, both, callers, 4 * plan.calls(300))
        pairs = zip(high, low, strict=True)
        times = median(h.quantile(0.99) / f.quantile(0.99) for h, f in pairs)
        yield row(f"floor, 300 inline, {callers} that connect simultaneously", low)
        note = f"p99 × {times:.1f} of the floor's"
        yield row(f"warm hybrid, 300 inline, {callers} that connect simultaneously", high, note)


def _digest(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Yield a known catalog by its digest."""
    for size in plan.sizes:
        tools = json.dumps(traffic.load(plan.folder, size))
        payloads = plan.never_asked(traffic.by_digest(learn(ours, tools, size), [traffic.MARK]))
        yield row(f"by digest, {size:,}", in_turn(plan, [(ours, payloads)], 1, 1_000)[0])
        runs = in_turn(plan, [(ours, payloads)], BUSY, 4_000)[0]
        yield row(f"by digest, {size:,}, {BUSY} connections", runs)


def _rankers(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Every ranker on 300 tools, warm, by digest."""
    digest = learn(ours, json.dumps(traffic.load(plan.folder, 300)), 300)
    for ranker in ("bm25", "semantic", "hybrid", "rrf", "regex"):
        patterns = traffic.REGEX if ranker == "regex" else [traffic.MARK]
        payloads = plan.never_asked(traffic.by_digest(digest, patterns, ranker=ranker))
        yield row(f"{ranker}, 300 by digest", in_turn(plan, [(ours, payloads)], 1, 1_000)[0])


def _agents(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Yield what agents ask beside searches: their tools for a turn, and single tools."""
    tools = traffic.load(plan.folder, 300)
    digest = learn(ours, json.dumps(tools), 300)
    names = [tool["name"] for tool in tools]
    turns = [{"message": p, "catalog": digest, "tier0": names[:3]} for p in traffic.PROSE]
    kinds = {"hot tools": [client.request(traffic.HOT, json.dumps(t).encode()) for t in turns]}
    for detail in ("brief", "full"):
        paths = [f"/v1/catalogs/{digest}/tools/{quote(n, safe='')}?detail={detail}" for n in names]
        kinds[f"one tool in {detail}"] = [
            f"GET {p} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for p in paths
        ]
    for kind, payloads in kinds.items():
        yield row(f"{kind}, 300 by digest", in_turn(plan, [(ours, payloads)], 1, 400)[0])


def _classes(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Every class of query on the largest catalog, by digest."""
    size = plan.sizes[-1]
    tools = traffic.load(plan.folder, size)
    digest = learn(ours, json.dumps(tools), size)
    names = [tool["name"] for tool in tools[:: max(1, size // 200)]]
    kinds = {
        "name": names,
        "prose": [traffic.MARK],
        "typo": traffic.TYPOS,
        "no match": traffic.NONSENSE,
        "regex": traffic.REGEX,
    }
    for kind, patterns in kinds.items():
        sent = traffic.by_digest(digest, patterns)
        payloads = plan.never_asked(sent) if kind == "prose" else traffic.Anew(sent)
        yield row(f"{kind} query, {size:,} by digest", in_turn(plan, [(ours, payloads)], 1, 200)[0])


def _cold(plan: Plan, floor: servers.Running, ours: servers.Running) -> Iterator[Row]:
    """Tools never seen before, every one of them or one of 300."""
    pattern = traffic.PROSE[:1]
    for size in plan.sizes:
        tools = traffic.load(plan.folder, size)
        fields = {"latency_budget_ms": 60_000} if size <= 1_000 else {}
        lists = [traffic.unseen(tools) for _ in range(plan.repeats * (8 if size <= 300 else 1))]
        runs = [alone(ours, traffic.inline(t, pattern, **fields)) for t in lists]
        note = "" if fields else f"within its budget: {_degraded(ours, tools)}"
        yield pooled(f"cold hybrid, {size:,}", runs, note)
    for size in (300, 3_000):
        yield from _changed(plan, ours, size)


def _changed(plan: Plan, ours: servers.Running, size: int) -> Iterator[Row]:
    """Known tools of which one is another with each call."""
    tools = traffic.load(plan.folder, size)
    known, count = json.dumps(tools), plan.repeats * 8
    learn(ours, known, size)
    # A call after a rest is slower than one of many, known tools or not.
    warm = [alone(ours, traffic.inline(known, [p])) for p in traffic.PROSE[:count]]
    lists = [traffic.unseen(tools, changed=1) for _ in range(count)]
    runs = [alone(ours, traffic.inline(t, traffic.PROSE[:1])) for t in lists]
    yield pooled(f"no changed tool of {size:,}, one call after a rest", warm)
    more = pool(runs).quantile(0.5) - pool(warm).quantile(0.5)
    yield pooled(f"one changed tool of {size:,}", runs, f"{more:+.1f} ms")


def _degraded(ours: servers.Running, tools: list[dict[str, object]]) -> str:
    payload = traffic.inline(traffic.unseen(tools), traffic.PROSE[:1])[0]
    return client.call(ours.port, payload)[1]["x-tool-selection"].rpartition("; ")[2]
