"""What has been compiled is kept, up to a number of bytes, apart per tenant."""

import gc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ENGINE, TOOLS, crowd
from toolscout.common.lru import Lru
from toolscout.index.cache import CatalogCache
from toolscout.index.compile import Compiler
from toolscout.index.tool_list import ToolList
from toolscout.tools.conversion import NONE_SKIPPED


class CountingStore:
    """A store of compiled tools that remembers what had to be compiled."""

    def __init__(self) -> None:
        self.tools: dict[bytes, Any] = {}
        self.compiled = 0

    def get(self, digest: bytes) -> Any:
        return self.tools.get(digest)

    def put(self, digest: bytes, tool: Any) -> None:
        self.compiled += 1
        self.tools[digest] = tool


def listed(tools: list) -> ToolList:
    return ToolList.decode(msgspec.json.encode(tools))


def test_one_changed_tool_compiles_one_tool():
    store = CountingStore()
    compiler: Compiler = ENGINE.compiler
    compiler.compile(listed(TOOLS), store)
    assert store.compiled == len(TOOLS)
    changed = [*TOOLS[:-1], TOOLS[-1] | {"description": "Another text"}]
    compiler.compile(listed(changed), store)
    assert store.compiled == len(TOOLS) + 1


def test_kept_tools_are_not_walked_by_the_garbage_collector():
    store = CountingStore()
    tools = listed(crowd(500, "lintel"))
    gc.collect()
    before = len(gc.get_objects())
    kept = ENGINE.compiler.compile(tools, store)
    gc.collect()  # finds tuples that hold no containers
    gc.collect()  # and then those that held such tuples
    assert len(gc.get_objects()) - before < len(kept) / 2


def test_a_catalog_of_kept_tools_answers_like_a_fresh_one():
    store = CountingStore()
    ENGINE.compiler.compile(listed(TOOLS + crowd(20)), store)
    kept = ENGINE.compiler.compile(listed(TOOLS), store)
    fresh = ENGINE.compiler.compile(listed(TOOLS), CountingStore())
    assert kept.digest == fresh.digest
    assert kept.names == fresh.names
    assert kept.nbytes == fresh.nbytes > 0


def test_a_lexical_catalog_is_there_before_its_vectors():
    lexical, parts = ENGINE.compiler.lexical(listed(TOOLS), CountingStore())
    assert lexical.vectors is None
    complete = ENGINE.compiler.embed(lexical, parts)
    assert complete.vectors is not None
    assert complete.vectors.size == len(TOOLS)
    assert complete.nbytes > lexical.nbytes


def test_catalogs_are_found_by_digest_and_by_bytes():
    cache = CatalogCache()
    tools = listed(TOOLS + TOOLS)
    catalog = ENGINE.compiler.compile(tools, cache.tools("acme"))
    cache.add("acme", catalog)
    cache.add_alias("acme", b"raw", tools)
    assert cache.find_by_digest("acme", tools.digest) is catalog
    assert cache.find_by_alias("acme", b"raw") == (catalog, 2 * len(TOOLS), NONE_SKIPPED)
    assert cache.find_by_alias("acme", b"other") is None
    assert cache.find_by_digest("acme", "other") is None
    assert len(cache) == 1
    assert cache.nbytes > 0


def test_lists_are_found_where_they_stand_in_a_body():
    cache = CatalogCache()
    first, second = b"[" + b"1," * 100 + b"1]", b"[" + b"1," * 100 + b"2]"
    cache.keep_list("acme", first, b"hash of the first")
    cache.keep_list("acme", second, b"hash of the second")
    for raw, raw_hash in ((first, b"hash of the first"), (second, b"hash of the second")):
        body = b'{"tools":' + raw + b',"top_k":3}'
        assert cache.find_list("acme", body, 9) == (len(raw), raw_hash)
        assert cache.find_list("acme", body, 8) is None
        assert cache.find_list("zenith", body, 9) is None
    assert cache.find_list("acme", b'{"tools":' + first[:-1] + b",1]}", 9) is None
    assert cache.nbytes == len(first) + len(second)


def test_only_the_latest_lists_that_begin_alike_are_kept():
    cache = CatalogCache()
    lists = [b"[" + b"1," * 100 + b"%d]" % number for number in range(10)]
    for raw in lists:
        cache.keep_list("acme", raw, raw[-3:])
    found = [cache.find_list("acme", raw, 0) is not None for raw in lists]
    assert found == [False] * 6 + [True] * 4


def test_tenants_are_kept_apart():
    cache = CatalogCache()
    tools = listed(TOOLS)
    catalog = ENGINE.compiler.compile(tools, cache.tools("acme"))
    cache.add("acme", catalog)
    cache.add_alias("acme", b"raw", tools)
    assert cache.find_by_digest("zenith", tools.digest) is None
    assert cache.find_by_alias("zenith", b"raw") is None
    assert cache.tools("zenith").get(tools.digests[0]) is None
    assert cache.tools("acme").get(tools.digests[0]) is not None


def test_the_cache_stays_within_its_bytes():
    limit = 400_000
    cache = CatalogCache(limit)
    for number in range(30):
        tools = listed(crowd(40, f"part{number}x"))
        cache.add("acme", ENGINE.compiler.compile(tools, cache.tools("acme")))
        assert cache.nbytes <= limit
    assert 0 < len(cache) < 30


def test_an_evicted_catalog_is_forgotten_by_its_bytes_too():
    cache = CatalogCache(1)
    tools = listed(TOOLS)
    cache.add("acme", ENGINE.compiler.compile(tools, cache.tools("acme")))
    cache.add_alias("acme", b"raw", tools)
    assert cache.find_by_alias("acme", b"raw") is None


def test_the_least_recently_used_goes_first():
    lru: Lru[str, int] = Lru(30)
    for key in "abc":
        lru.put(key, 1, 10)
    assert lru.get("a") == 1
    lru.put("d", 1, 10)
    assert [lru.get(key) for key in "abcd"] == [1, None, 1, 1]


def test_what_is_larger_than_everything_is_not_kept():
    lru: Lru[str, int] = Lru(30)
    lru.put("small", 1, 30)
    lru.put("large", 2, 31)
    assert lru.get("large") is None
    assert lru.get("small") == 1


@pytest.mark.parametrize("size", [5, 40])
def test_replacing_a_value_replaces_its_bytes(size: int):
    lru: Lru[str, int] = Lru(30)
    lru.put("a", 1, 10)
    lru.put("a", 2, size)
    assert lru.size == (size if size <= 30 else 0)
    assert lru.get("a") == (2 if size <= 30 else None)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 50)), max_size=60))
def test_bytes_are_the_sum_of_what_is_kept(puts):
    lru: Lru[str, int] = Lru(100)
    for key, size in puts:
        lru.put(key, size, size)
        kept = [value for key in "abcdefgh" if (value := lru.get(key)) is not None]
        assert sum(kept) == lru.size <= 100
        assert len(kept) == len(lru)
