"""The command `toolscout mcp --import`: what it would change, the change itself, and the way back.

Beside a changed file stands what it was, under a name that ends in the digest of what its servers
have become, so that a change of them that came later is noticed.
"""

import shlex
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp import json_file
from toolscout.gateway.mcp.cache import write_private
from toolscout.gateway.mcp.failures import make_printable
from toolscout.gateway.mcp.host_entries import OURS
from toolscout.gateway.mcp.moving import HostFile, Target, find_backup, put_back

SECRETS = "files as they were hold your keys, and belong into no repository"


def import_servers(
    files: Sequence[Path], config: Path, *, is_written: bool
) -> tuple[list[str], bool]:
    """Move the servers of files, or say what would change; returns that in lines.

    A file that is at fault stays as it is; returns, too, whether any is not.

    Raises:
        ConfigurationError: the gateway's own file is at fault, or a file cannot be written; none
            has changed then.
        OSError: a file cannot be read.
    """
    target = Target(config.resolve())
    hosts = []
    lines = []
    for path in _drop_duplicates(files):
        lines.append(str(path))
        try:
            if path.resolve() == target.path:
                raise ConfigurationError("it is the gateway's own file")
            host = HostFile(path)
            host.move(target)
        except ConfigurationError as error:
            lines.append(f"  = stays as it is: {make_printable(error.detail)}")
            continue
        hosts.append(host)
        lines += host.lines or ["  nothing to move"]
    changed = [host for host in hosts if host.after != host.before]
    if target.added:
        lines += [str(target.path), *(f"  + {make_printable(name)}" for name in target.added)]
    command = ["toolscout", "mcp", "--config", str(config)]
    again = [*command, "--import", *map(str, files)]
    if not changed:
        return [*lines, "there is nothing to move"], bool(hosts)
    if not is_written:
        then = shlex.join([*again, "--write"])
        return [*lines, f"nothing is written yet; then: {then}"], True
    _write_beside(target, changed)
    lines += [*map(_replace, changed), SECRETS]
    undo = shlex.join([*command, "--import", *(str(host.path) for host in changed), "--undo"])
    return [*lines, f"then: {shlex.join([*command, '--check'])}", f"or back: {undo}"], True


def undo(files: Sequence[Path]) -> list[str]:
    """Put the servers of files back as they were before an import; returns in lines of which.

    Raises:
        ConfigurationError: those of one have changed since, or were not imported; nothing is
            written then.
    """
    backups = {}
    for path in _drop_duplicates(files):
        real = path.resolve()
        backup = find_backup(real, json_file.read_object(real))
        if not backup.exists():
            if older := _list_backups(real):
                kept = ", ".join(map(str, older))
                why = "its servers have changed since the import"
                raise ConfigurationError(f"{path}: {why}; as it was: {kept}")
            raise ConfigurationError(f"{path}: there is no import to undo")
        backups[backup] = real
    for backup, real in backups.items():
        write_private(real, put_back(real.read_bytes(), backup.read_bytes()), _read_mode(real))
        backup.unlink()
    return [f"{real}: as before" for real in backups.values()]


def has_backup(path: Path) -> bool:
    """Return whether a file was imported."""
    return bool(_list_backups(path.resolve()))


def _list_backups(real: Path) -> list[Path]:
    """Return what a file was before each of its imports."""
    return sorted(real.parent.glob(f"{escape(real.name)}.{OURS}-*"))


def _drop_duplicates(files: Sequence[Path]) -> list[Path]:
    """Return files without those that are there under two names."""
    return list({path.resolve(): path for path in reversed(files)}.values())[::-1]


def _read_mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _write_beside(target: Target, hosts: Sequence[HostFile]) -> None:
    """Keep hosts' files as they are, and write the gateway's, which holds their secrets now.

    Raises:
        ConfigurationError: one cannot be written; nothing has changed then.
    """
    kept: list[Path] = []
    path = target.path
    try:
        for host in hosts:
            path = host.path
            backup = host.backup()
            write_private(backup, host.before, _read_mode(host.real))
            kept.append(backup)
        path = target.path
        if target.added:
            write_private(path, target.after())
    except OSError as error:
        for backup in kept:
            backup.unlink()
        why = f"nothing has changed, for beside it nothing can be written: {error.strerror}"
        raise ConfigurationError(f"{path}: {why}") from None


def _replace(host: HostFile) -> str:
    """Write a host's file anew; returns a line that says what it was, or why it is as it was."""
    try:
        if host.real.read_bytes() == host.before:
            write_private(host.real, host.after, _read_mode(host.real))
            return f"{host.path} as it was: {host.backup()}"
        why = "it has changed meanwhile"
    except OSError as error:
        why = str(error.strerror)
    host.backup().unlink()
    return f"{host.path} stays as it is: {why}"
