"""A small MCP server over HTTP that asks for OAuth: `guarded.py PORT ISSUER`."""

import sys

from fastmcp import FastMCP
from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from fastmcp.server.dependencies import get_access_token
from pydantic import AnyHttpUrl

READS = {"readOnlyHint": True}


def served(port: int, issuer: str) -> FastMCP:
    """Return the server, which verifies tokens of an issuer that are for itself."""
    url = f"http://127.0.0.1:{port}"
    verifier = JWTVerifier(jwks_uri=f"{issuer}/jwks", issuer=issuer, audience=f"{url}/mcp")
    issuers = [AnyHttpUrl(issuer)]
    auth = RemoteAuthProvider(verifier, issuers, url, scopes_supported=["notes"])
    server = FastMCP("guarded", auth=auth)

    @server.tool(annotations=READS)
    def whose_diary() -> str:
        """Tell whose diary this is."""
        token = get_access_token()
        return "nobody's" if token is None else str(token.claims["sub"])

    return server


if __name__ == "__main__":
    port = int(sys.argv[1])
    served(port, sys.argv[2]).run("http", port=port, show_banner=False)
