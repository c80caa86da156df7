"""What typed handlers get and give: a request over ours, bodies within bounds, entity tags.

Litestar routes them, converts path and query by their signatures and encodes what they return. The
document of the API is made from the same signatures.
"""

from typing import Annotated, Any, TypeVar, get_args

import msgspec
from litestar import Request as LitestarRequest
from litestar import Response
from litestar.dto import AbstractDTO
from litestar.exceptions import ValidationException
from litestar.handlers import HTTPRouteHandler
from litestar.params import HeaderParameter, ParameterKwarg, PathParameter

from toolscout.contract.bounds import CATALOG_NAME, MAX_ANSWER_BYTES
from toolscout.errors import InvalidRequest, put_in_words
from toolscout.learning.learner import Learner
from toolscout.server.calls.decoding import decode, decode_checked
from toolscout.server.context import context_of
from toolscout.server.http.answer import has_tag
from toolscout.server.http.problems import refuse_field, refuse_long
from toolscout.server.http.request import LimitedRequest
from toolscout.server.observe.record import Trace
from toolscout.server.service import Service

T = TypeVar("T")

NOT_BLANK = r"\S"
"""Pattern of a text that says something."""

CatalogId = Annotated[
    str,
    PathParameter(
        description="A registered name, or the digest of a list",
        schema_extra={"pattern": f"^{CATALOG_NAME.pattern}$"},
    ),
]
IfMatch = Annotated[
    str | None,
    HeaderParameter(name="If-Match", description="The entity tag that the catalog must have"),
]
IfNoneMatch = Annotated[
    str | None,
    HeaderParameter(name="If-None-Match", description="The entity tag that is known already"),
]


TAG_CHARS = 16
"""Characters of the overlay's digest in an entity tag."""


class TypedRequest(LitestarRequest[Any, Any, Any]):
    """The request that a typed handler gets."""

    @property
    def service(self) -> Service:
        """The parts of this process."""
        return context_of(self.scope).service

    @property
    def head(self) -> LimitedRequest:
        """The request as it is read within its limits."""
        return context_of(self.scope).request

    @property
    def trace(self) -> Trace:
        """What metrics and log will tell of it."""
        return context_of(self.scope).trace

    @property
    def learner(self) -> Learner:
        """What was learned from reports; only used while learning is on."""
        assert self.service.learner is not None, "guarded by `require_learning`"
        return self.service.learner

    async def body(self) -> bytes:
        """Read the body within its limits.

        Raises:
            Refused: it is none, or it may not be read; see `http.request.Request.json_body`.
        """
        body = await self.head.json_body(self.service.settings)
        if not body:
            decode(body, msgspec.json.decode)
        return body


class BoundedResponse(Response[T]):
    """An answer of a typed handler, of bounded size."""

    def render(self, *arguments: Any) -> bytes:
        """Encode the answer.

        Raises:
            InvalidRequest: it is too long.
        """
        body = super().render(*arguments)
        if len(body) > MAX_ANSWER_BYTES:
            raise refuse_long(len(body), MAX_ANSWER_BYTES)
        return body


class BodyDecoder(AbstractDTO[Any]):
    """Decodes a body that may have tools, which stay raw, with the number of its values bounded."""

    @classmethod
    def create_for_field_definition(cls, *_: Any, **__: Any) -> None:
        """Prepare nothing: a decoder is made of the handler's `data` when it is first needed."""

    def decode_bytes(self, value: bytes) -> Any:
        """Decode a body.

        Raises:
            Refused, InvalidRequest: it is no such body, or a field is misspelt.
        """
        field = self.asgi_connection.route_handler.parsed_data_field
        assert field is not None
        return decode_checked(value, field.annotation)


def tag_content(
    content: T, digest: str, status: int = 200, overlay: str = ""
) -> BoundedResponse[T]:
    """Return an answer with the entity tag of a catalog's content, and of the overlay's rows."""
    headers = {"etag": f'"{_make_tag(digest, overlay)}"', "x-catalog-digest": digest}
    return BoundedResponse(content, headers=headers, status_code=status)


def answer_not_modified(
    if_none_match: str | None, digest: str, overlay: str = ""
) -> Response[Any] | None:
    """Return a 304 if the caller already has this content, else None."""
    if not if_none_match or not has_tag(if_none_match, _make_tag(digest, overlay)):
        return None
    return tag_content(None, digest, 304, overlay)


def _make_tag(digest: str, overlay: str) -> str:
    """Return the tag of what is shown of a catalog, which depends on an overlay, too."""
    return f"{digest}.{overlay[:TAG_CHARS]}" if overlay else digest


def explain_argument(handler: HTTPRouteHandler, error: ValidationException) -> InvalidRequest:
    """Return the error of an argument that a handler's signature does not take."""
    wrong: Any = error.extra
    name = wrong[0]["key"]
    message = put_in_words(wrong[0]["message"])
    field = handler.parsed_fn_signature.parameters[name]
    bounds = field.kwarg_definition
    if choices := get_args(field.annotation):
        message = f"expected one of {', '.join(map(str, choices))}"
    elif isinstance(bounds, ParameterKwarg) and bounds.ge is not None:
        message = f"expected a whole number from {bounds.ge} to {bounds.le}"
    return refuse_field(name, message)
