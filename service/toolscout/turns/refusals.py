"""What the error of a forward says: whether the request may be at fault, and which part of it.

A provider repeats values of the request in its words, so a field of the error, or the path with
which the words begin, is evidence, and the rest of the words are a guess.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import httpx2

from toolscout.client.offer import Offer
from toolscout.tools.shapes import name_of
from toolscout.turns.providers.fields import decode, mapping, text_at

FORM = (400, 422)
"""Statuses with which a provider refuses the form of a request."""

CONTENT = (*FORM, 413)
"""Statuses with which a provider refuses what a request holds."""

MAX_REFUSALS = 3
"""Refusals of one turn after which it goes on without the tools that they name."""

MAX_ERROR_CHARS = 20_000
"""Characters of a refusal that are read."""

_NATIVE = re.compile(r"\b(?:defer_loading|tool_reference|tool_search(?:_tool\w*|_call|_output)?)\b")
"""Words of the native form; a refusal of it has one of them."""

_MADE_UP = re.compile(
    r"reasoning|thinking|thought|signature|tool_?call|function.?call", re.IGNORECASE
)
"""Words of a refusal of a call that the model did not make: it lacks what led to it."""

Form = Literal["native", "made_up"]
"""Deferred tools that the provider loads by itself, and a call that the model did not make."""

WARNINGS: dict[Form, str] = {
    "native": "model %s takes no deferred tools; they are emulated",
    "made_up": "model %s refuses calls that it did not make; what fits a later message is told in "
    "words, or found by searches",
}
"""What is logged of a model that refuses a form."""

_NATIVE_PARAMS = ("tool", "input", "messages")
"""How the parameters begin that may hold the native form."""

_PLACE = (
    r"tools?[\[.](?P<place>\d+)\]?"
    r"(?:\.function_?declarations\[(?P<declared>\d+)\]|(?P<from_one>\.member))?(?:\.\w+)?"
    r"\.(?:name|description|parameters|input_?schema|schema)\b"
)
"""The name or the schema of a tool by its place: `tools.3.custom.name`, `tools[3].parameters`;
Gemini's is in the declarations of a tool, and Bedrock counts from one: `toolConfig.tools.4.member`.
"""

_SOMEWHERE = re.compile(rf"\b{_PLACE}", re.IGNORECASE)

_BEGINNING = re.compile(
    r"(?:The model returned the following errors: |\d+ validation errors? detected: )?"
    rf"(?:\* |Invalid '|Value at ')?(?:GenerateContentRequest\.|toolConfig\.)?{_PLACE}",
    re.IGNORECASE,
)
"""Words that begin with the place, before any value of the request."""

_NAMED = re.compile(r"\b(?:function|tool)s?(?: name)?\W{1,4}([\w.:-]+)", re.IGNORECASE)
"""A tool by its name: `Invalid schema for function 'f'`."""

_DEFINITION = re.compile(r"schema|parameters|\bname\b", re.IGNORECASE)
"""A part of a tool's definition, in the words of a refusal."""

_OF_FUNCTIONS = ("invalid_function_parameters", "invalid_function_name")
"""Codes of OpenAI's refusals that name the function in their words."""

_OF_LITELLM = re.compile(r"(?:litellm\.)?\w+Error: (?:\w+Error: )?\w+Exception - ")


class Refusal(NamedTuple):
    """The words of a provider, and the fields beside them; empty where it gives none."""

    message: str
    param: str = ""
    code: str = ""


def find_status(error: Exception) -> int | None:
    """Return the HTTP status of an SDK's or an HTTP library's error."""
    status = getattr(error, "status_code", None)
    if status is None:
        response = getattr(error, "response", None)  # botocore's is a mapping
        about = mapping(mapping(response).get("ResponseMetadata"))
        status = getattr(response, "status_code", about.get("HTTPStatusCode"))
    return status if isinstance(status, int) else None


def is_form_refusal(error: Exception) -> bool:
    """Whether the provider has refused the form of a request."""
    return find_status(error) in FORM


def is_about_native_form(error: Exception) -> bool:
    """Whether a refusal is about deferred loading.

    One for another reason, such as too long a prompt, says nothing about the model.
    """
    message, param, _ = read_refusal(error)
    if param and not param.startswith(_NATIVE_PARAMS):
        return False
    if _SOMEWHERE.match(param) or _BEGINNING.match(message):
        return False
    return bool(_NATIVE.search(f"{param} {message}"))


def find_form(error: Exception) -> Form | None:
    """Return the form that a refusal speaks of."""
    if not is_form_refusal(error):
        return None
    if is_about_native_form(error):
        return "native"
    message = read_refusal(error).message
    return "made_up" if _MADE_UP.search(message) else None


def find_named_tools(error: Exception, sent: Sequence[Any]) -> tuple[set[str], bool]:
    """Return the sent tools whose name or schema is refused, and whether that is evident.

    Evident is what a field of the error says, or the path with which its words begin.
    """
    if not is_form_refusal(error):
        return set(), False
    message, param, code = read_refusal(error)
    names = [name_of(mapping(tool)) for tool in Offer(sent).everything]
    evident = {*_find_placed(_SOMEWHERE.match(param), names)}
    if not param:
        evident |= {*_find_placed(_BEGINNING.match(message), names)}
    if code in _OF_FUNCTIONS and not evident:
        evident |= {*_find_named(message, names)}
    if evident:
        return evident, True
    if (param and param != "tools") or is_about_native_form(error):
        return set(), False
    guessed: set[str] = set()
    for place in _SOMEWHERE.finditer(message):
        guessed |= {*_find_placed(place, names)}
    if _DEFINITION.search(message):
        guessed |= {*_find_named(message, names)}
    return guessed, False


def read_refusal(error: Exception) -> Refusal:
    """Return what an error of an SDK, of LiteLLM or of an HTTP library holds."""
    body = getattr(error, "body", None)
    text = ""
    if not mapping(body):
        text = _find_text(error)
        with suppress(Exception):  # no JSON
            body = decode(text.encode())
    if isinstance(body, list) and len(body) == 1:
        (body,) = body
    whole = mapping(body)
    fields = mapping(whole.get("error")) or whole
    message = text_at(fields, "message") or text or str(error)
    param = text_at(fields, "param")
    code = text_at(fields, "code")
    return Refusal(message[:MAX_ERROR_CHARS], param, code)


def _find_text(error: Exception) -> str:
    """Return the text of an error's response, else the error's own."""
    text = ""
    with suppress(Exception):  # a response that was not read
        text = error.response.text[:MAX_ERROR_CHARS]  # type: ignore[attr-defined]
    if text:
        return text
    own = str(error)[:MAX_ERROR_CHARS]
    return _OF_LITELLM.sub("", own, count=1)


def _find_placed(match: re.Match[str] | None, names: Sequence[str]) -> Iterator[str]:
    if match is None:
        return
    digits = match["declared"] or match["place"]
    place = int(digits[:6])
    if match["from_one"]:
        place -= 1
    if 0 <= place < len(names) and names[place]:
        yield names[place]


def _find_named(text: str, names: Sequence[str]) -> Iterator[str]:
    whole = {name: name for name in names}
    bare = {name.rpartition(".")[2]: name for name in names}
    known = {**bare, **whole}
    for match in _NAMED.finditer(text):
        written = match[1]
        name = known.get(written.rstrip(".:")) or known.get(written)
        if name:
            yield name


def can_refuse_call(error: Exception) -> bool:
    """Whether a first forward may have failed because of a call that the model did not make.

    Templates of models that cannot write such a call fail with status 500.
    """
    return find_status(error) in (*CONTENT, 500)


def can_be_ours(error: Exception) -> bool:
    """Whether a forward after a search may have failed because of what the search has added.

    Limits and failures of the provider, and of the way to it, are for the caller to handle.
    """
    status = find_status(error)
    if status is not None:
        return status in CONTENT
    return not isinstance(error, httpx2.TransportError | TimeoutError)
