"""Keys of hosts over HTTP: a file as the service has it, with what each key may see.

acme=KEY;namespaces=git+docs;max_risk=read_only
"""

import asyncio
from collections.abc import Iterable
from contextvars import ContextVar
from http import HTTPStatus
from pathlib import Path
from typing import Any

from toolscout.errors import ConfigurationError
from toolscout.gateway.callers import CallerRefused
from toolscout.gateway.mcp.json_file import read_text
from toolscout.gateway.mcp.log import logger
from toolscout.server.http.auth import NO_KEY, OF_A_PART, SCOPES, ApiKey, KeyFile, Keyring
from toolscout.server.http.auth import explain_refusal as explain_unknown
from toolscout.serving.connections import LoggedEvents

KEY = "toolscout.key"
"""Where the scope of a request has the key that it came with."""

current_key: ContextVar[ApiKey] = ContextVar("current_key", default=NO_KEY)
"""That of the request which is being answered in this task."""


class HostKeys:
    """The keys of a file, which may change while the gateway runs.

    Raises:
        ConfigurationError: the file cannot be read, or has an error; never says a key.
    """

    def __init__(self, path: Path) -> None:
        text = read_text(path).strip()
        try:
            self.keyring = _read_keys(text)
        except ConfigurationError as error:
            raise ConfigurationError(f"{path}: {error.detail}") from None
        self.changed = asyncio.Event()
        """Set by each change, until somebody clears it."""
        log = LoggedEvents(logger)
        self.files = KeyFile(path, text, self._use, log, lambda _: None, _read_keys).files

    def _use(self, keyring: Keyring) -> None:
        self.keyring = keyring
        self.changed.set()

    def find(self, headers: Iterable[tuple[bytes, bytes]]) -> ApiKey:
        """Return the key of a request.

        Raises:
            CallerRefused: it has none, an unknown one, or one that has expired.
        """
        sent = list(headers)
        key = self.keyring.find(sent)
        if key is None or key.has_expired:
            why = explain_unknown(sent) if key is None else "this key has expired"
            raise CallerRefused(HTTPStatus.UNAUTHORIZED, "unauthorized", why)
        return key


def find_key(request: Any) -> ApiKey:
    """Return the key of a request; one that sees all where there are none, as over stdio."""
    key: ApiKey = NO_KEY if request is None else request.scope.get(KEY, NO_KEY)
    return key


def _read_keys(text: str) -> Keyring:
    """Read the text of a file.

    Raises:
        ConfigurationError: it has no key, or one with scopes, which only the service knows.
    """
    keyring = Keyring(text)
    if not len(keyring):
        raise ConfigurationError("no key in it")
    for number, key in enumerate(keyring.keys, 1):
        if key.scopes not in (SCOPES, OF_A_PART):
            why = "scopes are of the service; here filters say what a key sees"
            raise ConfigurationError(f"api_keys: key {number}: {why}")
    return keyring
