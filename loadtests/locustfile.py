"""Who calls: proxies that send their tools, clients that name a digest, newcomers, and bad clients.

locust -f loadtests/locustfile.py --host http://127.0.0.1:8080
"""

import json
from itertools import cycle
from random import Random
from typing import Any

from locust import FastHttpUser, constant_throughput, events, task
from locust.argument_parser import LocustArgumentParser

from evals.speed.traffic import PROSE, SEARCH
from loadtests import catalogs

TOP_K = 5
JSON = {"Content-Type": "application/json"}


@events.init_command_line_parser.add_listener
def _flags(parser: LocustArgumentParser) -> None:
    parser.add_argument("--calls-per-user", type=float, default=5, help="calls a second")
    parser.add_argument("--churn-every", type=int, default=10, help="newcomers change their tools")
    parser.add_argument("--api-key", default="", is_secret=True, help="sent as a bearer token")


class Caller(FastHttpUser):
    """Asks another question with every call, at a steady rate whatever the answers take."""

    abstract = True

    def wait_time(self) -> float:
        """Seconds until the next call is due."""
        pace = constant_throughput(self.environment.parsed_options.calls_per_user)
        return float(pace(self))

    def on_start(self) -> None:
        """Read the flags, and begin at a place of one's own in the list of questions."""
        options = self.environment.parsed_options
        self.churn_every: int = options.churn_every
        self.sent = JSON | (
            {"Authorization": f"Bearer {options.api_key}"} if options.api_key else {}
        )
        start = Random().randrange(len(PROSE))
        self.questions = cycle(PROSE[start:] + PROSE[:start])
        self.calls = 0

    def ask(self, name: str, catalog: str, **headers: str) -> str | None:
        """Search, and check the answer; returns the digest, or None when it is not known."""
        question = json.dumps(next(self.questions))
        body = f'{{"pattern":{question},"top_k":{TOP_K},{catalog}}}'
        with self.client.post(
            SEARCH, data=body.encode(), headers=self.sent | headers, name=name, catch_response=True
        ) as answer:
            if answer.status_code == 404 and headers:
                answer.success()  # a digest may be forgotten; then the tools are sent
                return None
            fault = _fault(answer)
            if fault:
                answer.failure(fault)
            else:
                answer.success()
            return str((answer.headers or {}).get("X-Catalog-Digest", ""))


class Inline50(Caller):
    """A proxy with 50 tools."""

    weight = 4

    @task
    def search(self) -> None:
        """Send all tools."""
        self.ask("inline 50", f'"tools":{catalogs.tools(50)}')


class Inline300(Caller):
    """A proxy with 300 tools."""

    weight = 4

    @task
    def search(self) -> None:
        """Send all tools."""
        self.ask("inline 300", f'"tools":{catalogs.tools(300)}')


class Inline1000(Caller):
    """A proxy with 1,000 tools."""

    weight = 1

    @task
    def search(self) -> None:
        """Send all tools."""
        self.ask("inline 1,000", f'"tools":{catalogs.tools(1_000)}')


class ByDigest(Caller):
    """A client that sends its tools once and names them from then on."""

    weight = 6
    digest: str | None = None

    @task
    def search(self) -> None:
        """Name the catalog; send it where it is not known."""
        if not self.digest:
            self.digest = self.ask("digest, first", f'"tools":{catalogs.tools(300)}')
            return
        headers = {"X-Catalog-Digest": self.digest}
        self.digest = self.ask("digest", f'"catalog":"{self.digest}"', **headers)


class Newcomer(Caller):
    """A client whose tools change with every n-th call."""

    weight = 1
    tools = ""

    @task
    def search(self) -> None:
        """Send tools that nobody sent before, then the same ones for a while."""
        new = self.calls % self.churn_every == 0
        self.calls += 1
        if new:
            self.tools = catalogs.unseen(300)
        self.ask("cold 300" if new else "after cold 300", f'"tools":{self.tools}')


class BadClient(Caller):
    """Sends what no client should; each must be refused for what it is."""

    weight = 1
    wrong = (
        (b"{", 400),
        (b'{"pattern":"x","tools":' + b"[" * 20_000, 400),
        (b'{"pattern":" ","tools":[{"name":"a"}]}', 422),
        (b'{"pattern":"x","tools":7}', 422),
        (b'{"pattern":"x","catalog":"' + b"0" * 64 + b'"}', 404),
    )

    @task
    def search(self) -> None:
        """Send the next wrong body."""
        body, expected = self.wrong[self.calls % len(self.wrong)]
        self.calls += 1
        with self.client.post(
            SEARCH, data=body, headers=self.sent, name="bad client", catch_response=True
        ) as answer:
            if answer.status_code == expected:
                answer.success()
            else:
                answer.failure(f"expected {expected}, got {answer.status_code}")


def _fault(answer: Any) -> str | None:
    if answer.status_code != 200:
        return f"status {answer.status_code}"
    names = json.loads(answer.content)["selected_names"]
    return None if len(set(names)) == len(names) <= TOP_K else "names repeat or are too many"
