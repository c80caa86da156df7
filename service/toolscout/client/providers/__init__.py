"""The providers whose requests the loop understands, by name."""

from toolscout.client.providers.anthropic import Anthropic
from toolscout.client.providers.bedrock import AnthropicOnBedrock, BedrockConverse
from toolscout.client.providers.gemini import Gemini
from toolscout.client.providers.openai import OpenAIChat
from toolscout.client.providers.provider import Call, Json, Provider
from toolscout.client.providers.responses import OpenAIResponses
from toolscout.errors import InvalidArgument

__all__ = ["PROVIDERS", "Call", "Json", "Provider", "provider_named"]

PROVIDERS: dict[str, Provider] = {
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


def provider_named(name: str) -> Provider:
    """The provider of a name.

    Raises:
        InvalidArgument: there is none of that name.
    """
    try:
        return PROVIDERS[name]
    except (KeyError, TypeError):
        known = ", ".join(sorted(PROVIDERS))
        raise InvalidArgument(f"provider: expected one of {known}, got {name!r}") from None
