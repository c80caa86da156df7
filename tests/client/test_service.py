"""The client and the real service together."""

from tests.client.upstream import TOOLS
from tests.support import Process


def test_the_service_selects_and_the_second_call_is_by_digest(make, server: Process):
    selector = make(server.url, timeout=10)
    first = selector.select("look at the contents of a file", TOOLS, top_k=2)
    second = selector.select("send a mail", TOOLS, top_k=2)
    assert first.names[0] == "read_file"
    assert first.outcome == "match"
    assert first.request_id
    assert second.names[0] == "send_email"
    assert second.attempts == 1
