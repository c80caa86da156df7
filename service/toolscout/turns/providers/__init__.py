"""The providers whose requests a flow understands, by name."""

from toolscout.errors import InvalidArgument
from toolscout.turns.providers.anthropic import Anthropic, AnthropicOnBedrock
from toolscout.turns.providers.bedrock import BedrockConverse
from toolscout.turns.providers.calls import Call
from toolscout.turns.providers.chat import OpenAIChat
from toolscout.turns.providers.fields import Json
from toolscout.turns.providers.gemini import Gemini
from toolscout.turns.providers.native import NativeAnthropic, NativeResponses
from toolscout.turns.providers.provider import Provider, ProviderName
from toolscout.turns.providers.responses import OpenAIResponses

__all__ = ["PROVIDERS", "Call", "Json", "Provider", "ProviderName", "find_native", "get_provider"]


def _load_providers(*providers: Provider) -> dict[ProviderName, Provider]:
    return {provider.name: provider for provider in providers}


PROVIDERS = _load_providers(
    OpenAIChat(),
    OpenAIResponses(),
    Anthropic(),
    BedrockConverse(),
    AnthropicOnBedrock(),
    Gemini(),
)
NATIVE = _load_providers(NativeResponses(), NativeAnthropic())
"""The same interfaces with the provider's own deferred loading, where there is one."""


def find_native(provider: Provider, request: Json) -> Provider | None:
    """Return the native form of an interface, if the model of a request can use it."""
    native = NATIVE.get(provider.name)
    return native if native is not None and native.is_deferring(request) else None


def get_provider(name: ProviderName) -> Provider:
    """Return the provider of a name.

    Raises:
        InvalidArgument: there is none of that name.
    """
    try:
        return PROVIDERS[name]
    except (KeyError, TypeError):
        names = ", ".join(sorted(PROVIDERS))
        raise InvalidArgument(f"provider: expected one of {names}, got {name!r}") from None
