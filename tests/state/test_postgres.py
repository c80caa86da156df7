"""The store on PostgreSQL keeps the contract, on a real server; its schema goes up and down."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.attacks.peers import STORES
from tests.attacks.peers import store as peer
from tests.postgres_server import PostgresServer
from tests.state.contract import StoreContract
from toolscout.errors import ConfigurationError
from toolscout.state import postgres
from toolscout.state.opening import open_store
from toolscout.state.postgres import MIGRATIONS, PostgresStore
from toolscout.state.store import StoreUnavailable

pytestmark = pytest.mark.anyio


@pytest.fixture
async def empty_store(postgres_server: PostgresServer) -> AsyncIterator[PostgresStore]:
    postgres_server.empty()
    store = PostgresStore(postgres_server.url)
    yield store
    await store.close()


@pytest.mark.integration
class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, empty_store: PostgresStore) -> PostgresStore:
        return empty_store


@pytest.mark.integration
async def test_the_schema_goes_down_and_up_again(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.put("key", b"value")
    tables = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'toolscout'"
    assert "kept" in postgres_server.ask(tables)
    for version in reversed(range(len(MIGRATIONS))):
        await empty_store.migrate(version)
    left = postgres_server.ask(tables)
    assert "migrations" in left
    assert "kept" not in left
    assert "entries" not in left
    assert await empty_store.get("key") is None  # the next call brings it up to date
    await empty_store.put("key", b"other")
    assert await empty_store.get("key") == b"other"


@pytest.mark.integration
async def test_of_many_processes_one_makes_the_schema(postgres_server: PostgresServer):
    postgres_server.empty()
    stores = [PostgresStore(postgres_server.url) for _ in range(6)]
    await asyncio.gather(*(store.put(str(n), b"value") for n, store in enumerate(stores)))
    assert len(await stores[0].keys("")) == len(stores)
    for store in stores:
        await store.close()


@pytest.mark.integration
async def test_a_schema_of_a_newer_release_is_refused_and_left_alone(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.put("key", b"value")
    newer = len(MIGRATIONS) + 1
    postgres_server.ask(f"INSERT INTO toolscout.migrations VALUES ({newer});")
    older = PostgresStore(postgres_server.url)
    with pytest.raises(StoreUnavailable, match="newer"):
        await older.get("key")
    await older.close()
    assert str(newer) in postgres_server.ask("SELECT max(number) FROM toolscout.migrations")


@pytest.mark.integration
async def test_no_reader_passes_an_entry_that_is_on_its_way(empty_store: PostgresStore):
    async def append(writer: int) -> None:
        for number in range(50):
            await empty_store.append("log", [b"%d-%d" % (writer, number)], keep=1_000)

    appending = asyncio.gather(*map(append, range(4)))
    seen: list[bytes] = []
    last = ""
    while len(seen) < 200:
        is_over = appending.done()
        entries = await empty_store.read("log", last)
        seen += [entry.value for entry in entries]
        last = entries[-1].position if entries else last
        assert entries or not is_over, "an entry was passed"
    await appending


@pytest.mark.integration
async def test_a_server_that_hangs_makes_the_store_unavailable_in_time(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.put("key", b"value")
    began = asyncio.get_running_loop().time()
    with postgres_server.hanging():
        with pytest.raises(StoreUnavailable):
            await empty_store.get("key")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await empty_store.get("key")
        assert asyncio.get_running_loop().time() - began < postgres.READ_S + 1
    assert await empty_store.get("key") == b"value"


@pytest.mark.integration
async def test_what_was_acknowledged_survives_a_crash(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.put("key", b"value")
    await empty_store.append("log", [b"one"], keep=10)
    with postgres_server.killed(), pytest.raises(StoreUnavailable):
        await empty_store.get("key")
    assert await empty_store.get("key") == b"value"
    assert [entry.value for entry in await empty_store.read("log")] == [b"one"]


async def test_no_server_makes_the_store_unavailable():
    pytest.importorskip("psycopg_pool")
    store = PostgresStore("postgres://me:plugh@127.0.0.1:1/state")
    with pytest.raises(StoreUnavailable, match=r"^postgres at 127\.0\.0\.1: "):
        await store.get("key")
    await store.close()


@pytest.mark.parametrize("answers", ["rubbish", "nested"])
async def test_what_is_no_postgres_is_no_store(answers: str):
    pytest.importorskip("psycopg_pool")
    with peer(STORES[answers]) as url:
        store = PostgresStore(url.replace("redis://", "postgres://"))
        with pytest.raises(StoreUnavailable):
            await store.get("key")
        await store.close()


@pytest.mark.parametrize("url", ["postgres://[::1/d", "postgresql://h/d?colour=red"])
def test_a_malformed_url_is_refused(url: str):
    pytest.importorskip("psycopg_pool")
    with pytest.raises(ConfigurationError, match="store"):
        open_store(url)
