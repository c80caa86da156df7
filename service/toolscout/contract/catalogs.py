"""Registered catalogs and their tools."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from toolscout.contract.bounds import MAX_RESOLVED, MAX_STATUSES
from toolscout.contract.fields import ABSENT, Names, Status, ToolName, Ttl
from toolscout.contract.tools import ToolDetail


class CatalogPut(msgspec.Struct, frozen=True, kw_only=True):
    """A tool list to register, for some seconds or until it is deleted."""

    tools: msgspec.Raw
    """The list to register."""
    ttl_s: Ttl | None = None
    """Seconds until it expires; it never expires if absent."""
    keep: Literal["whole", "postgres"] | None = "whole"
    """`postgres` keeps the tools one by one in PostgreSQL, for more than a process can hold: at
    most 1,000 with each request, further ones by PATCH or `toolscout import --tools`; other calls
    than searches, batches, `hot` and tools by name are refused (`catalog_too_large_for`)."""


class CatalogPatch(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a registered catalog, made together or not at all."""

    upsert: msgspec.Raw = ABSENT
    """Tools to add; they replace tools of the same name."""
    remove: Names | None = None
    """Names to remove."""
    status: Annotated[dict[str, Status], msgspec.Meta(max_length=MAX_STATUSES)] | None = None
    """Tools to make available or unavailable, by name."""
    ttl_s: Ttl | None = None
    """Seconds until it expires; it never expires if absent."""


class CatalogInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A catalog's metadata; an unregistered digest has only a size."""

    id: str
    """Its name, or the digest."""
    digest: str
    """Digest of the content, and entity tag."""
    tools: int
    """How many."""
    version: int | None = None
    """Number of changes to the content."""
    created_at: datetime | None = None
    """Time, for registered catalogs."""
    updated_at: datetime | None = None
    """Time, for registered catalogs."""
    expires_at: datetime | None = None
    """Time, if `ttl_s` was given."""
    keep: Literal["postgres"] | None = None
    """`postgres` keeps the tools one by one in PostgreSQL, for more than a process can hold: at
    most 1,000 with each request, further ones by PATCH or `toolscout import --tools`; other calls
    than searches, batches, `hot` and tools by name are refused (`catalog_too_large_for`)."""


class ToolPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of a catalog, sorted by name; the last one has no `next_cursor`."""

    tools: list[ToolDetail]
    """In the order of names."""
    total: int
    """Tools of the catalog."""
    next_cursor: str | None = None
    """Absent on the last page."""


class SchemasRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the tools whose schemas are requested."""

    names: Annotated[tuple[ToolName, ...], msgspec.Meta(min_length=1, max_length=MAX_RESOLVED)]
    """Names in any spelling."""


class SchemaError(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name that matches no tool, with similar names if there are any."""

    name: str
    """The tool's name."""
    ambiguous: list[str] | None = None
    """The tools that match equally well."""
    suggestions: list[str] | None = None
    """Similar names, the most similar first."""


class SchemasAnswer(msgspec.Struct, frozen=True):
    """The tools that were found, in the order of the names; `count` of them."""

    schemas: list[ToolDetail]
    """The tools found, in the order of the names."""
    errors: list[SchemaError]
    """Names that match no tool, with similar names."""
    count: int
    """How many."""


class CompletionAnswer(msgspec.Struct, frozen=True):
    """Names with the requested prefix."""

    names: list[str]
    """In the order of names."""


class IndexEntry(msgspec.Struct, frozen=True):
    """A tool in a line of at most 120 characters."""

    name: str
    """The tool's name."""
    summary: str
    """The first sentence."""


class IndexAnswer(msgspec.Struct, frozen=True):
    """Every tool in a line, in the order of names."""

    digest: str
    """Digest of the content, and entity tag."""
    tools: list[IndexEntry]
    """Every tool, in the order of names."""


class OverviewAnswer(msgspec.Struct, frozen=True):
    """A catalog in at most 500 tokens of text, and how many tools each domain has."""

    digest: str
    """Digest of the content, and entity tag."""
    tools: int
    """How many."""
    domains: dict[str, int]
    """How many tools each has."""
    text: str
    """At most 500 tokens."""
