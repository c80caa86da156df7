"""An MCP server that asks for OAuth, and its authorization server, in one peer on this machine."""

import base64
import json
import threading
from typing import Any
from urllib.parse import parse_qs, unquote

import httpx2

from tests.client.upstream import Exchange
from tests.gateway.mcp.bombs import JSON, RESULTS
from tests.support import answers, until

PAGE = b"<!DOCTYPE html><html><body>Nothing here</body></html>"
HTML = ("Content-Type", "text/html")
WELL_KNOWN = "/.well-known/oauth-authorization-server"


class Authorizer:
    """Registers nobody; knows one client.

    Args:
        client: the id and the secret of the client.
        methods: how it may send its secret; None to publish nothing about OAuth.
        registers: whether any client may register itself.
    """

    def __init__(
        self,
        client: tuple[str, str] = ("known", "hunter22"),
        methods: list[str] | None = None,
        *,
        publishes: bool = True,
        registers: bool = False,
    ) -> None:
        self.client = client
        self.methods = methods
        self.publishes = publishes
        self.registers = registers
        self.token = "valid"
        """The only one that is let in."""
        self.url = ""
        self.asked: list[str] = []
        """The addresses that a person has opened."""
        self.grants: list[str] = []

    def __call__(self, exchange: Exchange) -> None:
        path = exchange.path
        if path == "/mcp":
            self._serve(exchange)
        elif path == WELL_KNOWN and self.publishes:
            self._answer(exchange, self._metadata())
        elif path == "/register" and self.registers:
            self._answer(exchange, exchange.json | {"client_id": "registered"}, 201)
        elif path == "/token":
            self._grant(exchange)
        else:
            exchange.answer(PAGE, 404, [HTML])

    def open(self, address: str) -> bool:
        """Consent at an address, as a person in a browser does."""
        self.asked.append(address)
        params = httpx2.URL(address).params
        back = httpx2.URL(params["redirect_uri"])

        def consent() -> None:
            until(lambda: answers(back.port or 80))
            httpx2.get(back, params={"code": "yes", "state": params["state"]})

        threading.Thread(target=consent, daemon=True).start()
        return True

    def _metadata(self) -> dict[str, Any]:
        ends = {f"{name}_endpoint": f"{self.url}/{name}" for name in ("authorization", "token")}
        more = {"token_endpoint_auth_methods_supported": self.methods} if self.methods else {}
        return {"issuer": self.url, "response_types_supported": ["code"], **ends, **more}

    def _serve(self, exchange: Exchange) -> None:
        if exchange.headers.get("authorization") != f"Bearer {self.token}":
            exchange.answer(status=401, headers=[("WWW-Authenticate", "Bearer")])
        elif not exchange.body:
            exchange.answer(status=405)
        elif "id" not in exchange.json:
            exchange.answer(status=202)
        else:
            result = RESULTS.get(exchange.json["method"], {})
            answer = {"jsonrpc": "2.0", "id": exchange.json["id"], "result": result}
            self._answer(exchange, answer)

    def _grant(self, exchange: Exchange) -> None:
        form = {name: values[0] for name, values in parse_qs(exchange.body.decode()).items()}
        how = "client_secret_post"
        shown = form.get("client_id", ""), form.get("client_secret", "")
        if (sent := exchange.headers.get("authorization", "")).startswith("Basic "):
            how = "client_secret_basic"
            name, _, secret = base64.b64decode(sent[6:]).decode().partition(":")
            shown = unquote(name), unquote(secret)
        self.grants.append(how)
        if self.registers:  # as one that has no secret
            shown = self.client
        if shown != self.client or how not in (self.methods or [how]):
            refusal = {"error": "invalid_client", "error_description": f"not {shown[1]}"}
            self._answer(exchange, refusal, 401)
            return
        self.grants[-1] += f" {form['grant_type']}"
        tokens = {"access_token": self.token, "refresh_token": "again"}
        self._answer(exchange, {"token_type": "Bearer", **tokens})

    @staticmethod
    def _answer(exchange: Exchange, content: dict[str, Any], status: int = 200) -> None:
        exchange.answer(json.dumps(content).encode(), status, [JSON])
