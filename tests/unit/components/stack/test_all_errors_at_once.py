"""All errors of the sections are reported at once, and once all sections are valid, all errors between them."""

from contextlib import suppress
from typing import Any

import pytest
from sample_stack import CLUSTER, DEV_TEAM_BASE, FLUX, load, problems

from flux_tenancy.components.config.errors import MISSING, ConfigurationError
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE
from tests.support.messages import said

BASES = {"dev-team": DEV_TEAM_BASE, "ops-team": DEV_TEAM_BASE}
BOTH: dict[str, Any] = {"dev-team": {}, "ops-team": {}}
STACK = "Pulumi.staging.yaml: "
CLASH = "tenants/ops-team.yaml: namespaces[0].name: " + said("FT-CFG-001", "the tenant dev-team").of("apps")
NO_KYVERNO = "policies.engine: " + said("FT-CFG-670", "kyverno", "kyverno", "engine to native")


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"cluster": ...}, "cluster: " + MISSING()),
        (
            {"flux": FLUX | {"sha256": "5f"}},
            "flux.sha256: "
            + said("FT-CFG-006", "a SHA-256 digest", "9f86d08…, with 64 lowercase hexadecimal digits").of("5f"),
        ),
        ({"fluxx": {}}, "fluxx: " + said("FT-CFG-602", "did you mean 'flux'?")),
        (
            {"git": {"knownHostsFile": "none"}},
            "git.knownHostsFile: " + UNREADABLE_FILE(reason="No such file or directory").of("none"),
        ),
        ({"policies": {"mode": "off"}}, "policies.mode: " + said("FT-CFG-502")),
        (
            {"tenants": {"dev-team": {}, "ops-team": {"sync": {"interval": "often"}}}},
            "tenants.ops-team.sync.interval: " + said("FT-CFG-006", "a duration", "30s, 5m or 1h30m").of("often"),
        ),
        (
            {"tenants": BOTH | {"kyverno": {}}},
            "tenants.kyverno: " + said("FT-CFG-001", "the cluster's own components").of("kyverno"),
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else ",".join(value),
)
def test_sections_are_compared_once_all_of_them_are_valid(tmp_path, sections, problem):
    assert problems(tmp_path, bases=BASES, **{"tenants": BOTH} | sections) == [STACK + problem]
    assert problems(tmp_path, bases=BASES, tenants=BOTH) == [CLASH]


def test_all_errors_between_sections_are_reported_at_once(tmp_path):
    tenants = {"dev-team": {}, "ops-team": {"sync": {"interval": "1s"}}}

    assert problems(tmp_path, bases=BASES, policies={"engine": "kyverno"}, tenants=tenants) == [
        STACK + NO_KYVERNO,
        f"{STACK}tenants.ops-team.sync.interval: "
        + said("FT-CFG-678", "shorter", "policies.minimumInterval", "30s", "more").of("1s"),
        CLASH,
    ]


def test_no_error_is_reported_that_only_follows_from_another(tmp_path):
    source = {"url": "ssh://git@github.com/acme/apps", "deployKey": "x", "github": {"repository": "acme/apps"}}
    stack: dict[str, Any] = {
        "github": {"ownres": {"acme": {}}},
        "policies": {"engine": "kyverno", "minimumInterval": "often", "sources": {"alowed": []}},
        "tenants": {"dev-team": {"source": source, "sync": {"interval": "1s"}, "namespaces": [{"nam": "apps"}]}},
    }

    found = [line.removeprefix(STACK) for line in problems(tmp_path, **stack)]

    # Neither an owner that is not listed, nor an interval that is too short, nor an engine that is not installed.
    assert [line.partition(":")[0] for line in found] == [
        "github.ownres",
        "policies.minimumInterval",
        "policies.sources.alowed",
        "tenants.dev-team.namespaces[0].nam",
        "tenants.dev-team.namespaces[0].name",
        "tenants.dev-team.source.deployKey",
    ]


@pytest.mark.parametrize("junk", [None, "x", "{}", 7, True, [], ["x"], {}, {"x": {}}, [{}], [[]]], ids=repr)
def test_any_junk_in_the_place_of_a_value_is_reported_as_an_error(tmp_path, junk):
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
