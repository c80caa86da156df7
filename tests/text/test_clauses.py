"""Where one wish of a request ends and the next begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolscout.text.clauses import MAX_CLAUSES, clauses


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("find the order and then refund all of it", ["find the order", "refund all of it"]),
        ("Check the weather! Book me a table.", ["Check the weather!", "Book me a table."]),
        ("find the order, then send a mail", ["find the order,", "send a mail"]),
        ("flights from Rome and Paris", ["flights from Rome"]),
        ("upload report.pdf to the drive", ["upload report.pdf to the drive"]),
        (
            "such die Rechnung und dann lösche den Kunden",
            ["such die Rechnung", "lösche den Kunden"],
        ),
        ("найди заказ клиента и затем верни деньги клиенту", None),
        ("查询订单状态然后发送邮件给客户", ["查询订单状态", "发送邮件给客户"]),
        ("天気を調べて、それから会議を予約する", ["天気を調べて、", "会議を予約する"]),
        ("주문을 찾아줘 그리고 이메일을 보내줘", ["주문을 찾아줘", "이메일을 보내줘"]),
        ("", []),
        ("and then also", []),
    ],
)
def test_a_request_is_cut_at_its_connectives_and_the_ends_of_sentences(
    text: str, found: list[str] | None
):
    if found is None:
        assert len(clauses(text)) == 2
    else:
        assert clauses(text) == found


@given(st.text(alphabet="ab .;,!然后。 \n", max_size=200))
def test_clauses_are_parts_of_the_request_in_its_order(text: str):
    found = clauses(text)
    assert len(found) <= MAX_CLAUSES
    place, letters = 0, "".join(text.split())
    for clause in found:
        place = letters.index("".join(clause.split()), place)
