"""A tool as a caller sends it, and as it is shown."""

from typing import Any

import msgspec

from toolscout.contract.fields import ABSENT, Risk, Status, ToolName


class Tool(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One tool as a caller sends it. `name` identifies it; everything else is optional text."""

    name: ToolName
    description: str | None = None
    definition: msgspec.Raw = ABSENT
    parameters: msgspec.Raw = ABSENT
    namespace: str | None = None
    domain: str | None = None
    tags: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None
    examples: Any = None
    """Requests that it serves; providers' examples of inputs, which are no texts, are ignored."""
    source: str | None = None
    capabilities: tuple[str, ...] | None = None
    risk: Risk | None = None
    annotations: msgspec.Raw = ABSENT
    status: Status | None = None
    required_keys: tuple[str, ...] | None = None


RAW_FIELDS = ("definition", "parameters", "annotations")
"""The fields of a tool that stay raw JSON."""


class ToolDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """A selected tool at the requested level of detail.

    `names`: the name. `brief`: a summary (the first sentence, 200 characters at most), parameters,
    risk and what else is known, estimated tokens of the brief and of the whole tool. `full`: the
    whole description and the JSON Schema of the input besides. `definition` comes with
    `include_definitions`, as it was sent.
    """

    name: str
    summary: str | None = None
    parameters: list[str] | None = None
    required: list[str] | None = None
    """The parameters that a call must have; absent if none."""
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    status: Status | None = None
    """`unavailable` for a tool that is never selected."""
    risk: Risk | None = None
    requires_full_schema: bool | None = None
    """Whether a model should see the whole schema before it calls: it writes elsewhere or
    destroys."""
    requires_confirmation: bool | None = None
    """Whether a person should confirm a call: it destroys."""
    namespace: str | None = None
    domain: str | None = None
    tags: tuple[str, ...] | None = None
    source: str | None = None
    capabilities: tuple[str, ...] | None = None
    required_keys: tuple[str, ...] | None = None
    tokens_brief: int | None = None
    tokens_full: int | None = None
    uses: int | None = None
    """Calls reported for this version of the tool; absent if none."""
    success_rate: float | None = None
    """The share of these calls that succeeded, 0 to 1."""
    typical_duration_ms: float | None = None
    """Running mean of the reported durations of successful calls, in milliseconds."""
    definition: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
