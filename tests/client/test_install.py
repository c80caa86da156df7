"""The client needs nothing of the server."""

import sys
import textwrap

from tests.support import ran


def run(script: str) -> str:
    done = ran([sys.executable, "-W", "error", "-c", textwrap.dedent(script)])
    return done.stdout


def test_every_module_of_the_client_works_where_the_server_is_not_installed():
    output = run(
        """
        import importlib, pkgutil, sys

        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in {
                    "faiss", "numpy", "litestar", "model2vec", "uvicorn", "Stemmer", "rapidfuzz",
                    "prometheus_client", "re2", "yaml", "pydantic",
                }:
                    raise ImportError(f"{name} is not installed")

        sys.meta_path.insert(0, Blocked())
        import toolscout.client, toolscout.discovery
        for package in (toolscout.client, toolscout.discovery):
            for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                importlib.import_module(module.name)
        with toolscout.client.Selector(None) as selector:
            print(selector.select("x", [{"name": "a"}, {"name": "b"}], top_k=1).reason)
        servers = ("toolscout.server", "toolscout.engine", "toolscout.learning", "toolscout.state")
        print([name for name in sys.modules if name.startswith(servers)])
        """
    )
    assert output.split() == ["missing_api_endpoint", "[]"]


def test_a_process_with_an_open_selector_ends():
    run(
        """
        from toolscout.client import Selector
        Selector("http://127.0.0.1:9").select("x", [{"name": "a"}])
        """
    )


def test_a_selector_works_in_a_forked_child():
    output = run(
        """
        import os, sys
        from toolscout.client import Selector
        selector = Selector("http://127.0.0.1:9")
        selector.select("x", [{"name": "a"}, {"name": "b"}], top_k=1)
        pid = os.fork()
        selection = selector.select("x", [{"name": "a"}, {"name": "b"}], top_k=1)
        assert selection.detail == "cannot connect", selection.detail
        if pid:
            print(os.waitpid(pid, 0)[1])
        """
    )
    assert output.strip() == "0"


def test_importing_the_client_loads_few_modules():
    output = run(
        """
        import sys
        import toolscout.client
        print(sum(name.partition(".")[0] == "toolscout" for name in sys.modules))
        print([name for name in sys.modules if ".discovery" in name or ".providers" in name])
        """
    )
    count, flow = output.splitlines()
    assert int(count) <= 30
    assert flow == "[]"


def test_a_search_by_expression_without_its_package_is_refused_with_the_line_that_installs_it():
    output = run(
        """
        import sys
        sys.modules["re2"] = None
        from toolscout.discovery import ToolDiscovery, DiscoveryConfig
        from toolscout.errors import ConfigurationError
        try:
            ToolDiscovery(DiscoveryConfig(enabled=True, strategy="tool-search"))
        except ConfigurationError as error:
            print(error)
        """
    )
    assert "pip install '.[tool-search]'" in output
