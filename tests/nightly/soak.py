"""Use two replicas on each kind of store while they are killed; count what was acknowledged."""

import asyncio
import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from tests.balancer import Replica
from tests.contract.learning import FEEDBACK, LEARNING
from tests.integration.stores import SHARED, kept
from tests.support import PATIENCE_S, SEARCH, crowd, until
from toolscout.learning.log import OBSERVATIONS
from toolscout.state.opening import open_store
from toolscout.state.store import START

CALLERS = 4

KILL_S = 10.0
"""Seconds between two kills."""

PAUSE_S = 0.02
"""Seconds between two calls of a caller."""


CHANGED = {"description": "Spin it around another axis"}


class Caller:
    """A caller of any replica who notes what was acknowledged.

    A call without an answer may have been done or not, until another one is answered.
    """

    def __init__(self, name: str, replicas: list[Replica], *, is_external: bool = False) -> None:
        self.name = name
        self.kept = {"keep": "postgres"} if is_external else {}
        """How every second catalog is kept."""
        self.random = Random(name)
        self.replicas = replicas
        self.statuses = Counter[int]()
        self.reported = set[str]()
        self.catalogs = dict[str, set[int]]()
        """What may be registered under each name, by number of tools; 0 is nothing."""

    def call(self) -> None:
        """Do one thing."""
        number = self.statuses.total()
        way = self.random.random()
        place = self.random.randrange(5)
        path = f"/v1/catalogs/{self.name}{place}"
        kept = self.kept if place % 2 else {}
        if way < 0.4:
            tools = crowd(self.random.choice([3, 30, 300]), f"{self.name}{number % 7}")
            self.send("POST", SEARCH, {"pattern": "spin", "tools": tools})
        elif way < 0.7:
            tool = f"{self.name}_{number}"
            body = {"pattern": "ship the parcel", "tool": tool, "success": True}
            if self.send("POST", FEEDBACK, body) == 202:
                self.reported.add(tool)
        elif way < 0.82:
            count = self.random.randrange(1, 50)
            self.change("PUT", path, count, {"tools": crowd(count, self.name)} | kept)
        elif way < 0.87 and self.catalogs.get(path, {0}) != {0}:
            self.send("PATCH", path, {"upsert": [crowd(1, self.name)[0] | CHANGED]})
        elif way < 0.9:
            self.change("DELETE", path, 0)
        else:
            self.send("GET", path)

    def change(self, method: str, path: str, tools: int, body: object = None) -> None:
        """Register or delete a catalog, and note what may be there afterwards."""
        before = self.catalogs.get(path, {0})
        status = self.send(method, path, body)
        is_done = status in (200, 201, 204) or (method == "DELETE" and status == 404)
        self.catalogs[path] = {tools} if is_done else before | {tools}

    def send(self, method: str, path: str, body: object = None) -> int:
        """Send a request to any replica; return its status, 0 without an answer."""
        port = self.random.choice(self.replicas).port
        status, _ = ask(port, method, path, body)
        self.statuses[status] += 1
        return status


def ask(port: int, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    """Send a request over a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    text = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


@contextmanager
def calling(callers: list[Caller]) -> Iterator[None]:
    """Have all of them call until the end of the block."""
    over = threading.Event()

    def repeat(caller: Caller) -> None:
        while not over.wait(PAUSE_S):
            caller.call()

    threads = [threading.Thread(target=repeat, args=[caller]) for caller in callers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


async def stored_tools(url: str) -> set[str]:
    """Return the tools of all reports in a store."""
    store, tools = open_store(url), set[str]()
    for log in await store.logs(f"{OBSERVATIONS}/"):
        position = START
        while entries := await store.read(log, position):
            tools |= {json.loads(entry.value)["tool"] for entry in entries}
            position = entries[-1].position
    await store.close()
    return tools


def learned(replica: Replica) -> int:
    """Return how many reports a replica knows."""
    return int(json.loads(ask(replica.port, "GET", LEARNING)[1])["observations"])


def soak(folder: Path, seconds: float) -> bool:
    """Use each kind of store for its part of the time; print a line for each."""
    kept_all = [soak_one(kind, folder, seconds / len(SHARED)) for kind in SHARED]
    return all(kept_all)


def soak_one(kind: str, folder: Path, seconds: float) -> bool:
    """Use one store; return whether nothing that was acknowledged is missing."""
    kills = 0
    with ExitStack() as stack:
        store = stack.enter_context(kept(kind, folder))
        replicas = [Replica(TOOLSCOUT_STORE=store.url) for _ in range(2)]
        for replica in replicas:
            stack.callback(lambda replica=replica: replica.kill())  # type: ignore[misc]
            until(replica.ready)
        callers = [Caller(f"c{number}x", replicas) for number in range(CALLERS)]
        ends = time.monotonic() + seconds
        with calling(callers):
            while time.monotonic() < ends:
                time.sleep(min(KILL_S, max(0.0, ends - time.monotonic())))
                replica = replicas[kills % 2]
                replica.kill()
                replica.restart()
                kills += 1
        is_kept, said = check(callers, replicas, store.url)
    print(f"soak: {kind}, {seconds:.0f} s, {kills} kills: {said}")
    return is_kept


def check(callers: list[Caller], replicas: list[Replica], url: str) -> tuple[bool, str]:
    """Return whether nothing that was acknowledged is missing, and figures.

    Both replicas must know all reports, those that nobody answered, too.
    """
    statuses = sum((caller.statuses for caller in callers), Counter[int]())
    reported = set[str]().union(*(caller.reported for caller in callers))
    stored = asyncio.run(stored_tools(url))
    lost = reported - stored
    for replica in replicas:
        until(lambda replica=replica: learned(replica) == len(stored))  # type: ignore[misc]
    wrong, catalogs = 0, 0
    for caller in callers:
        for path, possible in caller.catalogs.items():
            catalogs += 1
            status, body = ask(replicas[0].port, "GET", path)
            found = json.loads(body)["tools"] if status == 200 else 0
            wrong += found not in possible
    said = (
        f"{statuses.total()} calls, {statuses[500]} × 500, {statuses[503]} × 503,"
        f" {statuses[0]} without an answer; {len(lost)} of {len(reported)} acknowledged reports"
        f" lost, {wrong} of {catalogs} catalogs wrong"
    )
    return not (lost or wrong or statuses[500]), said
