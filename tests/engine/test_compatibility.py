"""Each object of tests/compatibility is accepted at once or with the settings of its shape, or refused as it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dev.reference.moving_in import Shape, read_shapes, table
from tests.support.compatibility import Platform

SHAPES = read_shapes()


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    """A stack with the defaults."""
    return Platform(tmp_path_factory.mktemp("default") / "project", {})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_each_object_ends_as_its_shape_says(platform: Platform, shape: Shape, tmp_path: Path) -> None:
    at_first = platform.refusals(shape)
    opened = Platform(tmp_path / "project", shape.opening).refusals(shape) if shape.opening else at_first

    assert unlike(shape.opened, {name: text for name, text in at_first.items() if name not in opened}) == {}
    assert unlike({name: each.message for name, each in shape.refused.items()}, opened) == {}


def unlike(expected: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What is not refused as expected, by object, with the message that it has got."""
    names = sorted(expected.keys() | found.keys())
    return {
        name: found.get(name, "accepted")
        for name in names
        if name not in expected or expected[name] not in found.get(name, "")
    }


def test_there_are_shapes_of_all_kinds_and_nothing_is_refused_without_a_way(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("", *table(SHAPES), sep="\n")
    assert len(SHAPES) >= 25
    assert [shape.name for shape in SHAPES if bool(shape.opening) is not bool(shape.opened)] == []
    assert [name for shape in SHAPES for name, each in shape.refused.items() if not each.instead] == []
    assert [name for shape in SHAPES for name in {*shape.opened, *shape.refused} - shape.objects.keys()] == []
