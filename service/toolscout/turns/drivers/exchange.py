"""One request of an SDK to a model, and the response to it, as a transport sees them."""

from collections.abc import Mapping
from http import HTTPStatus

import httpx2
import msgspec

from toolscout.contract.bounds import count_values
from toolscout.turns.drivers.callers import find_scope
from toolscout.turns.drivers.pieces import Pieces
from toolscout.turns.drivers.written import MAX_SEARCHED_BYTES, MAX_SEARCHED_VALUES
from toolscout.turns.providers import Json, ProviderName
from toolscout.turns.providers.fields import encode, mapping, object_of
from toolscout.turns.providers.slices import put_slices_back

PATHS: tuple[tuple[str, ProviderName], ...] = (
    ("/chat/completions", "openai"),
    ("/responses", "openai-responses"),
    ("/messages", "anthropic"),
    ("/converse", "bedrock"),
    ("/converse-stream", "bedrock"),
    (":generateContent", "gemini"),
    (":streamGenerateContent", "gemini"),
)
"""How the path of each interface ends, whatever host, prefix or deployment stands before it."""

STREAMING_PATHS = (":streamGenerateContent", "/converse-stream")
"""Interfaces that stream by their path; the others do by the field `stream`."""

MAX_ANSWER_OBJECTS = 80_000
"""Maximum opening braces of an answer that is looked into: walking through so many calls takes
200 ms, and 4,000 tokens with 15 log probabilities each have fewer.
"""

_FRAMING = ("content-length", "content-encoding", "transfer-encoding")
"""Headers about bytes that are written anew."""

END_OF_EVENT = b"\n\n"
"""Fed after every stream, because some end without it."""

_ONCE = "idempotency-key"

_SIGNATURE = "AWS4-"
"""Start of an `Authorization` that signs the body, so that no other body can be sent under it."""


ENCODINGS = ("", "identity", "gzip", "deflate")
"""Encodings of answers that can be decoded; requests are forwarded with these alone."""

TOO_LARGE = (
    f"the model's answer after a search has more than {MAX_SEARCHED_BYTES} bytes, "
    "or is not encoded as it says"
)


class UnreadError(httpx2.HTTPError):
    """A response that is too large to be looked into, or cannot be decoded; its pieces are raw."""

    def __init__(self, response: httpx2.Response, pieces: Pieces) -> None:
        super().__init__(TOO_LARGE)
        self.response = response
        self.pieces = pieces


class UnsentError(httpx2.TransportError):
    """A request could not be sent, or its answer not be read, for a cause that is not HTTP's.

    Such a cause is the caller's to see, as an event loop that is closed: the provider may have
    answered already, so nothing is sent again.
    """


class ProviderError(httpx2.HTTPError):
    """A response that no flow can read: an error of the provider, or no JSON object."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__(f"the model's API answered with status {response.status_code}")
        self.response = response

    @property
    def status_code(self) -> int:
        """The HTTP status, under the name that the SDKs' errors have."""
        return self.response.status_code

    @property
    def error(self) -> Json:
        """What the provider says of the error, or what is known where it says nothing."""
        body = object_of(self.response.content) or {}
        error = mapping(body.get("error", body))
        if isinstance(error.get("message"), str):
            return error
        return {"type": "api_error", "code": str(self.status_code), "message": str(self)}


class Exchange(msgspec.Struct):
    """A request that holds a body of a known provider."""

    request: httpx2.Request
    provider: ProviderName
    body: Json
    slices: Mapping[bytes, bytes] = {}
    """Texts that were cut out of the body, by the text that stands for each there."""
    is_searched: bool = True
    """Whether its tools may be deferred; not where it holds too much to be read."""
    scope_headers: tuple[str, ...] = ()
    """Further headers that tell callers apart, in lower case."""
    in_thread: bool = False
    """Whether it is prepared beside the event loop."""
    forwards: int = 0
    """How often it was forwarded."""
    last: httpx2.Response | None = None
    """The last whole answer to it."""

    @property
    def streams(self) -> bool:
        """Whether the response is a stream of events."""
        return self.body.get("stream") is True or self.request.url.path.endswith(STREAMING_PATHS)

    @property
    def address(self) -> str:
        """Host and path, which with some providers has the model."""
        return f"{self.request.url.host}{self.request.url.path}"

    @property
    def scope(self) -> str:
        """What tells the caller from others who begin with the same words."""
        return find_scope(self.request, self.scope_headers)

    def forward(self, body: Json) -> httpx2.Request:
        """Return the request with another body, whose response can be decoded here."""
        request = self.request
        headers = _drop_framing(request.headers)
        is_packed = "gzip" in headers.get("accept-encoding", "")  # a large answer stays as it came
        headers["accept-encoding"] = "gzip, deflate" if is_packed else "identity"
        self.forwards += 1
        if self.forwards > 1 and _ONCE in headers:  # a provider would repeat its first answer
            headers[_ONCE] = f"{headers[_ONCE]}-{self.forwards}"
        content = put_slices_back(encode(body), self.slices)
        extensions = request.extensions
        return httpx2.Request(
            request.method, request.url, headers=headers, content=content, extensions=extensions
        )


def find_provider(request: httpx2.Request) -> ProviderName | None:
    """Return whose interface a request is for, however packed; None if it is not to be read."""
    url = request.url
    is_json_sent = "json" in request.headers.get("content-type", "")
    if request.method != "POST" or not is_json_sent or is_signed(request):
        return None
    if url.path.endswith(":streamGenerateContent") and url.params.get("alt") != "sse":
        return None  # an array of JSON, which no SDK of Google's asks for
    return next((name for end, name in PATHS if url.path.endswith(end)), None)


def is_signed(request: httpx2.Request) -> bool:
    """Return whether a signature covers the body, so that no other can be sent under it."""
    return str(request.headers.get("authorization", "")).startswith(_SIGNATURE)


def decode_json(response: httpx2.Response) -> Json:
    """Return the body of a response that was read.

    Raises:
        ProviderError: it is an error, or no JSON object.
    """
    body = object_of(response.content)
    if response.is_error or body is None:
        raise ProviderError(response)
    return body


def make_response(
    response: httpx2.Response,
    body: bytes | httpx2.SyncByteStream | httpx2.AsyncByteStream,
    is_raw: bool = False,
) -> httpx2.Response:
    """Return a response with another body, or with its own, decoded or raw."""
    key = "content" if isinstance(body, bytes) else "stream"
    return httpx2.Response(
        response.status_code,
        headers=response.headers if is_raw else _drop_framing(response.headers),
        extensions=response.extensions,
        **{key: body},  # type: ignore[arg-type]
    )


def is_json(response: httpx2.Response) -> bool:
    """Return whether a response is labelled as a single JSON value."""
    return _read_type(response) == "application/json"


def is_page(response: httpx2.Response) -> bool:
    """Return whether a response is labelled as HTML, as a gateway between may answer."""
    return _read_type(response) == "text/html"


def _read_type(response: httpx2.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def can_decode(response: httpx2.Response) -> bool:
    """Return whether the content of a response is encoded in a way that was asked for."""
    return response.headers.get("content-encoding", "").strip().lower() in ENCODINGS


def decode_content(response: httpx2.Response, content: bytes) -> bytes | None:
    """Decode the whole content of a response; None if it cannot be, or has too much to be read."""
    if response.headers.get("content-encoding", "").strip().lower() in ENCODINGS[:2]:
        body = content
    else:
        made = httpx2.Response(200, headers=response.headers, stream=httpx2.ByteStream(content))
        read = bytearray()
        try:
            for piece in made.iter_bytes():  # small ones: 64 KiB may hold 64 MiB
                read += piece
                if len(read) > MAX_SEARCHED_BYTES:
                    return None
        except httpx2.DecodingError:
            return None
        body = bytes(read)
    is_read = count_values(body) <= MAX_SEARCHED_VALUES and body.count(b"{") <= MAX_ANSWER_OBJECTS
    return body if is_read else None


def make_gateway_error(message: str) -> httpx2.Response:
    """Return an error of status 502 in a shape that the SDKs of every provider read."""
    kind = {"type": "api_error", "code": HTTPStatus.BAD_GATEWAY, "message": message}
    return httpx2.Response(HTTPStatus.BAD_GATEWAY, json={"type": "error", "error": kind})


def _drop_framing(headers: httpx2.Headers) -> httpx2.Headers:
    kept = httpx2.Headers(headers)  # whose bytes stay as they came
    for name in _FRAMING:
        kept.pop(name, None)
    return kept
