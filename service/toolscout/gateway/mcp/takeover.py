"""The command `toolscout mcp --import`: what it would change, the change itself, and the way back.

Beside a changed file stands what it was, under a name that ends in the digest of what it has
become, so that a change that came later is noticed.
"""

import shlex
from collections.abc import Sequence
from glob import escape
from pathlib import Path

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import write_private
from toolscout.gateway.mcp.failures import printable
from toolscout.gateway.mcp.host_entries import OURS
from toolscout.gateway.mcp.moving import HostFile, Target, backup_of


def import_servers(files: Sequence[Path], config: Path, *, is_written: bool) -> list[str]:
    """Move the servers of files, or say what would change; returns that in lines.

    A file that is at fault stays as it is.

    Raises:
        ConfigurationError: the gateway's own file is at fault, or a host has written meanwhile.
        OSError: a file cannot be read or written.
    """
    target = Target(config.resolve())
    hosts = []
    lines = []
    for path in _different(files):
        lines.append(str(path))
        try:
            if path.resolve() == target.path:
                raise ConfigurationError("it is the gateway's own file")
            host = HostFile(path)
            host.move(target)
        except ConfigurationError as error:
            lines.append(f"  = stays as it is: {error.detail}")
            continue
        hosts.append(host)
        lines += host.lines or ["  nothing to move"]
    changed = [host for host in hosts if host.after != host.before]
    if target.added:
        lines += [str(target.path), *(f"  + {printable(name)}" for name in target.added)]
    command = ["toolscout", "mcp", "--config", str(config)]
    again = [*command, "--import", *map(str, files)]
    if not changed:
        return [*lines, "there is nothing to move"]
    if not is_written:
        return [*lines, f"nothing is written yet; then: {shlex.join([*again, '--write'])}"]
    if target.added:
        mode = _mode_of(target.path) if target.path.exists() else 0o600
        write_private(target.path, target.after(), mode)
    for host in changed:
        _replace(host)
        lines.append(f"{host.path} as it was: {host.backup()}")
    undo = shlex.join([*command, "--import", *(str(host.path) for host in changed), "--undo"])
    return [*lines, f"then: {shlex.join([*command, '--check'])}", f"or back: {undo}"]


def undo(files: Sequence[Path]) -> list[str]:
    """Put files back as they were before they were imported; returns in lines which.

    Raises:
        ConfigurationError: one has changed since, or was not imported; nothing is written then.
    """
    backups = {}
    for path in _different(files):
        real = path.resolve()
        backup = backup_of(real, real.read_bytes())
        if not backup.exists():
            older = sorted(real.parent.glob(f"{escape(real.name)}.{OURS}-*"))
            if older:
                kept = ", ".join(map(str, older))
                raise ConfigurationError(f"{path}: has changed since its import; as it was: {kept}")
            raise ConfigurationError(f"{path}: there is no import to undo")
        backups[backup] = real
    for backup, real in backups.items():
        backup.replace(real)
    return [f"{real}: as before" for real in backups.values()]


def has_backup(path: Path) -> bool:
    """Return whether a file was imported."""
    real = path.resolve()
    return any(real.parent.glob(f"{escape(real.name)}.{OURS}-*"))


def _different(files: Sequence[Path]) -> list[Path]:
    """Return files without those that are there under two names."""
    return list({path.resolve(): path for path in reversed(files)}.values())[::-1]


def _mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def _replace(host: HostFile) -> None:
    """Write a host's file anew, after what it was.

    Raises:
        ConfigurationError: it has changed meanwhile.
    """
    mode = _mode_of(host.real)
    write_private(host.backup(), host.before, mode)
    if host.real.read_bytes() != host.before:
        host.backup().unlink()
        raise ConfigurationError(f"{host.path}: has changed meanwhile, and is left as it is")
    write_private(host.real, host.after, mode)
