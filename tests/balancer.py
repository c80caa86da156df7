"""Two replicas behind a real HAProxy, and callers that never try twice."""

import http.client
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from tests import debian
from tests.support import PATIENCE_S, SEARCH, crowd, environment, free_port, until

CONFIG = Path(__file__).parents[1] / "deploy" / "haproxy.cfg"
CALLERS = 8


class Replica:
    """One process of the service, which can die and come back on the same port."""

    def __init__(self, *flags: str) -> None:
        self.port = free_port()
        self._flags = flags
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "toolscout", "serve", "--port", str(self.port)]
        command += ["--log", "off", *self._flags]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=environment(), stdout=quiet, stderr=quiet)

    def restart(self) -> None:
        """Start anew and wait until it is ready."""
        self.process = self._start()
        until(self.ready)

    def answered(self) -> int:
        """Searches it has answered with a match since it started."""
        with urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            text = answer.read().decode()
        found = re.search(r'^toolscout_requests_total{outcome="match"} (\S+)', text, re.M)
        return int(float(found.group(1))) if found else 0

    def ready(self) -> bool:
        """Whether it says so."""
        return get(self.port, "/readyz") == 200

    def kill(self) -> None:
        """End it without any warning."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Ask it to stop, as an orchestrator does; returns the exit status."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


def get(port: int, path: str) -> int:
    """The status of a GET, 0 where nobody answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


@dataclass
class Balanced:
    """A balancer's port and the replicas behind it."""

    port: int
    replicas: list[Replica]


@contextmanager
def running(folder: Path, *flags: str) -> Iterator[Balanced]:
    """HAProxy with the example's configuration, and two replicas that are ready."""
    debian.need(haproxy="haproxy")
    replicas = [Replica(*flags), Replica(*flags)]
    port = free_port()
    ports = {f"REPLICA_{n}": f"127.0.0.1:{r.port}" for n, r in enumerate(replicas, 1)}
    environ = environment(BIND=f"127.0.0.1:{port}", **ports)
    binary = shutil.which("haproxy") or "/usr/sbin/haproxy"
    try:
        until(lambda: all(replica.ready() for replica in replicas))
        with (folder / "haproxy").open("wb") as log:
            balancer = subprocess.Popen([binary, "-f", CONFIG], env=environ, stderr=log, stdout=log)
        try:
            until(lambda: balancer.poll() is not None or get(port, "/readyz") == 200)
            assert balancer.poll() is None, (folder / "haproxy").read_text("utf-8")
            yield Balanced(port, replicas)
        finally:
            balancer.kill()
            balancer.wait()
    finally:
        for replica in replicas:
            replica.kill()


@dataclass
class Traffic:
    """Callers in a closed loop; each call is one of `answers`: when it ended, and its status."""

    port: int
    answers: list[tuple[float, int | str]] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Traffic":
        for number in range(CALLERS):
            self._threads.append(threading.Thread(target=self._call, args=(number,)))
            self._threads[-1].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    @property
    def failures(self) -> list[tuple[float, int | str]]:
        """What was not answered with 200."""
        return [answer for answer in self.answers if answer[1] != 200]

    def summary(self) -> str:
        """How often what came back."""
        return ", ".join(f"{n} × {what}" for what, n in Counter(a[1] for a in self.answers).items())

    def _call(self, number: int) -> None:
        tools = crowd(300, f"caller{number}")
        headers = {"Content-Type": "application/json", "X-Catalog-Digest": f"{number:064x}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        asked = 0
        while not self._stopped.is_set():
            asked += 1
            body = json.dumps({"pattern": f"spin gadget {asked}", "tools": tools})
            outcome: int | str
            try:
                connection.request("POST", SEARCH, body, headers)
                answer = connection.getresponse()
                answer.read()
                outcome = answer.status
            except (OSError, http.client.HTTPException) as error:
                outcome = type(error).__name__
                with suppress(OSError):
                    connection.close()
            self.answers.append((time.monotonic(), outcome))
            self._stopped.wait(0.02)
        connection.close()
