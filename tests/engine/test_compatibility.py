"""Each object of tests/compatibility is accepted at once or with the settings of its shape, or refused as it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dev.reference.moving_in import Shape, platform_settings, read_shapes, table
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


# Objects that the shape's opening accepts, and which `flux-tenancy check` tells the tenant to change.
CHANGED = {
    # What suffices for all that quotas refuse is in the report.
    "monorepo": {"Kustomization/storefront"},
    # Whose namespace it is, only the platform team knows.
    "environments": {"Kustomization/shop-staging", "ConfigMap/team-staging/settings"},
}
# The kind Provider is only valid with hosts, which are for the platform team to choose.
TOLD = [
    shape for shape in SHAPES if shape.opened and not any(each["kind"] == "Provider" for each in shape.objects.values())
]


@pytest.mark.parametrize("shape", TOLD, ids=lambda shape: shape.name)
def test_what_the_platform_team_is_told_to_write_accepts_the_objects(
    platform: Platform, shape: Shape, tmp_path: Path
) -> None:
    opening: dict[str, Any] = {}
    # An object that is accepted by one rule may be refused by the next one.
    for number in range(3):
        said = (Platform(tmp_path / str(number), opening) if opening else platform).verdicts(shape)
        refused = {name for name in shape.opened if said[name].is_refused}
        if refused == CHANGED.get(shape.name, set()):
            break
        for each in said.values():
            if each.opening:
                opening = added(opening, {"tenant": dict(each.opening.tenant), "stack": dict(each.opening.stack)})

    assert refused == CHANGED.get(shape.name, set())
    assert {name for name, each in said.items() if each.is_refused} <= {*shape.refused, *refused}


def added(value: Any, more: Any) -> Any:
    """A configuration with further entries of lists."""
    if isinstance(value, list) and isinstance(more, list):
        return [*value, *(each for each in more if each not in value)]
    if isinstance(value, Mapping) and isinstance(more, Mapping):
        return {**value, **{key: added(value[key], more[key]) if key in value else more[key] for key in more}}
    return more


@pytest.fixture(scope="module")
def configured_platform(tmp_path_factory: pytest.TempPathFactory) -> Platform:
    """A stack with the data of a cluster."""
    return Platform(tmp_path_factory.mktemp("configured") / "project", {"stack": platform_settings()})


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_configured_platform_accepts_what_its_shape_says(configured_platform: Platform, shape: Shape) -> None:
    found = configured_platform.refusals(shape)

    # The first message about a refused object may be about the platform's lists.
    assert found.keys() == {*shape.opened, *shape.refused, *shape.narrowed} - {*shape.configured}
    narrowed = {name: found[name] for name in shape.narrowed}
    assert unlike({name: each.message for name, each in shape.narrowed.items()}, narrowed) == {}


def unlike(expected: Mapping[str, str], found: Mapping[str, str]) -> dict[str, str]:
    """What is not refused as expected, by object, with the message that it has got."""
    names = sorted(expected.keys() | found.keys())
    return {
        name: found.get(name, "accepted")
        for name in names
        if name not in expected or not all(part in found.get(name, "") for part in expected[name].split(" … "))
    }


def test_there_are_shapes_of_all_kinds_and_nothing_is_refused_without_a_way(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("", *table(SHAPES), sep="\n")
    assert len(SHAPES) >= 25
    assert [shape.name for shape in SHAPES if bool(shape.opening) is not bool(shape.opened or shape.fails)] == []
    assert [name for shape in SHAPES for name, each in shape.refused.items() if not each.instead] == []
    assert [name for shape in SHAPES for name in shape.configured if name not in shape.opened] == []
    told = [(shape, {*shape.opened, *shape.fails, *shape.refused, *shape.narrowed}) for shape in SHAPES]
    assert [name for shape, names in told for name in names - shape.objects.keys()] == []
    # With a user that is no root, the Pods would start.
    failing = [shape.objects[name] for shape in SHAPES for name in shape.fails]
    assert [each for each in failing if "runAsUser" in str(each)] == []
