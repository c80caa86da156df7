"""Pictures of curves."""

from xml.etree import ElementTree

from evals.curves import svg


def test_a_picture_has_a_line_and_a_name_for_every_curve():
    drawn = svg((0, 50, 300), {"one": [9.0, 5, 4], "a<b": [1.3, 1.3, 1.2]}, "turns", "missed, %")
    root = ElementTree.fromstring(drawn)
    lines = [each for each in root if each.tag.endswith("polyline")]
    assert [len(line.get("points", "").split()) for line in lines] == [3, 3]
    texts = {each.text for each in root if each.tag.endswith("text")}
    assert {"one", "a<b", "turns", "missed, %", "300"} <= texts


def test_names_of_curves_that_end_together_are_apart():
    drawn = svg((0, 1), {"one": [3, 3], "two": [3, 3]}, "x", "y")
    root = ElementTree.fromstring(drawn)
    levels = {each.text: float(each.get("y", "0")) for each in root if each.tag.endswith("text")}
    assert abs(levels["one"] - levels["two"]) >= 12
