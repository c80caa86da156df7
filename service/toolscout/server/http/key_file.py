"""Keys change while the service runs.

Where they come from a file (`TOOLSCOUT_API_KEYS_FILE`), every process reads it again once a second
and on SIGHUP; whenever its text differs, the new keys hold from the next request on. A file that is
missing, empty or malformed changes nothing: the keys so far stay, and the log says why.
"""

import stat
from collections.abc import Callable
from pathlib import Path

from toolscout.errors import ConfigurationError
from toolscout.server.http.auth import Keyring
from toolscout.serving.events import Events
from toolscout.serving.followed_files import FollowedFiles


class KeyFile:
    """The file with the keys, and what it said last."""

    def __init__(
        self,
        path: Path,
        accept: Callable[[Keyring], None],
        log: Events,
        count: Callable[[str], None],
    ) -> None:
        """Follow a file; `count` is told `ok` or `refused` for every change."""
        self._path = path
        self._accept = accept
        self._log = log
        self._count = count
        self._is_first = True
        self._is_warned = False
        self.files = FollowedFiles(self._text, self._use)

    def _use(self, text: str) -> None:
        """Use what the file says now, if that is right."""
        is_first, self._is_first = self._is_first, False
        try:
            keys = Keyring(text)
            if not len(keys):
                raise ConfigurationError("no key in it")
        except ConfigurationError as error:
            self._count("refused")
            self._log.error("keys_kept", file=str(self._path), reason=error.detail)
            return
        self._accept(keys)
        if not is_first:
            self._count("ok")
            self._log.info("keys_changed", keys=len(keys), tenants=len(keys.tenants))

    def _text(self) -> str:
        try:
            mode = self._path.stat().st_mode
            if not stat.S_ISREG(mode):
                return ""  # reading a pipe would wait for its writer
            self._warn_of(mode)
            return self._path.read_text("utf-8-sig").strip()
        except (OSError, UnicodeDecodeError):
            return ""  # as if it were empty: no keys, so those so far stay

    def _warn_of(self, mode: int) -> None:
        is_open = bool(mode & stat.S_IWOTH)
        if is_open and not self._is_warned:
            reason = "every user of this machine may write it"
            self._log.warning("keys_unprotected", file=str(self._path), reason=reason)
        self._is_warned = is_open
