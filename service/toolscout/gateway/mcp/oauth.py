"""Tokens for servers that ask for OAuth: a person gets them once, the gateway keeps them fresh.

`log_in` runs fastmcp's own client in front of a person, as the client that the configuration names,
or as one that registers itself. The gateway opens no browser and registers nothing: with a token
that can neither be used nor renewed it says that one is needed.
"""

import asyncio
import logging
import os
import re
import sys
import webbrowser
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, nullcontext, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from hashlib import sha256
from http import HTTPStatus
from typing import IO, Any, cast

import httpx2
import msgspec
from fastmcp import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import SSETransport, StreamableHttpTransport
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata, ProtectedResourceMetadata
from pydantic import BaseModel

from toolscout.errors import ConfigurationError
from toolscout.gateway.mcp.cache import find_user_folder, write_private
from toolscout.gateway.mcp.failures import (
    MAX_SHOWN_CHARS,
    LoginNeeded,
    explain,
    list_causes,
    make_printable,
    redact,
)
from toolscout.gateway.mcp.servers import CALLBACK_PORT, HttpServer, OAuthClient

CLIENT = "Toolscout"
"""The name under which the gateway registers at an authorization server."""

SERVERS = "servers"
"""Where a file has what was found out about the servers at the login."""

LONG_AGO = 1.0
"""A time at which a token ran out, in seconds since 1970."""

NO_OAUTH = "the server does not say how to log in: give it a header with a token in place of auth"

_IN_BODY = "client_secret_post"
_IN_HEADER = "client_secret_basic"
"""How a client sends its secret."""

_REFUSED = re.compile(r"Registration failed: [34]")

LOCK_PAUSE_S = 0.02
"""Seconds between two looks whether another process has renewed a token."""

Content = dict[str, dict[str, dict[str, Any]]]


class TokenFile:
    """What fastmcp keeps of one server, in a file that its owner alone can read.

    Args:
        url: that of the server; the file's name is a digest of it.
        is_new: whether what is there is neither used nor replaced before `save`.

    Raises:
        ConfigurationError: there is no folder for it.
    """

    def __init__(self, url: str, *, is_new: bool = False) -> None:
        folder = find_user_folder(os.environ, "XDG_STATE_HOME", ".local/state")
        if folder is None:
            raise ConfigurationError("login: neither XDG_STATE_HOME nor HOME is set")
        self._path = folder / f"{sha256(url.encode()).hexdigest()[:32]}.json"
        self._unsaved: Content | None = {} if is_new else None

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """Return a value, if it is there."""
        return self._read().get(collection or "", {}).get(key)

    async def put(
        self, key: str, value: Mapping[str, Any], *, collection: str | None = None, ttl: object = 0
    ) -> None:
        """Keep a value."""
        content = self._read()
        if content.get(collection or "", {}).get(key) == value:
            return  # as who logs in meanwhile may write another
        content.setdefault(collection or "", {})[key] = dict(value)
        self._write(content)

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        """Forget a value; return whether it was there."""
        content = self._read()
        is_there = content.get(collection or "", {}).pop(key, None) is not None
        self._write(content)
        return is_there

    async def lock(self) -> IO[bytes]:
        """Return a file that no other process has locked meanwhile; closing it unlocks it."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = self._path.with_suffix(".lock").open("ab")
        while True:
            with suppress(BlockingIOError):
                flock(file, LOCK_EX | LOCK_NB)
                return file
            await asyncio.sleep(LOCK_PAUSE_S)

    def _read(self) -> Content:
        """Return the content, for another process may have written it."""
        if self._unsaved is not None:
            return self._unsaved
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Content)
        except (OSError, msgspec.MsgspecError):
            return {}

    def save(self) -> None:
        """Replace what is there."""
        content = self._read()
        self._unsaved = None
        self._write(content)

    def _write(self, content: Content) -> None:
        if self._unsaved is None:
            write_private(self._path, msgspec.json.encode(content))


class _Scopes(OAuthClientMetadata):
    """Asks for the scopes that the configuration names, whatever a server does."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "scope":
            super().__setattr__(name, value)


class _Auth(OAuth):
    """The client that the configuration names, or one that registers itself."""

    def __init__(self, server: HttpServer, file: TokenFile) -> None:
        client = server.auth or OAuthClient()
        super().__init__(
            server.url,
            list(client.scopes),
            client_name=CLIENT,
            token_storage=cast("Any", file),
            callback_port=client.callback_port or (CALLBACK_PORT if client.client_id else None),
            client_id=client.client_id,
            client_secret=client.client_secret,
        )
        if client.scopes:
            written = self.context.client_metadata.model_dump()
            self.context.client_metadata = _Scopes.model_validate(written)


class Tokens(_Auth):
    """Sends the token of a server, and renews it; never asks a person.

    Args:
        name: that of the server, for errors.
        server: where it is, and as which client it is asked.
    """

    def __init__(self, name: str, server: HttpServer) -> None:
        self._name = name
        self._file = TokenFile(server.url)
        self._refused = ""
        """The token that the server has refused last, whatever the clock says."""
        super().__init__(server, self._file)

    async def _initialize(self) -> None:
        """Load the tokens, and who renews them, which the library finds out at a login alone."""
        await super()._initialize()
        if self._token() == self._refused:
            self.context.token_expiry_time = LONG_AGO
        servers = await self._file.get(SERVERS)
        if servers is not None:
            self.context.auth_server_url = servers["issuer"]
            if servers["authorization"] is not None:
                self.context.oauth_metadata = OAuthMetadata.model_validate(servers["authorization"])
                _choose_method(self.context)
            if servers["resource"] is not None:
                resource = ProtectedResourceMetadata.model_validate(servers["resource"])
                self.context.protected_resource_metadata = resource

    def _token(self) -> str | None:
        tokens = self.context.current_tokens
        return None if tokens is None else tokens.access_token

    async def redirect_handler(self, authorization_url: str) -> None:
        """Refuse to open a browser."""
        raise LoginNeeded(self._name)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with a token; one that is refused is renewed once.

        Raises:
            LoginNeeded: there is no token that can be used or renewed.
        """
        for is_last in (False, True):
            # Most servers let a token renew once: one process does it, and others read the new one.
            lock = None if self.context.is_token_valid() else await self._file.lock()
            with lock or nullcontext():
                if lock is not None:
                    self._initialized = False
                async with aclosing(super().async_auth_flow(request)) as flow:
                    sent = await anext(flow)
                    while True:
                        if sent is request and lock is not None:
                            lock.close()
                        response = yield sent
                        if sent is request and response.status_code == HTTPStatus.UNAUTHORIZED:
                            break
                        if sent is not request and response.is_server_error:
                            response.raise_for_status()
                        try:
                            sent = await flow.asend(response)
                        except StopAsyncIteration:
                            return
            if is_last or not self.context.can_refresh_token():
                raise LoginNeeded(self._name)
            self._refused = self._token() or ""
            self.context.token_expiry_time = LONG_AGO


def _choose_method(context: OAuthContext) -> None:
    """Send a client's secret in the header where its server does not take it in the body."""
    client = context.client_info
    metadata = context.oauth_metadata
    taken = (metadata and metadata.token_endpoint_auth_methods_supported) or [_IN_BODY]
    if client and client.token_endpoint_auth_method == _IN_BODY and _IN_BODY not in taken:
        client.token_endpoint_auth_method = _IN_HEADER


class _Login(_Auth):
    """Asks the person at the terminal."""

    async def redirect_handler(self, authorization_url: str) -> None:
        """Show the address to open, and open it where there is a terminal."""
        _choose_method(self.context)
        print(f"Open this address to log in:\n{authorization_url}", flush=True)  # noqa: T201
        if sys.stdout.isatty():
            webbrowser.open(authorization_url)


async def log_in(name: str, server: HttpServer) -> str:
    """Have a person authorize the gateway at a server, keep the tokens, and say so.

    Raises:
        ConfigurationError: it has failed.
    """
    logging.disable(logging.CRITICAL)  # libraries log addresses and stack traces
    file = TokenFile(server.url, is_new=True)
    login = _Login(server, file)
    context = login.context
    try:
        transport = SSETransport if server.is_sse else StreamableHttpTransport
        async with Client(transport(server.url, server.headers, auth=login)) as client:
            await client.list_tools()
    except Exception as error:
        why = _explain_refusal(error, context, server)
        raise ConfigurationError(f"{name}: no login: {why}") from None
    finally:
        logging.disable(logging.NOTSET)
    if context.current_tokens is None:
        raise ConfigurationError(f"{name}: no login: the server does not ask for one")
    servers = {
        "issuer": context.auth_server_url,
        "authorization": _write_json(context.oauth_metadata),
        "resource": _write_json(context.protected_resource_metadata),
    }
    await file.put(SERVERS, servers)
    file.save()
    return f"{name}: logged in"


def _write_json(found: BaseModel | None) -> dict[str, Any] | None:
    return None if found is None else found.model_dump(mode="json", exclude_none=True)


def _explain_refusal(error: BaseException, context: OAuthContext, server: HttpServer) -> str:
    """Return why a login has failed, and what to do."""
    # The library tells of a refusal by a bare error; the outermost says that there was none.
    kinds = (OAuthFlowError, RuntimeError)
    causes = list_causes(error)
    port = (server.auth and server.auth.callback_port) or CALLBACK_PORT
    if any(isinstance(one, SystemExit) for one in causes):  # of what listens for the browser
        return f"port {port}, for the way back, is taken"
    refused = next((one for one in causes[1:] if isinstance(one, kinds)), None)
    if refused is None:
        return make_printable(explain(error, server))
    if isinstance(refused, OAuthRegistrationError):
        if context.oauth_metadata is None:
            return NO_OAUTH
        if _REFUSED.match(str(refused)):
            return (
                "the server registers no clients: register one with it by hand, with the redirect "
                f"URI http://localhost:{port}/callback, and write its client_id in auth, or give "
                "the server a header with a token in place of auth"
            )
    # An answer follows, which may be a page, or repeat a secret.
    line = next(iter(str(refused).partition("<")[0].splitlines()), "").strip(" :")
    return make_printable(redact(line, server.secrets))[:MAX_SHOWN_CHARS]
