"""Pictures beside what a user says, in the shapes of three interfaces."""

from base64 import b64encode
from random import Random

from tests.turns.turns import Json

DATA = b64encode(Random(2).randbytes(2_000_000)).decode()
"""A picture of 2 MB, as far as anybody looks at it."""

_URL = f"data:image/png;base64,{DATA}"

_PICTURES: dict[str, Json] = {
    "openai": {"type": "image_url", "image_url": {"url": _URL}},
    "openai-responses": {"type": "input_image", "image_url": _URL},
    "anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": DATA},
    },
}
_TEXT = {"openai-responses": "input_text"}


def show(interface: str, text: str, count: int) -> str | list[Json]:
    """Return the content of a message with so many pictures and a text."""
    if not count:
        return text
    said = {"type": _TEXT.get(interface, "text"), "text": text}
    return [*[_PICTURES[interface]] * count, said]
