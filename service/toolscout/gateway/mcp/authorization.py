"""Tokens of an authorization server in place of keys, and the metadata by which hosts find it."""

from typing import Any
from urllib.parse import urlsplit

import httpx2
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.utilities.auth import decode_jwt_header
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls

from toolscout.client.endpoint import is_web_address
from toolscout.errors import ConfigurationError

METADATA = "/.well-known/oauth-protected-resource"

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""How a token may be signed: by a pair of keys, never by a shared one."""

TIMEOUT_S = 10.0
"""Seconds for the authorization server to answer at the start."""


class Authorization:
    """Verifies tokens that a server has issued for this gateway.

    Args:
        issuer: the server, as its tokens name it.
        resource: the address of the gateway, as hosts write it; tokens have to be for it.

    Raises:
        ConfigurationError: one is no address, or the server does not say where its keys are.
    """

    def __init__(self, issuer: str, resource: str) -> None:
        for flag, url in (("authorization-server", issuer), ("resource", resource)):
            if not is_web_address(url):
                raise ConfigurationError(f"{flag}: expected an http:// or https:// URL")
        self.metadata = {
            "resource": resource,
            "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"],
        }
        place = urlsplit(resource)
        where = f"{place.scheme}://{place.netloc}{METADATA}{place.path.rstrip('/')}"
        self.challenge = f'Bearer resource_metadata="{where}"'
        keys = _keys_of(issuer)
        self._verifiers = {
            one: JWTVerifier(jwks_uri=keys, issuer=issuer, audience=resource, algorithm=one)
            for one in ALGORITHMS
        }

    async def scopes(self, token: bytes | None) -> list[str] | None:
        """Return the scopes of a token; None if it is not one of the server for this gateway."""
        try:
            text = (token or b"").decode("ascii")
            verifier = self._verifiers[decode_jwt_header(text)["alg"]]
        except (ValueError, KeyError, TypeError):
            return None
        found = await verifier.verify_token(text)
        return None if found is None or found.expires_at is None else found.scopes


def _keys_of(issuer: str) -> str:
    """Return where a server has the keys that its tokens are signed with."""
    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer):
        try:
            answer = httpx2.get(url, timeout=TIMEOUT_S)
            found: dict[str, Any] = answer.json() if answer.is_success else {}
            if found.get("issuer") == issuer and is_web_address(found["jwks_uri"]):
                return str(found["jwks_uri"])
        except (httpx2.HTTPError, ValueError, KeyError, AttributeError, TypeError):
            continue
    raise ConfigurationError(
        f"authorization-server: {issuer} does not say as its issuer where its keys are"
    )
