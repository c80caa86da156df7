"""What of a request tells its caller from others who begin with the same words."""

import re
from collections.abc import Collection

import httpx2

CALLER_HEADERS = (
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "openai-organization",
    "openai-project",
    "x-forwarded-user",
)
"""Headers that name the caller. Together they keep equal conversations of two callers apart.

Headers that differ from request to request are none: they would take a conversation apart.
"""

CALLER_PREFIX = "x-portkey-"
"""How the headers begin by which Portkey tells callers, but for those about single requests."""

_OF_A_REQUEST = re.compile("trace|span|timeout|retry|cache|debug")

_OF_CONNECTIONS = (
    "__cf",
    "_cf",
    "AWSALB",
    "AWSELB",
    "GCLB",
    "BIGipServer",
    "ARRAffinity",
    "INGRESSCOOKIE",
    "_ga",
    "_gid",
    "_gat",
    "_gcl",
    "__utm",
    "_fbp",
    "_hj",
    "_pk_",
    "_clck",
    "_clsk",
    "_dd_s",
    "ajs_",
    "mp_",
    "ph_",
    "amp_",
    "AMP_",
)
"""How cookies of load balancers and of analytics begin, which do not tell callers."""

CALLER_QUERY = "key"
"""Parameter of the URL in which Gemini takes a key."""


def find_scope(request: httpx2.Request, scope_headers: Collection[str]) -> str:
    """Return what tells a caller, in these headers, too; the same in all of its requests."""
    headers = sorted(request.headers.multi_items())
    telling = {*CALLER_HEADERS, *scope_headers}
    values = [
        f"{name}={value}"
        for name, value in headers
        if name in telling or (name.startswith(CALLER_PREFIX) and not _OF_A_REQUEST.search(name))
    ]
    cookies = map(str.strip, request.headers.get("cookie", "").split(";"))
    values += sorted(one for one in cookies if one and not one.startswith(_OF_CONNECTIONS))
    return "\n".join([*values, *request.url.params.get_list(CALLER_QUERY)])
