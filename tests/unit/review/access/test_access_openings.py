"""Sentences about people, and about openings in the network of tenants."""

import pytest
from sample_access import TENANTS, render, sentences

from flux_tenancy.components.tenant.people import DEVELOPER, VIEWER

CLOSED = {"networkPolicy": "default-deny"}
PEOPLE = {
    "viewers": [{"kind": "Group", "name": "oidc:dev-team"}],
    "developers": [{"kind": "User", "name": "oidc:ann"}],
}


def opened(**network):
    return render(TENANTS | {"dev-team": {"network": network}}, tenancy=CLOSED)


@pytest.mark.parametrize(
    ("network", "may"),
    [
        (
            {"ingress": [{"fromNamespace": "ingress-nginx", "ports": [{"port": 8080}]}]},
            "receive connections from Pods in ingress-nginx at 8080/TCP",
        ),
        (
            {"egress": [{"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"], "ports": [{"port": 53, "protocol": "UDP"}]}]},
            "let Pods connect to 10.0.0.0/8 except 10.1.0.0/16 at 53/UDP",
        ),
        (
            {"egress": [{"cidr": "192.0.2.0/24", "ports": [{"port": 80, "endPort": 90}]}]},
            "let Pods connect to 192.0.2.0/24 at 80-90/TCP",
        ),
        ({"tenants": {"to": ["ops-team"]}}, "let Pods connect to Pods of the tenant ops-team"),
        ({"tenants": {"from": ["ops-team"]}}, "receive connections from Pods of the tenant ops-team"),
    ],
)
def test_an_opening_is_told_when_it_comes_and_when_it_goes(network, may):
    before, after = render(tenancy=CLOSED), opened(**network)

    assert sentences(before, after) == [f"+  dev-team may now {may} in apps on production"]
    assert sentences(after, before) == [f"-  dev-team may no longer {may} in apps on production"]


def test_an_opening_that_stays_is_not_told():
    first, second = ({"cidr": cidr} for cidr in ("192.0.2.0/24", "198.51.100.0/24"))

    assert sentences(opened(egress=[first]), opened(egress=[second, first])) == [
        "+  dev-team may now let Pods connect to 198.51.100.0/24 in apps on production"
    ]


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ({"cidr": "10.20.0.0/16"}, {"cidr": "10.0.0.0/8"}),
        ({"cidr": "10.20.0.0/16", "ports": [{"port": 80}]}, {"cidr": "10.20.0.0/16"}),
        (
            {"cidr": "10.20.0.0/16", "ports": [{"port": 80}]},
            {"cidr": "10.20.0.0/16", "ports": [{"port": 79, "endPort": 81}]},
        ),
        ({"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}, {"cidr": "10.0.0.0/8", "except": ["10.9.1.0/24"]}),
        ({"cidr": "10.0.0.0/16"}, {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}),
    ],
)
def test_what_a_wider_opening_includes_neither_comes_nor_goes(narrow, wide):
    widened = sentences(opened(egress=[narrow]), opened(egress=[wide]))
    narrowed = sentences(opened(egress=[wide]), opened(egress=[narrow]))

    assert [each[:1] for each in widened] == ["+"]
    assert [each[:1] for each in narrowed] == ["-"]
    assert " (only 10." in narrowed[0]


def test_a_narrowed_opening_is_told_with_what_is_left_of_it():
    database = {"cidr": "10.20.0.0/16", "ports": [{"port": 5432}]}
    elsewhere = {"cidr": "192.0.2.0/24"}

    assert sentences(opened(egress=[database, elsewhere]), opened(egress=[database | {"cidr": "10.20.1.0/24"}])) == [
        "-  dev-team may no longer let Pods connect to 10.20.0.0/16 at 5432/TCP (only 10.20.1.0/24 at 5432/TCP) in "
        "apps on production",
        "-  dev-team may no longer let Pods connect to 192.0.2.0/24 in apps on production",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"cidr": "10.9.0.0/16"}, {"cidr": "10.0.0.0/8", "except": ["10.9.1.0/24"]}),
        (
            {"cidr": "10.9.0.0/16", "ports": [{"port": 80}]},
            {"cidr": "10.9.0.0/16", "ports": [{"port": 80, "protocol": "UDP"}]},
        ),
        ({"cidr": "10.9.0.0/16"}, {"cidr": "fd00:9::/32"}),
    ],
)
def test_openings_that_only_overlap_are_both_told(first, second):
    assert [each[:1] for each in sentences(opened(egress=[first]), opened(egress=[second]))] == ["+", "-"]


def test_people_get_their_roles_in_the_namespaces_of_the_tenant():
    assert sentences(render(), render(TENANTS | {"dev-team": {"people": PEOPLE}})) == [
        f"+  group oidc:dev-team now has the role {VIEWER} (read only) in apps on production",
        f"+  user oidc:ann now has the role {DEVELOPER} in apps on production",
    ]
