"""Where code lives, and what may import what."""

import re
from collections import Counter

import pytest

from docs.generate.capabilities import AIR, count_knobs, read_table
from docs.generate.house import (
    CLIENT_MAY_IMPORT,
    CLIENT_SIDE,
    INSIDE,
    PACKAGE,
    PRODUCTS,
    ROOMS,
    arrows,
    imports,
    modules,
    room,
)

ARROWS = arrows()
FLOOR = {name: number for number, floor in enumerate(ROOMS) for name in floor}


def test_every_module_has_a_floor():
    beside = {"", "__main__", "model"}
    assert {name.partition(".")[0] for name in modules()} - beside == set(FLOOR)


@pytest.mark.parametrize("name", FLOOR)
def test_imports_go_down_only(name: str):
    assert [below for below in ARROWS[name] if FLOOR[below] <= FLOOR[name]] == []


def test_every_room_belongs_to_one_product():
    rooms = [room for product in PRODUCTS.values() for room in product.rooms]
    assert sorted(rooms) == sorted(FLOOR)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_imports_from_those_that_it_may(name: str):
    product = PRODUCTS[name]
    may = {room for below in (name, *product.below) for room in PRODUCTS[below].rooms}
    assert {below for room in product.rooms for below in ARROWS[room]} - may == set()


@pytest.mark.parametrize("room", INSIDE)
def test_inside_a_room_imports_go_down_only(room: str):
    floor = {name: number for number, names in enumerate(INSIDE[room]) for name in names}
    inside = {name.split(".")[1] for name in modules() if name.startswith(f"{room}.")}
    assert inside == set(floor)
    found = arrows(room)
    upward = {
        (name, below) for name in floor for below in found[name] if floor[below] <= floor[name]
    }
    assert upward == set()


def test_the_client_imports_nothing_that_needs_the_service():
    assert [room for room in CLIENT_SIDE if not ARROWS[room] <= CLIENT_MAY_IMPORT] == []


def test_no_modules_import_each_other_in_a_circle():
    below: dict[str, set[str]] = {name: set() for name in modules()}
    for source, target in imports():
        if source != target:
            below[source].add(target)
    while leaves := [name for name, needs in below.items() if not needs & below.keys()]:
        for name in leaves:
            del below[name]
    assert sorted(below) == []


def test_few_modules_know_of_catalogs_in_postgresql():
    """Hardly anybody has them, so nobody who reads the service has to know how they work."""
    naming = {source for source, target in imports() if room(target) == "external"}
    assert len([name for name in naming if room(name) != "external"]) <= 6


def test_a_field_of_a_question_is_named_in_few_modules():
    """A question is defined once; whoever adds a field touches what uses it, and no carrier.

    The level of detail of tools that are read by name, as of `tool_info`, is another one.
    """
    names = re.compile(r'\bask\.detail\b|^    detail: Detail \||"detail": get_args', re.MULTILINE)
    named = [name for name, path in modules().items() if names.search(path.read_text("utf-8"))]
    assert "ranking.selecting" in named
    assert len(named) <= 5


def test_every_file_belongs_to_one_capability():
    belongs = Counter(path for row in read_table().rows for path in row.files)
    assert sorted(belongs) == sorted(PACKAGE.rglob("*.py"))
    assert [path for path, rows in belongs.items() if rows > 1] == []


def test_tokens_and_knobs_grow_by_decision_alone():
    table = read_table()
    assert sum(row.tokens for row in table.rows) <= AIR * table.tokens
    assert sum(count_knobs().values()) <= AIR * table.knobs
