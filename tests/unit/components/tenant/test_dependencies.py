"""What depends on each other is put in order, and a circle is found."""

import pytest

from flux_tenancy.components.tenant.syncs import circle, in_order


def test_each_name_follows_what_it_depends_on():
    assert in_order({"app": ["database", "config"], "database": ["config"], "config": []}) == [
        "config",
        "database",
        "app",
    ]


def test_names_that_are_not_there_are_left_out_of_the_order():
    assert in_order({"app": ["elsewhere"]}) == ["app"]


@pytest.mark.parametrize(
    ("dependencies", "expected"),
    [
        ({"app": ["database"], "database": []}, []),
        ({"app": ["app"]}, ["app", "app"]),
        ({"web": ["app"], "app": ["db"], "db": ["web"]}, ["app", "db", "web", "app"]),
    ],
)
def test_a_circle_is_told_from_each_name_to_the_one_it_depends_on(dependencies, expected):
    assert circle(dependencies) == expected
