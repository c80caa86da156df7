"""The providers whose requests a flow understands, by name."""

from toolscout.client.providers.anthropic.messages import Anthropic
from toolscout.client.providers.bedrock import AnthropicOnBedrock, BedrockConverse
from toolscout.client.providers.gemini.generate import Gemini
from toolscout.client.providers.openai.chat import OpenAIChat
from toolscout.client.providers.openai.responses import OpenAIResponses
from toolscout.client.providers.provider import Call, Json, Provider, ProviderName
from toolscout.errors import InvalidArgument

__all__ = ["PROVIDERS", "Call", "Json", "Provider", "ProviderName", "provider_named"]

PROVIDERS: dict[ProviderName, Provider] = {
    provider.name: provider
    for provider in (
        OpenAIChat(),
        OpenAIResponses(),
        Anthropic(),
        BedrockConverse(),
        AnthropicOnBedrock(),
        Gemini(),
    )
}


def provider_named(name: ProviderName) -> Provider:
    """The provider of a name.

    Raises:
        InvalidArgument: there is none of that name.
    """
    try:
        return PROVIDERS[name]
    except (KeyError, TypeError):
        known = ", ".join(sorted(PROVIDERS))
        raise InvalidArgument(f"provider: expected one of {known}, got {name!r}") from None
