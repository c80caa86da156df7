"""A file system run as an image would be: no network but its own, nothing to write but `/tmp`."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.support import PATIENCE_S, SEARCH, ran

USER = "65532"

_START = f"""
set -e
ip link set lo up
mount --make-rprivate /
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/tmp"
root=$1; shift
exec chroot --userspec={USER}:{USER} "$root" env -i "$@"
"""

_ASK = """
import sys, urllib.request as u
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + sys.argv[2]}
print(u.urlopen(u.Request(sys.argv[1], sys.stdin.buffer.read(), headers)).read().decode())
"""


class Confined:
    """One process in namespaces of its own, started with an image's command and environment."""

    def __init__(self, root: Path, config: dict[str, Any], key: str, log: Path) -> None:
        """Start it on a root directory, with a key; `config` is the image's."""
        self._environ = [*config["Env"], f"TOOLSCOUT_API_KEYS={key}"]
        self._health = config["Healthcheck"]["Test"]
        self._key = key
        command = [*config["Entrypoint"], *config["Cmd"]]
        started = ["sh", "-c", _START, "sh", str(root), *self._environ, *command]
        self.log = log
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                ["unshare", "--net", "--mount", *started], stdout=out, stderr=out
            )

    def execute(self, *command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command beside it, as the same user."""
        enter = ["nsenter", "--target", str(self._process.pid), "--mount", "--net", "--root"]
        enter += ["--wdns=/tmp", "--setuid", USER, "--setgid", USER]
        return ran(
            [*enter, "env", "-i", *self._environ, *command],
            status=None,
            input=stdin,
            timeout=PATIENCE_S,
        )

    def healthy(self) -> bool:
        """Return what the image's health check says."""
        kind, *command = self._health
        assert kind == "CMD"
        return self.execute(*command).returncode == 0

    def wait_until_healthy(self) -> None:
        """Ask the health check again and again."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.healthy():
            said = self.log.read_text("utf-8", "replace")
            assert self._process.poll() is None, said
            assert time.monotonic() < deadline, said + self.execute(*self._health[1:]).stderr
            time.sleep(0.2)

    def search(self, body: dict[str, Any]) -> Any:
        """Search over HTTP."""
        url = f"http://127.0.0.1:8080{SEARCH}"
        done = self.execute("python", "-c", _ASK, url, self._key, stdin=json.dumps(body))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def stop(self) -> int:
        """Stop it as an orchestrator would; returns the exit status."""
        self._process.terminate()
        try:
            return self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
