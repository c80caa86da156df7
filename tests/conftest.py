"""Fixtures: servers with different settings, each started once, and the folder of shared data."""

import gc
import os
import re
import ssl
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import httpcore2
import pytest
from hypothesis import HealthCheck, settings

from tests import postgres_server as postgres
from tests import redis_server as redis
from tests.prepared import STARTER
from tests.support import Process, running

settings.register_profile(
    "toolscout",
    deadline=None,  # speed is measured elsewhere
    derandomize=True,  # the same examples in every run: a failure is a fact, not luck
    database=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("toolscout")

WHOLLY_INTEGRATION = re.compile(r"^pytestmark = \[?pytest\.mark\.integration", re.MULTILINE)

ACME_OLD = "acme-old-0123456789abcdef0123456789abcdef"
ACME_NEW = "acme-new-0123456789abcdef0123456789abcdef"
ZENITH = "zenith-0123456789abcdef0123456789abcdef"


read_authorities = httpcore2.default_ssl_context


@cache
def authorities(file: str | None, folder: str | None, **options: bool) -> ssl.SSLContext:
    return read_authorities(**options)


OF_A_USER = re.compile(
    r"TOOLSCOUT_(?!(DATA|IMAGES|NATIVE|OPENAPI)$)|(OPENAI|ANTHROPIC|GEMINI|GOOGLE|LITELLM)_|(FORCE_COLOR|COLUMNS)$"
)
"""Variables of whoever runs the tests that would change what programs here do or print."""

LOOPBACK = "127.0.0.1,localhost,::1"


def pytest_configure() -> None:
    """Run in the same environment everywhere, and share what clients would read anew each.

    Reading all authorities takes long, and is done four thousand times.
    """
    for name in filter(OF_A_USER.match, tuple(os.environ)):
        del os.environ[name]
    for name in ("NO_PROXY", "no_proxy"):  # a proxy leads to no server of this machine
        os.environ[name] = LOOPBACK
    variables = "SSL_CERT_FILE", "SSL_CERT_DIR"
    httpcore2.default_ssl_context = lambda **options: authorities(
        *map(os.environ.get, variables), **options
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Have files not even imported whose tests are all left out."""
    if config.option.markexpr != "not integration":
        return None
    if collection_path.suffix != ".py":
        return collection_path.name == "integration" or None
    return WHOLLY_INTEGRATION.search(collection_path.read_text("utf-8")) is not None or None


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported stays, and need not be looked through again and again


def pytest_runtest_setup(item: pytest.Item) -> None:
    STARTER.forks = item.get_closest_marker("integration") is None


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield the service as it starts without any setting."""
    with running(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="session")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a service with two tenants, one in the middle of a rotation; metrics need a key."""
    keys = f"acme={ACME_OLD}, acme={ACME_NEW}, {ZENITH}"
    with running(
        tmp_path_factory.mktemp("keyed"), "--metrics-auth", TOOLSCOUT_API_KEYS=keys
    ) as started:
        yield started


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a service with tight limits that returns pins when nothing matches, and logs all."""
    flags = ["--max-body-bytes", "4096", "--max-tools", "5", "--no-match", "pins"]
    flags += ["--log", "full"]
    with running(tmp_path_factory.mktemp("small"), *flags) as started:
        yield started


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """Yield a service that takes one request at a time."""
    with running(tmp_path_factory.mktemp("crowded"), "--max-in-flight", "1") as started:
        yield started


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of shared data, outside the project."""
    folder = os.environ.get("TOOLSCOUT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TOOLSCOUT_DATA names no folder with the shared data")
    return Path(folder)


@pytest.fixture
def anyio_backend() -> str:
    """Return tests that are coroutines run on asyncio, as the service does."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[postgres.PostgresServer]:
    """Yield a real PostgreSQL server, for integration tests."""
    with postgres.running(tmp_path_factory.mktemp("postgres")) as server:
        yield server


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis.RedisServer]:
    """Yield a real Redis server, for integration tests."""
    with redis.running(tmp_path_factory.mktemp("redis")) as server:
        yield server
