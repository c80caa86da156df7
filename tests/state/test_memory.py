"""The store in memory keeps the contract."""

import pytest

from tests.state.contract import StoreContract
from toolscout.state.memory import MemoryStore


class TestMemory(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()
