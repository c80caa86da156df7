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
    ttl_s: Ttl | None = None
    keep: Literal["whole", "postgres"] = "whole"
    """Where its tools are kept: whole, or one by one in PostgreSQL, for very many."""


class CatalogPatch(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to a registered catalog, made together or not at all."""

    upsert: msgspec.Raw = ABSENT
    """Tools to add; they replace tools of the same name."""
    remove: Names | None = None
    status: Annotated[dict[str, Status], msgspec.Meta(max_length=MAX_STATUSES)] | None = None
    """Tools to make available or unavailable, by name."""
    ttl_s: Ttl | None = None


class CatalogInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A catalog's metadata; an unregistered digest has only a size."""

    id: str
    digest: str
    tools: int
    version: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None
    keep: Literal["postgres"] | None = None
    """Where its tools are, if not whole in the store."""


class ToolPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of a catalog, sorted by name; the last one has no `next_cursor`."""

    tools: list[ToolDetail]
    total: int
    next_cursor: str | None = None


class SchemasRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Names of the tools whose schemas are requested."""

    names: Annotated[tuple[ToolName, ...], msgspec.Meta(min_length=1, max_length=MAX_RESOLVED)]


class SchemaError(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name that matches no tool, with similar names if there are any."""

    name: str
    ambiguous: list[str] | None = None
    suggestions: list[str] | None = None


class SchemasAnswer(msgspec.Struct, frozen=True):
    """The tools that were found, in the order of the names; `count` of them."""

    schemas: list[ToolDetail]
    errors: list[SchemaError]
    count: int


class CompletionAnswer(msgspec.Struct, frozen=True):
    """Names with the requested prefix."""

    names: list[str]


class IndexEntry(msgspec.Struct, frozen=True):
    """A tool in a line of at most 120 characters."""

    name: str
    summary: str


class IndexAnswer(msgspec.Struct, frozen=True):
    """Every tool in a line, in the order of names."""

    digest: str
    tools: list[IndexEntry]


class OverviewAnswer(msgspec.Struct, frozen=True):
    """A catalog in at most 500 tokens of text, and how many tools each domain has."""

    digest: str
    tools: int
    domains: dict[str, int]
    text: str
