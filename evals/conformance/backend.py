"""What is asked over HTTP whether it keeps the contract between a proxy and a selector."""

import json
from collections.abc import Mapping
from typing import Any

import httpx2

PATH = "/v1/tool-discovery/search"
NEWER_PATH = "/api/compress/tool-discovery/"
"""The path of the newer contract, which proxies post to with and without the last slash."""

MAX_ERROR_BYTES = 4_096
"""Bytes of a refusal: callers write the whole of it into their logs."""

TIMEOUT_S = 30.0


class BrokenRuleError(Exception):
    """A backend does not keep a rule; says how."""


def demand(holds: object, otherwise: str) -> None:
    """Check a part of a rule.

    Raises:
        BrokenRuleError: it does not hold.
    """
    if not holds:
        raise BrokenRuleError(otherwise)


class Backend:
    """A service at an address, asked as proxies ask it: one connection, which is kept."""

    def __init__(self, url: str, key: str = "") -> None:
        headers = {"User-Agent": "Go-http-client/1.1", "Accept-Encoding": "gzip"}
        if key:
            headers |= {"Authorization": f"Bearer {key}", "X-API-Key": key}
        self._client = httpx2.Client(base_url=url, headers=headers, timeout=TIMEOUT_S)

    def close(self) -> None:
        """Close its connection."""
        self._client.close()

    def post(self, body: object, path: str = PATH) -> httpx2.Response:
        """Post a body: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._client.post(
            path, content=content, headers={"Content-Type": "application/json"}
        )

    def search(self, **fields: Any) -> list[str]:
        """Return the names of an answer that has to be one.

        Raises:
            BrokenRuleError: it is a refusal, or has no list of names.
        """
        response = self.post(fields)
        demand(response.status_code == httpx2.codes.OK, f"status {response.status_code}")
        names = answer_of(response).get("selected_names")
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        demand(is_list, "selected_names is no list of texts")
        return list(names or ())

    def refuse(self, body: object, statuses: tuple[int, ...], path: str = PATH) -> httpx2.Response:
        """Return the refusal of a body that is wrong.

        Raises:
            BrokenRuleError: it was answered, or refused otherwise or at length.
        """
        response = self.post(body, path)
        expected = " or ".join(map(str, statuses))
        demand(response.status_code in statuses, f"status {response.status_code}, not {expected}")
        demand(len(response.content) <= MAX_ERROR_BYTES, f"{len(response.content)} bytes")
        return response


def answer_of(response: httpx2.Response) -> Mapping[str, Any]:
    """Return an answer that has to be a JSON object.

    Raises:
        BrokenRuleError: it is something else.
    """
    try:
        answer = response.json()
    except ValueError:
        answer = None
    demand(isinstance(answer, dict), "the answer is no JSON object")
    return dict(answer or {})
