"""What the tests of feedback and of chains share: two tenants' keys, and calls of the service."""

from typing import Any

from tests.conftest import ACME_NEW, ACME_OLD, ZENITH
from tests.support import Server

FEEDBACK, LEARNING = "/v1/tool-discovery/feedback", "/v1/learning"
HOT = "/v1/tool-discovery/hot"
WORKED: dict[str, Any] = {"pattern": "ship the parcel", "tool": "resize_image", "success": True}
KEYS = f"acme={ACME_OLD},acme={ACME_NEW},zenith={ZENITH}"


def tell(server: Server, body: Any, key: str = ACME_OLD) -> Any:
    return server.post(body, FEEDBACK, {"x-api-key": key})


def names(server: Server, key: str = ACME_OLD, **fields: Any) -> list[str]:
    return server.names("ship the parcel", headers={"x-api-key": key}, **fields)


def known(server: Server, key: str = ACME_OLD) -> Any:
    return server.get(LEARNING, **{"x-api-key": key}).json()
