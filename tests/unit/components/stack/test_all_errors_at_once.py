"""Every error of a stack is told at once: one in a section keeps no check of other values from being run."""

from contextlib import suppress
from typing import Any

import pytest
from sample_stack import CLUSTER, DEV_TEAM_BASE, FLUX, load, problems

from components.config.errors import ConfigurationError

BASES = {"dev-team": DEV_TEAM_BASE, "ops-team": DEV_TEAM_BASE}
BOTH: dict[str, Any] = {"dev-team": {}, "ops-team": {}}
STACK = "Pulumi.staging.yaml: "
CLASH = (
    "tenants/ops-team.yaml: namespaces[0].name: 'apps' already belongs to the tenant dev-team; "
    "a namespace has one tenant"
)
NOT_A_DURATION = "'often' is not a duration; write it like 30s, 5m or 1h30m"
NO_KYVERNO = (
    "policies.engine: is kyverno, but the stack has no section kyverno, which says what to install; "
    "add it, or set engine to native"
)


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"cluster": ...}, "cluster: is required and missing"),
        (
            {"flux": FLUX | {"sha256": "5f"}},
            "flux.sha256: '5f' is not a sha256 digest: 64 hexadecimal digits in lower case",
        ),
        ({"fluxx": {}}, "fluxx: is an unknown key; did you mean 'flux'?"),
        ({"git": {"knownHostsFile": "none"}}, "git.knownHostsFile: 'none' cannot be read: No such file or directory"),
        ({"policies": {"mode": "off"}}, "policies.mode: is off; leave mode out and set engine to none"),
        (
            {"tenants": {"dev-team": {}, "ops-team": {"sync": {"interval": "often"}}}},
            f"tenants.ops-team.sync.interval: {NOT_A_DURATION}",
        ),
        ({"tenants": BOTH | {"kyverno": {}}}, "tenants.kyverno: 'kyverno' is reserved for the cluster's own parts; "),
    ],
    ids=lambda value: "" if isinstance(value, str) else ",".join(value),
)
def test_a_namespace_of_two_tenants_is_told_beside_any_other_error(tmp_path, sections, problem):
    [other, clash] = problems(tmp_path, bases=BASES, **{"tenants": BOTH} | sections)

    assert clash == CLASH
    assert other.startswith(STACK + problem)


def test_values_beside_each_other_are_checked_where_others_of_the_section_are_wrong(tmp_path):
    cluster = CLUSTER | {"kubeconfigContent": "x", "uid": "staging"}
    flux = FLUX | {"version": "2", "resources": {"source-watcher": {}}}
    source = {"tag": "v1", "interval": "often", "verify": {"mode": "Tag", "keys": {}}}
    entry = {"source": source, "sync": {"targetNamespace": "other", "timeout": "often"}}

    found = problems(tmp_path, cluster=cluster, flux=flux, tenants={"dev-team": entry})

    tenant = f"{STACK}tenants.dev-team"
    [clusterless] = [line for line in found if line.startswith(f"{STACK}cluster: ")]
    assert "exactly one of kubeconfig (a path) and kubeconfigContent (a secret)" in clusterless
    assert f"{STACK}flux: resources is for source-watcher, which components does not install" in found
    assert f"{tenant}.source: follows branch and tag at once; keep one of them" in found
    assert f"{tenant}.sync.targetNamespace: 'other' is none of the tenant's namespaces: apps" in found
    assert f"{tenant}.sync.timeout: {NOT_A_DURATION}" in found


def test_no_error_is_told_that_only_follows_from_another(tmp_path):
    source = {"url": "ssh://git@github.com/acme/apps", "deployKey": "x", "github": {"repository": "acme/apps"}}
    stack: dict[str, Any] = {
        "github": {"ownres": {"acme": {}}},
        "policies": {"engine": "kyverno", "minimumInterval": "often", "sources": {"alowed": []}},
        "tenants": {"dev-team": {"source": source, "sync": {"interval": "1s"}, "namespaces": [{"nam": "apps"}]}},
    }

    found = [line.removeprefix(STACK) for line in problems(tmp_path, **stack)]

    # Neither an owner that is not listed, nor an interval that is too short, nor a source that is not allowed.
    assert [line.partition(":")[0] for line in found] == [
        "github.ownres",
        "policies.engine",
        "policies.minimumInterval",
        "policies.sources.alowed",
        "tenants.dev-team.namespaces[0].nam",
        "tenants.dev-team.namespaces[0].name",
        "tenants.dev-team.source.deployKey",
    ]
    assert NO_KYVERNO in found


def test_a_name_that_is_none_is_told_once(tmp_path):
    [problem] = problems(tmp_path, flux=FLUX | {"resources": {"helm": {"limits": {"memory": "1Gi"}}}})

    assert problem.startswith(f"{STACK}flux.resources.helm: 'helm' is not one of ")


@pytest.mark.parametrize("junk", [None, "x", "{}", 7, True, [], ["x"], {}, {"x": {}}, [{}], [[]]], ids=repr)
def test_whatever_stands_in_the_place_of_a_value_is_told_as_an_error(tmp_path, junk):
    """The checks of what is left read no value that is not there."""
    places: list[tuple[str, ...]] = [
        *[(key,) for key in ("cluster", "flux", "kyverno", "tenancy", "policies", "git", "github", "tenants")],
        *[("flux", key) for key in ("version", "components", "extraArgs", "resources", "sync", "egress", "profile")],
        *[("policies", key) for key in ("engine", "modes", "sources", "images", "minimumInterval")],
        *[("tenants", "dev-team", key) for key in ("namespaces", "source", "sync", "policies", "role")],
        *[("tenants", "dev-team", "source", key) for key in ("url", "github", "deployKey", "https", "verify")],
        *[("tenants", "dev-team", "sync", key) for key in ("path", "interval", "decryption", "targetNamespace")],
        ("github", "owners"),
        ("github", "owners", "acme"),
        ("git", "knownHosts"),
        ("tenancy", "limits"),
    ]
    for number, place in enumerate(places):
        stack: dict[str, Any] = {"cluster": dict(CLUSTER), "flux": dict(FLUX), "tenants": {"dev-team": {}}}
        parent = stack
        for key in place[:-1]:
            parent = parent.setdefault(key, {})
        parent[place[-1]] = junk
        project = tmp_path / str(number)
        project.mkdir()
        with suppress(ConfigurationError):
            load(project, bases=BASES, **stack)


def test_a_tenant_out_of_order_keeps_none_of_the_others_from_being_checked(tmp_path):
    tenants = {"broken": {"namespaces": 1}, "dev-team": {}, "ops-team": {"sync": {"interval": "1s"}}}
    bases = BASES | {"broken": DEV_TEAM_BASE}

    assert problems(tmp_path, bases=bases, tenants=tenants)[1:] == [
        f"{STACK}tenants.ops-team.sync.interval: 1s is shorter than policies.minimumInterval, which is 30s; "
        "lengthen it",
        CLASH,
    ]
