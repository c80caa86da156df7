"""Names of operations: unique, readable, such as every provider takes."""

from hypothesis import given
from hypothesis import strategies as st

from toolscout.files.naming import name_operations
from toolscout.tools.naming import MAX_NAME
from toolscout.tools.refused import RULES, list_refusals


def named(*called: str) -> list[str]:
    return name_operations((one, "get /path") for one in called)


def test_who_is_called_by_a_name_to_the_letter_has_it():
    assert named("get.a", "get_a", "get_a_2") == ["get_a_3", "get_a", "get_a_2"]


def test_long_names_have_their_beginning_and_their_end():
    (name,) = named("list_all_of_the_things_that_anybody_has_put_into_any_of_the_boxes_of_a_shop")
    assert len(name) <= MAX_NAME
    assert name.startswith("list_all_of_the_things")
    assert name.endswith("boxes_of_a_shop")


def test_a_name_without_a_letter_that_is_taken_gives_way_to_method_and_path():
    assert named("创建", "") == ["get_path", "get_path_2"]
    assert named("2fa") == ["_2fa"]


@given(st.lists(st.text(max_size=90) | st.sampled_from(["a", "a.", "a_2", "a" * 80, "a" * 81])))
def test_every_operation_has_a_name_of_its_own_that_every_provider_takes(called: list[str]):
    names = named(*called)
    assert len(set(names)) == len(names) == len(called)
    for name in names:
        assert not any(list_refusals(provider, name, {"type": "object"}) for provider in RULES)
