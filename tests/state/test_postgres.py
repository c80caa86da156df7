"""The store on PostgreSQL keeps the contract, on a real server; its schema goes up and down."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.peers import STORES
from tests.attacks.peers import store as peer
from tests.postgres_server import PostgresServer, pooler
from tests.state.contract import StoreContract
from tests.support import PATIENCE_S
from toolscout.errors import ConfigurationError
from toolscout.learning.log import WRITE_S
from toolscout.state import postgres
from toolscout.state.guarded import FAILURES, Guard
from toolscout.state.health import Health, examine
from toolscout.state.opening import open_store
from toolscout.state.postgres import MIGRATIONS, PostgresStore
from toolscout.state.store import EPOCH, StoreFull, StoreRefused, StoreUnavailable, make_key

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


@pytest.mark.integration
async def test_a_process_that_stops_amid_a_log_holds_up_nobody_for_long(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    """Another session holds the lock, as a process of an older release that is paused would."""
    import psycopg

    await empty_store.append("log", [b"one"], keep=10)
    guard = Guard(empty_store)
    async with await psycopg.AsyncConnection.connect(postgres_server.url) as other:
        await other.execute("SELECT pg_advisory_xact_lock(hashtextextended('log', 0))")
        for _ in range(FAILURES + 1):
            with pytest.raises(StoreRefused):
                await guard.within(PATIENCE_S).append("log", [b"two"], keep=10)
        await guard.within(PATIENCE_S).append("of another tenant", [b"three"], keep=10)
    await guard.within(PATIENCE_S).append("log", [b"four"], keep=10)
    assert [entry.value for entry in await empty_store.read("log")] == [b"one", b"four"]


@pytest.mark.integration
async def test_who_waits_for_a_log_takes_no_connections_of_others(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    import psycopg

    await empty_store.append("log", [b"one"], keep=10)
    store = Guard(empty_store).within(WRITE_S)
    async with await psycopg.AsyncConnection.connect(postgres_server.url) as other:
        await other.execute("SELECT pg_advisory_xact_lock(hashtextextended('log', 0))")
        many = range(3 * postgres.CONNECTIONS)
        flood = [asyncio.create_task(store.append("log", [b"two"], keep=10)) for _ in many]
        for _ in many:
            await store.append("of another tenant", [b"three"], keep=100)
            await store.put("key", b"value")
        told = await asyncio.gather(*flood, return_exceptions=True)
    assert {type(each) for each in told} == {StoreRefused}
    await store.append("log", [b"four"], keep=10)


@pytest.mark.integration
async def test_a_process_that_stops_amid_a_transaction_holds_up_nobody_for_long(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    """Where single statements are transactions of ours, they end, and wait, as others do."""
    import psycopg

    await empty_store.put("key", b"value")
    url = postgres_server.with_setting("default_transaction_isolation", "serializable")
    store = PostgresStore(url)
    guard = Guard(store)
    async with await psycopg.AsyncConnection.connect(postgres_server.url) as other:
        await other.execute("SELECT FROM toolscout.kept WHERE key = 'key' FOR UPDATE")
        for _ in range(FAILURES):
            with pytest.raises(StoreRefused):
                await guard.within(PATIENCE_S).put("key", b"other")
        await guard.within(PATIENCE_S).put("another", b"value")
    until = "SELECT current_setting('idle_in_transaction_session_timeout')"
    assert await (await store.run(lambda one: one.execute(until))).fetchone() == ("10s",)
    await store.close()


@pytest.mark.integration
async def test_under_serializable_isolation_no_write_is_lost(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.get("key")
    url = postgres_server.with_setting("default_transaction_isolation", "serializable")
    stores = [PostgresStore(url) for _ in range(2)]

    async def write(number: int) -> None:
        store = stores[number % 2]
        for each in range(20):
            await store.append("log", [b"%d-%d" % (number, each)], keep=1_000)
            await store.put(f"key-{number}", b"value")

    await asyncio.gather(*map(write, range(8)))
    assert len(await stores[0].read("log")) == 160
    for store in stores:
        await store.close()


@pytest.mark.integration
async def test_behind_a_pooler_of_transactions_nothing_is_refused(
    empty_store: PostgresStore, postgres_server: PostgresServer, tmp_path: Path
):
    await empty_store.get("key")
    with pooler(postgres_server, tmp_path) as url:
        stores = [PostgresStore(url) for _ in range(2)]

        async def work(number: int) -> None:
            store = stores[number % 2]
            for each in range(48):
                await store.put(f"key-{number}", b"%d" % each)
                assert await store.get(f"key-{number}") == b"%d" % each
                await store.append(f"log-{number}", [b"%d" % each], keep=100)

        await asyncio.gather(*map(work, range(6)))
        for number in range(6):
            assert len(await stores[0].read(f"log-{number}")) == 48
        for store in stores:
            await store.close()


@pytest.mark.integration
async def test_positions_grow_where_the_sequence_is_behind(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.append("other", [b"zero"] * 3, keep=10)
    await empty_store.append("log", [b"one", b"two"], keep=10)
    await empty_store.append("other", [b"zero"] * 3, keep=10)
    postgres_server.ask("SELECT setval('toolscout.entries_position_seq', 1);")
    other = PostgresStore(postgres_server.url)
    stores = (empty_store, other)
    for number in range(4):
        values = [b"%d" % number, b"%d" % (number + 10)]
        await asyncio.gather(*(store.append("log", values, keep=100) for store in stores))
    read = [entry.value for entry in await empty_store.read("log")]
    assert read[:2] == [b"one", b"two"]
    assert read[2:] == [b"%d" % n for number in range(4) for n in [number, number + 10] * 2]
    await other.close()


@pytest.mark.integration
async def test_a_connection_is_kept_for_what_deletes(empty_store: PostgresStore):
    for name in ("key", "record"):
        await empty_store.put(name, b"value")
    asked = asyncio.Event()

    async def hold(connection: Any) -> None:
        await asked.wait()

    holding = [asyncio.create_task(empty_store.run(hold, within_s=60)) for _ in range(20)]
    await empty_store.delete("key")
    assert await empty_store.swap("record", b"value", None)
    await empty_store.put(make_key(EPOCH, "acme"), b"what an erasure writes first")
    asked.set()
    await asyncio.gather(*holding, return_exceptions=True)
    assert await empty_store.get("key") is None


@pytest.mark.integration
async def test_a_full_disk_of_the_server_is_a_full_store(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.put("key", b"value")
    postgres_server.ask(
        "CREATE FUNCTION toolscout.refuse() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$;"
        "CREATE TRIGGER refuse BEFORE INSERT ON toolscout.kept"
        " FOR EACH ROW EXECUTE FUNCTION toolscout.refuse();"
    )
    with pytest.raises(StoreFull):
        await empty_store.put("other", b"value")
    await empty_store.delete("key")


@pytest.mark.integration
async def test_a_server_that_is_only_read_is_said_to_take_no_writes(
    empty_store: PostgresStore, postgres_server: PostgresServer
):
    await empty_store.put("key", b"value")
    assert await examine(empty_store) == Health()
    only_read = PostgresStore(postgres_server.with_setting("default_transaction_read_only", "on"))
    assert "reports are refused" in (await examine(only_read)).fault
    assert await only_read.get("key") == b"value"
    await only_read.close()
