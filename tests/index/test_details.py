"""Details of tools: traits are inferred for the tools that are shown, and for no others."""

import json

import pytest

from tests.support import ENGINE, crowd
from toolscout.contract.fields import Detail
from toolscout.index import pages
from toolscout.index.cache import CatalogCache
from toolscout.index.catalog import Catalog
from toolscout.index.details import describe_tools
from toolscout.index.tool_list import ToolList
from toolscout.tools import traits


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    raw = json.dumps(crowd(300)).encode()
    return ENGINE.compiler.compile(ToolList.decode(raw), CatalogCache().tools("acme"))


@pytest.mark.parametrize(("detail", "inferred"), [("names", 0), ("brief", 50), ("full", 50)])
def test_a_page_infers_the_traits_of_its_own_tools(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, detail: Detail, inferred: int
):
    judged: list[str] = []
    judge = traits.judge_risk

    def count(name: str, *args, **options):
        judged.append(name)
        return judge(name, *args, **options)

    monkeypatch.setattr(traits, "judge_risk", count)
    rows, _ = pages.read_page(catalog, None, 50)
    shown = describe_tools(catalog, rows, detail)
    assert [tool.name for tool in shown] == list(catalog.names[:50])
    assert judged == list(catalog.names[:inferred])
