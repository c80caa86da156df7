"""What has been compiled, kept in memory up to a number of bytes.

Maps, all apart per tenant, so that no caller can learn from the speed of an answer what another
has sent:

    first bytes of `tools` →  whole lists      the latest are compared, which hashes nothing
    hash of `tools`        →  catalog digest   an alias: a hit parses no tool
    catalog digest         →  Catalog
    catalog digest         →  the hashes of its entries, by which a changed list is recognised
    tool digest            →  CompiledTool     reused across catalogs

The least recently used entries go first. All methods may be called from any thread.
"""

from typing import Protocol

from toolscout.common.lru import Lru
from toolscout.index.catalog import Catalog
from toolscout.index.changed import LatestLists
from toolscout.index.compiled_tool import CompiledTool
from toolscout.tools.conversion import Skipped

DEFAULT_BYTES = 256 * 1024 * 1024
ALIAS_LIMIT = 16_384
"""Raw-bytes aliases kept; each is a few hundred bytes."""

LATEST_SHARE = 32
"""What part of the limit the hashes of entries may have besides."""

HEAD_BYTES = 160
"""First bytes of a list by which the kept ones are found; a shorter list is hashed."""

MAX_ALIKE = 4
"""Lists with the same first bytes that are kept."""


class Listed(Protocol):
    """A list as far as an alias tells of it."""

    @property
    def digest(self) -> str:
        """The name of its content."""

    @property
    def offered(self) -> int:
        """Its entries."""

    @property
    def skipped(self) -> Skipped:
        """Those that are no tools."""


class TenantTools:
    """One tenant's view of the compiled tools."""

    __slots__ = ("_tenant", "_tools")

    def __init__(self, tools: Lru[tuple[str, bytes], CompiledTool], tenant: str) -> None:
        self._tools = tools
        self._tenant = tenant

    def get(self, digest: bytes) -> CompiledTool | None:
        """Return the compiled tool, if it is still kept."""
        return self._tools.get((self._tenant, digest))

    def put(self, digest: bytes, tool: CompiledTool) -> None:
        """Keep a compiled tool."""
        self._tools.put((self._tenant, digest), tool, tool.nbytes)


class CatalogCache:
    """Catalogs, tools and lists as they were sent, of all tenants, within one byte limit.

    The catalogs have half of it, the lists an eighth.
    """

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self.catalog_limit = limit // 2
        """Bytes of the largest catalog that can be kept."""
        self._catalogs: Lru[tuple[str, str], Catalog] = Lru(self.catalog_limit)
        self._tools: Lru[tuple[str, bytes], CompiledTool] = Lru(limit - limit // 2 - limit // 8)
        self._lists: Lru[tuple[str, bytes], tuple[tuple[bytes, bytes], ...]] = Lru(limit // 8)
        self._aliases: Lru[tuple[str, bytes], tuple[str, int, Skipped]] = Lru(ALIAS_LIMIT)
        self.latest = LatestLists(limit // LATEST_SHARE)
        """Lists by which changed ones are recognised."""

    def find_by_alias(self, tenant: str, raw_hash: bytes) -> tuple[Catalog, int, Skipped] | None:
        """Return the catalog that these very bytes of `tools` were compiled to.

        Besides, how many entries they hold, and which of these were skipped.
        """
        alias = self._aliases.get((tenant, raw_hash))
        if alias is None:
            return None
        catalog = self.find_by_digest(tenant, alias[0])
        return None if catalog is None else (catalog, *alias[1:])

    def find_list(self, tenant: str, body: bytes, start: int) -> tuple[int, bytes] | None:
        """Return length and hash of a kept list that stands at a place of a body."""
        for raw, raw_hash in self._lists.get((tenant, body[start : start + HEAD_BYTES])) or ():
            if body.startswith(raw, start):
                return len(raw), raw_hash
        return None

    def keep_list(self, tenant: str, raw: bytes, raw_hash: bytes) -> None:
        """Keep the bytes of a list that has an alias, in order to compare them."""
        if len(raw) < HEAD_BYTES:
            return
        place = tenant, raw[:HEAD_BYTES]
        alike = [pair for pair in self._lists.get(place) or () if pair[1] != raw_hash]
        kept = ((raw, raw_hash), *alike[: MAX_ALIKE - 1])
        self._lists.put(place, kept, sum(len(one) for one, _ in kept))

    def find_by_digest(self, tenant: str, digest: str) -> Catalog | None:
        """Return the catalog of a digest, if this tenant has sent it."""
        self.latest.touch(tenant, digest)
        return self._catalogs.get((tenant, digest))

    def has_digest(self, tenant: str, digest: str) -> bool:
        """Whether this tenant has sent the catalog of a digest; it counts as no use of it."""
        return self._catalogs.peek((tenant, digest)) is not None

    def drop(self, space: str, digest: str) -> None:
        """Forget a catalog; it is compiled again when its tools are sent."""
        self._catalogs.pop((space, digest))

    def list_catalogs(self) -> list[tuple[str, Catalog]]:
        """Return every catalog with its space."""
        return [(space, catalog) for (space, _), catalog in self._catalogs.items()]

    def add_alias(self, tenant: str, raw_hash: bytes, tools: Listed) -> None:
        """Remember that these bytes of `tools` mean this list."""
        self._aliases.put((tenant, raw_hash), (tools.digest, tools.offered, tools.skipped), 1)

    def add(self, tenant: str, catalog: Catalog) -> None:
        """Keep a complete catalog."""
        self._catalogs.put((tenant, catalog.digest), catalog, catalog.nbytes)

    def tools(self, tenant: str) -> TenantTools:
        """Return the compiled tools of one tenant."""
        return TenantTools(self._tools, tenant)

    @property
    def nbytes(self) -> int:
        """Bytes of everything kept, as estimated."""
        return self._catalogs.size + self._tools.size + self._lists.size

    def __len__(self) -> int:
        return len(self._catalogs)
