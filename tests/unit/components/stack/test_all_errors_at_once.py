"""All errors of a stack are reported at once: an error in one section does not stop the checks of other values."""

from contextlib import suppress
from typing import Any

import pytest
from sample_stack import CLUSTER, DEV_TEAM_BASE, FLUX, load, problems

from flux_tenancy.components.config.errors import MISSING, ConfigurationError
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE
from flux_tenancy.components.tenant.config import FOREIGN_TARGET_NAMESPACE
from tests.support.messages import said

BASES = {"dev-team": DEV_TEAM_BASE, "ops-team": DEV_TEAM_BASE}
BOTH: dict[str, Any] = {"dev-team": {}, "ops-team": {}}
STACK = "Pulumi.staging.yaml: "
CLASH = "tenants/ops-team.yaml: namespaces[0].name: " + said("FT-CFG-650", "dev-team").of("apps")
NO_KYVERNO = "policies.engine: " + said("FT-CFG-670", "kyverno")


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"cluster": ...}, "cluster: " + MISSING()),
        (
            {"flux": FLUX | {"sha256": "5f"}},
            "flux.sha256: " + said("FT-CFG-009").of("5f"),
        ),
        ({"fluxx": {}}, "fluxx: " + said("FT-CFG-602", "flux")),
        (
            {"git": {"knownHostsFile": "none"}},
            "git.knownHostsFile: " + UNREADABLE_FILE(reason="No such file or directory").of("none"),
        ),
        ({"policies": {"mode": "off"}}, "policies.mode: " + said("FT-CFG-502")),
        (
            {"tenants": {"dev-team": {}, "ops-team": {"sync": {"interval": "often"}}}},
            "tenants.ops-team.sync.interval: " + said("FT-CFG-003").of("often"),
        ),
        ({"tenants": BOTH | {"kyverno": {}}}, "tenants.kyverno: " + said("FT-CFG-001").of("kyverno")),
    ],
    ids=lambda value: "" if isinstance(value, str) else ",".join(value),
)
def test_a_namespace_of_two_tenants_is_reported_with_any_other_error(tmp_path, sections, problem):
    [other, clash] = problems(tmp_path, bases=BASES, **{"tenants": BOTH} | sections)

    assert clash == CLASH
    assert other == STACK + problem


def test_values_are_compared_although_others_of_the_section_are_invalid(tmp_path):
    cluster = CLUSTER | {"kubeconfigContent": "x", "uid": "staging"}
    flux = FLUX | {"version": "2", "resources": {"source-watcher": {}}}
    source = {"interval": "often", "webhook": {"type": "gitlab"}, "github": {"repository": "acme/apps"}}
    entry = {"source": source, "sync": {"targetNamespace": "other", "timeout": "often"}}

    found = problems(tmp_path, cluster=cluster, flux=flux, tenants={"dev-team": entry})

    tenant = f"{STACK}tenants.dev-team"
    assert f"{STACK}cluster: {said('FT-CFG-181')}" in found
    assert f"{STACK}flux.resources: {said('FT-CFG-309', 'source-watcher')}" in found
    assert f"{tenant}.source.webhook.type: {said('FT-CFG-271')}" in found
    assert f"{tenant}.sync.targetNamespace: {FOREIGN_TARGET_NAMESPACE(namespaces='apps').of('other')}" in found
    assert f"{tenant}.sync.timeout: {said('FT-CFG-003').of('often')}" in found


def test_no_error_is_reported_that_only_follows_from_another(tmp_path):
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


def test_an_unknown_name_is_reported_once(tmp_path):
    [problem] = problems(tmp_path, flux=FLUX | {"resources": {"helm": {"limits": {"memory": "1Gi"}}}})

    assert problem.startswith(f"{STACK}flux.resources.helm: 'helm' ")


@pytest.mark.parametrize("junk", [None, "x", "{}", 7, True, [], ["x"], {}, {"x": {}}, [{}], [[]]], ids=repr)
def test_any_junk_in_the_place_of_a_value_is_reported_as_an_error(tmp_path, junk):
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


def test_an_invalid_tenant_does_not_stop_the_checks_of_others(tmp_path):
    tenants = {"broken": {"namespaces": 1}, "dev-team": {}, "ops-team": {"sync": {"interval": "1s"}}}
    bases = BASES | {"broken": DEV_TEAM_BASE}

    assert problems(tmp_path, bases=bases, tenants=tenants)[1:] == [
        f"{STACK}tenants.ops-team.sync.interval: {said('FT-CFG-677', '30s').of('1s')}",
        CLASH,
    ]


def test_a_tenant_of_releases_needs_no_sync_although_another_tenant_is_invalid(tmp_path):
    """Which keys were given counts, also where an error elsewhere leaves only the valid part."""
    releasing = """
namespaces: [{name: releasing}]
sources: {charts: {kind: HelmRepository, url: https://charts.example.com}}
releases: {podinfo: {source: charts, chart: podinfo}}
"""
    tenants = {"releasing": {}, "ops-team": {"sync": {"interval": "often"}}}

    found = problems(tmp_path, bases=BASES | {"releasing": releasing}, tenants=tenants)

    assert found == [f"{STACK}tenants.ops-team.sync.interval: {said('FT-CFG-003').of('often')}"]
