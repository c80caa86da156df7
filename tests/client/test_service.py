"""The client and the real service together."""

from tests.client.upstream import TOOLS
from tests.support import Server
from toolscout.client import Reason


def test_the_service_selects_and_the_second_call_is_by_digest(make, server: Server):
    selector = make(server.url, timeout=10)
    first = selector.select("look at the contents of a file", TOOLS, top_k=2)
    second = selector.select("send a mail", TOOLS, top_k=2)
    assert first.names[0] == "read_file"
    assert first.outcome == "match"
    assert first.request_id
    assert second.names[0] == "send_email"
    assert second.attempts == 1


def test_a_hopeless_query_falls_open(make, server: Server):
    selection = make(server.url, timeout=10).select("zxqv wvut", TOOLS)
    assert selection.reason is Reason.EMPTY_SELECTION
    assert selection.outcome == "no_match"
    assert len(selection.names) == len(TOOLS)


def test_a_wrong_key_falls_open_and_says_so(make, keyed: Server):
    selection = make(keyed.url, "wrong", timeout=10).select("read a file", TOOLS)
    assert selection.reason is Reason.API_ERROR
    assert selection.detail == "status 401"
