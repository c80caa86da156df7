"""Two replicas behind a real balancer, and callers that never try twice."""

import http.client
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

from evals import programs
from tests import debian, wheels
from tests.support import PATIENCE_S, SEARCH, crowd, environment, free_port, until

FOLDER = Path(__file__).parents[1] / "deploy" / "balancers"
CONFIG = FOLDER / "haproxy.cfg"
CALLERS = 8


class Replica:
    """One process of the service, which can die and come back on the same port."""

    def __init__(self, *flags: str, **settings: str) -> None:
        self.port = free_port()
        self._flags = flags
        self._environment = environment(**settings)
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "toolscout", "serve", "--port", str(self.port)]
        command += ["--log", "off", *self._flags]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=self._environment, stdout=quiet, stderr=quiet)

    def restart(self) -> None:
        """Start anew and wait until it is ready."""
        self.process = self._start()
        until(self.ready)

    def answered(self) -> int:
        """Return searches it has answered with a match since it started."""
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
    """Return the status of a GET, 0 where nobody answers."""
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


def _haproxy(_: Path, port: int, replicas: Sequence[int]) -> tuple[list[str], dict[str, str]]:
    debian.need(haproxy="haproxy")
    binary = shutil.which("haproxy") or "/usr/sbin/haproxy"
    ports = {f"REPLICA_{n}": f"127.0.0.1:{one}" for n, one in enumerate(replicas, 1)}
    return [binary, "-f", str(CONFIG)], {"BIND": f"127.0.0.1:{port}", **ports}


def _envoy(folder: Path, port: int, replicas: Sequence[int]) -> tuple[list[str], dict[str, str]]:
    text = _replaced("envoy.yaml", "0.0.0.0, port_value: 8080", f"127.0.0.1, port_value: {port}")
    text = text.replace("port_value: 9901", "port_value: 0")
    for number, one in enumerate(replicas, 1):
        there = f"address: replica-{number}, port_value: 8080"
        assert there in text
        text = text.replace(there, f"address: 127.0.0.1, port_value: {one}")
    config = folder / "envoy.yaml"
    config.write_text(text, "utf-8")
    flags = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"]
    return [str(wheels.envoy()), "-c", str(config), *flags], {}


def _nginx(folder: Path, port: int, replicas: Sequence[int]) -> tuple[list[str], dict[str, str]]:
    debian.need(nginx="nginx-light")
    text = _replaced("nginx.conf", "listen 8080;", f"listen 127.0.0.1:{port};")
    text = text.replace("/tmp/toolscout-nginx", str(folder / "nginx"))
    for number, one in enumerate(replicas, 1):
        there = f"server 10.0.0.{number}:8080"
        assert there in text
        text = text.replace(there, f"server 127.0.0.1:{one}")
    config = folder / "nginx.conf"
    config.write_text(text, "utf-8")
    binary = shutil.which("nginx") or "/usr/sbin/nginx"
    return [binary, "-c", str(config), "-g", "daemon off;"], {}


def _replaced(name: str, there: str, here: str) -> str:
    text = (FOLDER / name).read_text("utf-8")
    assert there in text
    return text.replace(there, here)


PROGRAMS = {"haproxy": _haproxy, "envoy": _envoy, "nginx": _nginx}
"""How each is started with the example's configuration: its command and its environment."""


@contextmanager
def running(folder: Path, *flags: str, program: str = "haproxy") -> Iterator[Balanced]:
    """Yield a balancer with the example's configuration, and two replicas that are ready."""
    replicas = [Replica(*flags), Replica(*flags)]
    port = free_port()
    try:
        command, variables = PROGRAMS[program](folder, port, [r.port for r in replicas])
        environ = environment(**variables)
        until(lambda: all(replica.ready() for replica in replicas))
        is_ready = lambda: get(port, "/readyz") == 200  # noqa: E731
        with programs.running(command, is_ready, folder / program, env=environ):
            yield Balanced(port, replicas)
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
        headers = {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        asked = 0
        while not self._stopped.is_set():
            asked += 1
            # One digest for each caller could find the same replica for all of them.
            headers["X-Catalog-Digest"] = f"{number + CALLERS * (asked % CALLERS):064x}"
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
