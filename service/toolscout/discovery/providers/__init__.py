"""The providers whose requests a flow understands, by name."""

from toolscout.discovery.providers.anthropic import Anthropic, AnthropicOnBedrock
from toolscout.discovery.providers.bedrock import BedrockConverse
from toolscout.discovery.providers.calls import Call
from toolscout.discovery.providers.chat import OpenAIChat
from toolscout.discovery.providers.fields import Json
from toolscout.discovery.providers.gemini import Gemini
from toolscout.discovery.providers.native import NativeAnthropic, NativeResponses
from toolscout.discovery.providers.provider import Provider, ProviderName
from toolscout.discovery.providers.responses import OpenAIResponses
from toolscout.errors import InvalidArgument

__all__ = ["PROVIDERS", "Call", "Json", "Provider", "ProviderName", "native_of", "provider_named"]


def _by_name(*providers: Provider) -> dict[ProviderName, Provider]:
    return {provider.name: provider for provider in providers}


PROVIDERS = _by_name(
    OpenAIChat(),
    OpenAIResponses(),
    Anthropic(),
    BedrockConverse(),
    AnthropicOnBedrock(),
    Gemini(),
)
NATIVE = _by_name(NativeResponses(), NativeAnthropic())
"""The same interfaces with the provider's own deferred loading, where there is one."""


def native_of(provider: Provider, request: Json) -> Provider | None:
    """Return the native form of an interface, if the model of a request can use it."""
    native = NATIVE.get(provider.name)
    return native if native is not None and native.defers(request) else None


def provider_named(name: ProviderName) -> Provider:
    """Return the provider of a name.

    Raises:
        InvalidArgument: there is none of that name.
    """
    try:
        return PROVIDERS[name]
    except (KeyError, TypeError):
        names = ", ".join(sorted(PROVIDERS))
        raise InvalidArgument(f"provider: expected one of {names}, got {name!r}") from None
