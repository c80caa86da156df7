"""What the error of a forward says: whether the request may be at fault, and which part of it."""

import httpx2

FORM = (400, 422)
"""Statuses with which a provider refuses the form of a request."""

CONTENT = (*FORM, 413)
"""Statuses with which a provider refuses what a request holds."""

MAX_REFUSALS = 3
"""Refusals of one turn after which it goes on without the tools that they name."""

MAX_ERROR_CHARS = 20_000
"""Characters of a refusal that are read."""

NATIVE_WORDS = ("defer_loading", "tool_search", "tool_reference")
"""Words of the native form; a refusal of it names one of them."""


def status_of(error: Exception) -> int | None:
    """Return the HTTP status of an SDK's or an HTTP library's error."""
    status = getattr(error, "status_code", None)
    if status is None:
        status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def refuses_form(error: Exception) -> bool:
    """Whether the provider has refused the form of a request."""
    return status_of(error) in FORM


def names_native_form(error: Exception) -> bool:
    """Whether a refusal is about deferred loading.

    One for another reason, such as too long a prompt, says nothing about the model.
    """
    text = text_of_error(error)
    return any(word in text for word in NATIVE_WORDS)


def text_of_error(error: Exception) -> str:
    """Return the words of a refusal, those of the provider among them."""
    text = f"{error} {getattr(getattr(error, 'response', None), 'text', '')}"
    return text[:MAX_ERROR_CHARS]


def may_be_ours(error: Exception) -> bool:
    """Whether a forward after a search may have failed because of what the search has added.

    Limits and failures of the provider, and of the way to it, are for the caller to handle.
    """
    status = status_of(error)
    if status is not None:
        return status in CONTENT
    return not isinstance(error, httpx2.TransportError | TimeoutError)
