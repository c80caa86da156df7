"""Patience with servers, which on a busy machine start slowly."""

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from tests.support import PATIENCE_S


@pytest.fixture(autouse=True, scope="session")
def patient() -> Iterator[None]:
    """Have the first answer of a gateway in this process wait for all servers."""
    with patch("toolscout.gateway.mcp.view.START_S", PATIENCE_S):
        yield
