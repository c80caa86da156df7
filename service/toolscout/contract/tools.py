"""A tool as a caller sends it, and as it is shown."""

from typing import Any

import msgspec

from toolscout.contract.fields import ABSENT, Risk, Status, ToolName


class Tool(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One tool as a caller sends it. `name` identifies it; everything else is optional text."""

    name: ToolName
    """Identifies the tool."""
    description: str | None = None
    """What it does."""
    definition: msgspec.Raw = ABSENT
    """The tool as its provider's API takes it, any shape; for a tool that is sent in a provider's
    shape, that shape."""
    parameters: msgspec.Raw = ABSENT
    """JSON Schema of the input if the definition has none."""
    namespace: str | None = None
    """Given, or the prefix of the name: `git.commit`."""
    domain: str | None = None
    """Given, or inferred from domain words in name and description."""
    tags: tuple[str, ...] | None = None
    """Labels; searched and filtered by."""
    keywords: tuple[str, ...] | None = None
    """Searched like text."""
    examples: Any = None
    """Requests that this tool serves, in users' words; similar ones find it (the first 16 count;
    entries that are no texts are ignored)."""
    source: str | None = None
    """Where it comes from."""
    capabilities: tuple[str, ...] | None = None
    """What tools can do, in terms that the caller defines; of tools without any, `read`, `write` or
    `delete` by their risk, for filters."""
    risk: Risk | None = None
    """Given, or inferred from MCP annotations or verbs."""
    annotations: msgspec.Raw = ABSENT
    """MCP's hints: `readOnlyHint`, `destructiveHint`."""
    status: Status | None = None
    """`unavailable` tools are never selected."""
    required_keys: tuple[str, ...] | None = None
    """Credentials that a call needs."""


RAW_FIELDS = ("definition", "parameters", "annotations")
"""The fields of a tool that stay raw JSON."""


class ToolDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """A selected tool at the requested level of detail.

    `names`: the name. `brief`: a summary (the first sentence, 200 characters at most), parameters,
    risk and what else is known, estimated tokens of the brief and of the whole tool. `full`: the
    whole description and the JSON Schema of the input besides. `stub`, `stub_python`: the summary
    and a typed signature, of tools that only read, or of a risk up to that of the filters.
    `definition` comes with `include_definitions`, as it was sent.
    """

    name: str
    """The tool's name."""
    summary: str | None = None
    """The first sentence."""
    parameters: list[str] | None = None
    """Their names."""
    required: list[str] | None = None
    """Parameters that a call must have."""
    description: str | None = None
    """The whole description."""
    input_schema: dict[str, Any] | None = None
    """JSON Schema of the input."""
    status: Status | None = None
    """`unavailable` tools are never selected."""
    risk: Risk | None = None
    """Given, or inferred from MCP annotations or verbs."""
    requires_full_schema: bool | None = None
    """Whether a model should see the whole schema before it calls."""
    requires_confirmation: bool | None = None
    """Whether a person should confirm a call."""
    namespace: str | None = None
    """Given, or the prefix of the name: `git.commit`."""
    domain: str | None = None
    """Given, or inferred from domain words in name and description."""
    tags: tuple[str, ...] | None = None
    """Words that group tools."""
    source: str | None = None
    """Where it comes from."""
    capabilities: tuple[str, ...] | None = None
    """What tools can do, in terms that the caller defines; of tools without any, `read`, `write` or
    `delete` by their risk, for filters."""
    required_keys: tuple[str, ...] | None = None
    """Credentials that a call needs."""
    stub: str | None = None
    """The typed signature; no other in the answer has its function's name."""
    tokens_brief: int | None = None
    """Estimated tokens of the brief."""
    tokens_stub: int | None = None
    """Estimated tokens of the signature."""
    tokens_full: int | None = None
    """Estimated tokens of the whole tool."""
    uses: int | None = None
    """Reported calls of this version of the tool; absent if none."""
    success_rate: float | None = None
    """Share of successful calls, 0 to 1."""
    typical_duration_ms: float | None = None
    """A running mean of successful calls."""
    definition: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """As it was sent."""
