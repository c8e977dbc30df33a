"""Named openings of tenants: who may connect to whom, and what the configuration refuses."""

import re

import pytest
from sample_plan import tenant_objects
from sample_stack import load, problems, refusals

from flux_tenancy.components.config.networks import NetworkRange
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from tests.support.network import Network, Peer

BASE = "namespaces: [{{name: {0}}}, {{name: {0}-jobs}}]\nsource: {{url: https://git.example.com/{0}/apps}}\n"
TENANTS = ("shop", "web", "mallory")
NAMESPACES = {
    **{f"{tenant}{suffix}": {TENANT_LABEL: tenant} for tenant in TENANTS for suffix in ("", "-jobs")},
    **{name: {} for name in ("kube-system", "ingress-nginx", "flux-system")},
}
OPENINGS = {
    "shop": {
        "ingress": [{"fromNamespace": "ingress-nginx", "ports": [{"port": 8080}, {"port": 9000, "endPort": 9010}]}],
        "tenants": {"from": ["web"]},
        "egress": [
            {"cidr": "10.20.0.0/16", "except": ["10.20.5.0/24"], "ports": [{"port": 5432}]},
            {"cidr": "2001:db8::/32"},
        ],
    },
    "web": {"tenants": {"to": ["shop"]}},
}


def sections(openings=OPENINGS, network_policy="default-deny", **tenancy):
    return {
        "bases": {name: BASE.format(name) for name in TENANTS},
        "tenants": {name: {"network": openings[name]} if name in openings else {} for name in TENANTS},
        "tenancy": {"networkPolicy": network_policy, **tenancy},
    }


def stack(folder, openings=OPENINGS, **tenancy):
    return load(folder, **sections(openings, **tenancy))


def policies(config):
    objects = (tenant_objects(name, tenant, config.tenancy) for name, tenant in config.tenants.items())
    return [each for found in objects for each in found.limits if each["kind"] == "NetworkPolicy"]


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    return Network(NAMESPACES, policies(stack(tmp_path_factory.mktemp("stack"))))


def peer(name):
    return Peer(address=name) if name[0].isdigit() else Peer(name, {"app": "any"})


@pytest.mark.parametrize(
    ("source", "target", "port"),
    [
        ("shop", "shop-jobs", 80),
        ("shop", "kube-system", 53),
        ("mallory", "kube-system", 53),
        ("ingress-nginx", "shop", 8080),
        ("ingress-nginx", "shop-jobs", 9010),
        ("web", "shop", 443),
        ("web-jobs", "shop-jobs", 443),
        ("shop", "10.20.0.1", 5432),
        ("shop-jobs", "10.20.255.255", 5432),
        ("shop", "2001:db8::1", 443),
    ],
)
def test_what_a_tenant_opens_is_open(network, source, target, port):
    assert network.connects(peer(source), peer(target), port)


@pytest.mark.parametrize(
    ("source", "target", "port"),
    [
        # Answers need no rule, and an agreement has one direction.
        ("shop", "web", 443),
        ("mallory", "shop", 443),
        ("web", "mallory", 443),
        ("mallory", "web", 443),
        ("ingress-nginx", "shop", 9011),
        ("ingress-nginx", "shop", 22),
        ("ingress-nginx", "web", 8080),
        ("flux-system", "shop", 8080),
        ("shop", "flux-system", 80),
        ("shop", "kube-system", 443),
        ("shop", "ingress-nginx", 8080),
        ("shop", "10.20.5.1", 5432),
        ("shop", "10.20.0.1", 443),
        ("shop", "10.21.0.1", 5432),
        ("web", "10.20.0.1", 5432),
        ("shop", "169.254.169.254", 80),
        ("10.20.0.1", "shop", 8080),
    ],
)
def test_everything_else_stays_closed(network, source, target, port):
    assert not network.connects(peer(source), peer(target), port)


def test_dns_is_open_over_udp_and_a_port_of_tcp_is_not(network):
    assert network.connects(peer("shop"), peer("kube-system"), 53, "UDP")
    assert not network.connects(peer("shop"), peer("10.20.0.1"), 5432, "UDP")


def test_openings_are_one_more_policy_in_each_namespace_and_change_no_other(tmp_path):
    def stack_in(name, openings):
        (tmp_path / name).mkdir()
        return policies(stack(tmp_path / name, openings))

    before, after = stack_in("before", {}), stack_in("after", OPENINGS)

    more = [each for each in after if each not in before]
    assert [each for each in after if each in before] == before
    assert [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in more] == [
        ("shop", "shop-openings"),
        ("shop-jobs", "shop-openings"),
        ("web", "web-openings"),
        ("web-jobs", "web-openings"),
    ]
    assert all(TENANT_LABEL in each["metadata"]["labels"] for each in more)
    assert more[2]["spec"]["policyTypes"] == ["Egress"] and "ingress" not in more[2]["spec"]


def refused(folder, openings, **tenancy):
    """The path and the code of each problem of a stack."""
    return {each.removeprefix("tenants.") for each in refusals(folder, **sections(openings, **tenancy))}


def egress(cidr="10.0.0.0/8", **keys):
    return {"egress": [{"cidr": cidr} | keys]}


@pytest.mark.parametrize(
    ("opening", "expected"),
    [
        ({"tenants": {"to": ["web"]}}, {"tenants.to[0] FT-TEN-521"}),
        ({"tenants": {"from": ["web"]}}, {"tenants.from[0] FT-TEN-521"}),
        ({"tenants": {"to": ["nobody"]}}, {"tenants.to[0] FT-CFG-404"}),
        ({"tenants": {"to": ["shop"], "from": ["web"]}}, {"tenants.to[0] FT-TEN-523", "tenants.from[0] FT-TEN-521"}),
        ({"ingress": [{"fromNamespace": "web-jobs"}]}, {"ingress[0].fromNamespace FT-TEN-524"}),
        ({"ingress": [{"fromNamespace": "Ingress"}]}, {"ingress[0].fromNamespace FT-CFG-006"}),
        ({"ingress": [{"ports": []}]}, {"ingress[0].fromNamespace FT-CFG-605"}),
        (egress(ports=[{"port": 0}]), {"egress[0].ports[0].port FT-CFG-609"}),
        (egress(ports=[{"port": 80, "endPort": 79}]), {"egress[0].ports[0].endPort FT-TEN-510"}),
        (egress(ports=[{"port": 80, "protocol": "tcp"}]), {"egress[0].ports[0].protocol FT-CFG-606"}),
        (egress("10.0.0.1/8"), {"egress[0].cidr FT-CFG-006"}),
        (egress(**{"except": ["11.0.0.0/8"]}), {"egress[0].except[0] FT-TEN-511"}),
        (egress(**{"except": ["10.0.0.0/8"]}), {"egress[0].except[0] FT-TEN-511"}),
        (egress(**{"except": ["2001:db8::/32"]}), {"egress[0].except[0] FT-TEN-511"}),
    ],
)
def test_bad_input_is_refused_with_its_path(tmp_path, opening, expected):
    assert refused(tmp_path, {"shop": opening}) == {f"shop.network.{each}" for each in expected}


def test_an_agreement_has_one_side_that_opens_and_one_that_agrees(tmp_path):
    both_open = {"shop": {"tenants": {"to": ["web"]}}, "web": {"tenants": {"to": ["shop"]}}}

    assert refused(tmp_path, both_open) == {f"{each}.network.tenants.to[0] FT-TEN-521" for each in ("shop", "web")}


def test_openings_need_a_network_that_is_closed(tmp_path):
    found = refused(tmp_path, OPENINGS, network_policy="none")

    assert found == {"shop.network FT-CFG-820", "web.network FT-CFG-820"}


# One of each metadata service, and networks that include some.
@pytest.mark.parametrize(
    "cidr",
    [
        *("169.254.169.254/32", "fe80::1/128", "fd00:ec2::/32", "fd20:ce::/32", "fd00:c1::/32", "100.100.100.200/32"),
        *("168.63.129.16/32", "::ffff:169.254.169.254/128", "0.0.0.0/0", "169.254.0.0/16", "168.0.0.0/8", "::/0"),
    ],
)
def test_no_opening_reaches_a_metadata_service(tmp_path, cidr):
    assert refused(tmp_path, {"shop": egress(cidr)}) == {"shop.network.egress[0].cidr FT-TEN-525"}


def test_the_message_says_what_to_leave_out_and_that_is_accepted(tmp_path):
    [message] = problems(tmp_path, **sections({"shop": egress("0.0.0.0/0")}))
    [said] = re.findall(r"includes (.*?), where", message)
    parts = said.split(", ")
    assert "169.254.0.0/16" in parts

    (tmp_path / "good").mkdir()
    assert stack(tmp_path / "good", {"shop": egress("0.0.0.0/0", **{"except": parts})})


def test_no_opening_reaches_what_the_stack_protects(tmp_path):
    protected = {"protectedNetworks": ["10.0.0.0/24", "192.0.2.0/24"]}

    found = refused(tmp_path, {"shop": egress("10.0.0.0/16")}, **protected)

    assert found == {"shop.network.egress[0].cidr FT-TEN-525"}
    (tmp_path / "good").mkdir()
    assert stack(tmp_path / "good", {"shop": egress("10.0.0.0/16", **{"except": ["10.0.0.0/23"]})}, **protected)


def test_a_protected_network_is_a_network(tmp_path):
    assert refused(tmp_path, {}, protectedNetworks=["10.0.0.1"]) == {"tenancy.protectedNetworks[0] FT-CFG-006"}


@pytest.mark.parametrize(
    ("excluded", "exposed"),
    [
        ([], ["10.0.0.0/30"]),
        (["10.0.0.0/30"], []),
        (["10.0.0.0/29"], []),
        (["10.0.0.0/31", "10.0.0.2/31"], []),
        (["10.0.0.0/31"], ["10.0.0.2/31"]),
        (["10.0.0.1/32"], ["10.0.0.0/32", "10.0.0.2/31"]),
        (["10.1.0.0/16"], ["10.0.0.0/30"]),
    ],
)
def test_the_exposed_part_of_a_network_is_what_no_exception_covers(excluded, exposed):
    opening = NetworkRange.model_validate({"cidr": "10.0.0.0/8", "except": excluded})

    assert sorted(opening.exposed("10.0.0.0/30")) == exposed
    assert opening.exposed("192.0.2.0/24") == [] and opening.exposed("2001:db8::/32") == []
    assert opening.exposed("0.0.0.0/0") != []
