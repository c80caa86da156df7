"""Many tools: large lists, many lists, and catalogs that PostgreSQL keeps; a process for each."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import cycle, islice
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import httpx2

from evals.speed import client, servers, traffic
from evals.speed.plan import Plan, beside, in_turn, learn, row, settle
from evals.speed.questions import Questions
from evals.speed.report import Row
from toolscout.commands.registering import write_each

CACHE = ("--cache-bytes", str(1 << 30))
ROOM = ("--max-tools", "200000", "--max-body-bytes", str(128 << 20), *CACHE)
CALLS = 60
SEED = 7

LARGE = (50_000, 100_000)
SHAPES = ((100, 100), (34, 300), (10, 1_000), (4, 3_000), (1, 10_000), (1, 100_000))
"""How many lists of how many tools have their memory measured."""

LISTS, AGAIN = 1_000, 40
"""Lists that are sent once, and of them again: the first ones, which were dropped."""

CONNECTIONS = (1, 4)
WARM, SEARCHES, COMPARED = 1_000, 200, 300
"""Questions before anything is measured, of each run, and whose first five tools are compared."""

MOST_HELD = 100_000
"""Catalogs with more tools are not held by one process."""

Tools = list[dict[str, Any]]


def large(plan: Plan) -> Iterator[Row]:
    """Yield what large lists take, searches of them, and of 300 tools meanwhile."""
    real = traffic.load(plan.folder, traffic.SIZES[-1])
    small = json.dumps(traffic.load(plan.folder, 300))
    for size in LARGE:
        with servers.toolscout(*ROOM) as ours:
            searches = traffic.by_digest(learn(ours, small, 300), traffic.PROSE)
            digest, (_, grown, _) = _added(ours, [combined(real, size)])
            others = traffic.by_digest(digest, traffic.PROSE, latency_budget_ms=1_000)
            note = f"{grown:.0f} MiB more than without it, peak {ours.memory_mib()[1]:.0f}"
            yield row(f"by digest, {size:,}", in_turn(plan, [(ours, others)], 1, CALLS)[0], note)
            alone = in_turn(plan, [(ours, searches)], 1, 20 * CALLS)[0]
            yield row("by digest, 300, nothing else", alone)
            runs = [beside(ours, searches, others, CALLS) for _ in range(plan.repeats)]
            yield row(f"by digest, 300, while {size:,} are searched", runs)


def many(plan: Plan) -> Iterator[Row]:
    """Yield lists sent once and again, and what a tool takes in lists of each size."""
    yield from _again(plan)
    for lists, size in SHAPES[: 2 if plan.quick else None]:
        tools = enumerate(cycle(traffic.load(plan.folder, traffic.SIZES[-1])))
        named = ({**one, "name": f"{one['name']}_{n // size}_{n % size}"} for n, one in tools)
        with servers.toolscout(*ROOM) as ours:
            _added(ours, [traffic.load(plan.folder, 300)])
            _, grown = _added(ours, (list(islice(named, size)) for _ in range(lists)))
        kilobytes = [f"{mib * 1_048.576 / (lists * size):.1f}" for mib in grown]
        note = "KB a tool: {} in the cache, {} in the process, {} with its worker"
        yield Row(f"{lists} × {size:,} tools", note=note.format(*kilobytes))


def external(plan: Plan, database: str, sizes: Sequence[int]) -> Iterator[Row]:
    """Yield writing and searching of each size; what the database has already is kept there.

    The catalogs `bench-SIZE` stay in the database, for the release that wrote them.
    """
    os.environ["TOOLSCOUT_STORE"] = database  # it may have a password, which no flag takes
    real = traffic.load(plan.folder, traffic.SIZES[-1])
    for size in sizes:
        name, tools = f"bench-{size}", combined(real, size)
        with servers.toolscout() as ours:
            yield from _written(ours, name, tools)
        with ExitStack() as stack:
            start = stack.enter_context
            services = {}
            if size <= MOST_HELD:
                services["in one process"] = start(servers.toolscout("--store", "memory", *ROOM))
                yield _registered(services["in one process"], name, tools)
            services["in PostgreSQL"] = start(servers.toolscout())
            services["the same, cache_bytes 1 GiB"] = start(servers.toolscout(*CACHE))
            yield from _searched(plan, services, name, size)


def combined(tools: Tools, count: int) -> Tools:
    """Return tools made of real ones: names and texts of two, the schema of a third."""
    chance = Random(SEED)
    made: dict[str, dict[str, Any]] = {}
    while len(made) < count:
        one, other, third = chance.choice(tools), chance.choice(tools), chance.choice(tools)
        name = f"{one['name'][:40]}_{other['name'][:40]}"
        begin, end = one["description"], other["description"]
        about = f"{begin[: len(begin) // 2]} {end[len(end) // 2 :]}"
        made[name] = {"name": name, "description": about, "definition": third["definition"]}
    return list(made.values())


def _added(ours: servers.Running, lists: Iterable[Tools]) -> tuple[str, list[float]]:
    """Send lists; return the digest of the last, and what they take as `_mib` has it."""
    before = _mib(ours)
    for tools in lists:
        headers = client.call(ours.port, traffic.patient(json.dumps(tools)))[1]
    return headers["x-catalog-digest"], [b - a for a, b in zip(before, _mib(ours), strict=True)]


def _mib(ours: servers.Running) -> tuple[float, float, float]:
    """Return the memory at rest of its cache, of its process, and of that with its worker."""
    settle(ours)
    cached = servers.metric(ours, "toolscout_catalog_cache_bytes") / (1 << 20)
    return cached, ours.memory_mib()[0], ours.proportional_mib()


def _again(plan: Plan) -> Iterator[Row]:
    tools = traffic.load(plan.folder, 300)
    numbers = range(LISTS // 10 if plan.quick else LISTS)
    lists = ([{**tool, "name": f"{tool['name']}_{n}"} for tool in tools] for n in numbers)
    payloads = [traffic.patient(json.dumps(each)) for each in lists]
    with TemporaryDirectory() as folder:
        store = ("--store", f"sqlite:{folder}/state.db", "--store-bytes", str(8 << 30))
        with servers.toolscout(*store) as ours:
            once = client.run(ours.port, payloads, 1, len(payloads))
            settle(ours)
            entries = servers.metric(ours, "toolscout_catalog_cache_entries")
            note = f"{entries:.0f} kept, {ours.memory()}"
            yield row(f"{len(payloads):,} lists of 300", [once], note)
            yield row("dropped ones again", [client.run(ours.port, payloads, 1, AGAIN)])


def _searched(
    plan: Plan, services: dict[str, servers.Running], name: str, size: int
) -> Iterator[Row]:
    """Yield the same questions of all services in turn, none asked twice, and what they share."""
    payloads = traffic.by_digest(name, [traffic.MARK], latency_budget_ms=10_000)
    asked = [
        (ours, traffic.Anew(payloads, Questions(plan.sentences, 15))) for ours in services.values()
    ]
    for ours, questions in asked:
        client.run(ours.port, questions, 1, WARM)
    for connections in CONNECTIONS:
        rounds = in_turn(plan, asked, connections, SEARCHES)
        for (what, ours), runs in zip(services.items(), rounds, strict=True):
            yield row(f"{size:,} tools {what}, {connections} at once", runs, ours.memory())
    if size <= MOST_HELD:
        held, kept = ([_first(*each) for _ in range(COMPARED)] for each in asked[:2])
        pairs = zip(held, kept, strict=True)
        shared = fmean(a == b or len(a & b) / max(len(a), len(b)) for a, b in pairs)
        yield Row(f"{size:,} tools, of the first five in both", note=f"{shared:.0%}")


def _first(ours: servers.Running, questions: Sequence[bytes]) -> set[str]:
    """Return the tools that a service selects for its next question."""
    return set(json.loads(client.call(ours.port, questions[0])[2])["selected_names"])


def _registered(ours: servers.Running, name: str, tools: Tools) -> Row:
    began = perf_counter()
    url = f"http://127.0.0.1:{ours.port}/v1/catalogs/{name}"
    httpx2.put(url, json={"tools": tools}, timeout=None).raise_for_status()
    return Row(f"{len(tools):,} tools registered", note=f"{perf_counter() - began:.0f} s")


def _written(ours: servers.Running, name: str, tools: Tools) -> Iterator[Row]:
    url = f"http://127.0.0.1:{ours.port}"
    answer = httpx2.get(f"{url}/v1/catalogs/{name}")
    if answer.is_success and answer.json()["tools"] == len(tools):
        return
    began = perf_counter()
    write_each(tools, name, url)
    yield Row(f"{len(tools):,} tools written", note=f"{perf_counter() - began:.0f} s")
