"""The components in a Pulumi program of one's own, imported from `flux_tenancy` and built with plain arguments."""

from __future__ import annotations

import hashlib
import re
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest
import sample_kyverno
import yaml
from recorded_program import Registration, run
from sample_project import pinned
from sample_release import RELEASE_FILE
from sample_stack import FLUX

import flux_tenancy
from flux_tenancy import KyvernoInstall, KyvernoPolicies
from flux_tenancy.components.installs.flux.release import read_release
from flux_tenancy.components.installs.kyverno import KyvernoInstallArgs, kyverno_chart
from flux_tenancy.components.policies.component import PoliciesArgs
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.platform import enabled_policies

PAGE = Path(__file__).parents[3] / "dev" / "docs" / "components.md"
KUBECONFIG = {
    "clusters": [{"name": "made", "cluster": {"server": "http://127.0.0.1:1"}}],
    "contexts": [{"name": "made", "context": {"cluster": "made", "user": "made"}}],
    "current-context": "made",
    "users": [{"name": "made", "user": {}}],
}
TENANT = {
    "namespaces": [{"name": "apps"}],
    "source": {"url": "https://git.example.com/my-team/apps"},
    "sync": {"path": "./deploy"},
}


def sections() -> dict[str, Any]:
    release = RELEASE_FILE.read_bytes()
    return {
        "cluster": {"kubeconfig": "kubeconfig.yaml"},
        "flux": FLUX | {"sha256": hashlib.sha256(release).hexdigest(), "manifests": {"bundle": str(RELEASE_FILE)}},
        "policies": {"sources": {"allowed": ["https://git.example.com/*"]}},
        "tenants": {"my-team": {}},
    }


def before(name: str, registered: dict[str, Registration]) -> set[str]:
    """Everything that a resource, or a component around it, is registered after."""
    found: set[str] = set()
    todo = {name}
    while todo:
        todo = {other for each in todo for other in (*registered[each].after, registered[each].parent)} - found
        todo &= registered.keys()  # The stack is its own.
        found |= todo
    return found


def test_the_package_offers_what_it_lists() -> None:
    assert [getattr(flux_tenancy, name).__name__ for name in flux_tenancy.__all__] == flux_tenancy.__all__
    with pytest.raises(AttributeError, match="Unknown"):
        flux_tenancy.Unknown  # noqa: B018


def test_the_program_of_the_page_registers_the_platform_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "tenants").mkdir()
    for file, content in (
        ("platform.yaml", sections()),
        ("tenants/my-team.yaml", TENANT),
        ("kubeconfig.yaml", KUBECONFIG),
    ):
        (tmp_path / file).write_text(yaml.safe_dump(content))
    (tmp_path / "program.py").write_text(program)
    monkeypatch.chdir(tmp_path)

    registered = run(lambda: runpy.run_path("program.py") and None)

    assert {"Namespace flux-system", "Namespace apps", "Kustomization apps/my-team"} <= registered.keys()
    objects = [each for each in registered.values() if each.type.startswith("kubernetes:")]
    assert {each.provider for each in objects} == {"kubernetes cluster"}
    for name in ("Namespace apps", "Kustomization apps/my-team"):
        probe = "ValidatingAdmissionPolicy flux-tenancy-probe"
        assert {probe, "Deployment flux-system/kustomize-controller"} <= before(name, registered), name
        assert "native-policies-in-force" in registered[name].hooks["before_create"]
    assert "ClusterRole flux-tenancy-tenant" in before("Namespace apps", registered)


def test_kyvernos_policies_are_built_once_it_serves(tmp_path: Path) -> None:
    kyverno = pinned(tmp_path, sample_kyverno, sample_kyverno.KYVERNO)
    config = StackConfig.model_validate(sections() | {"kyverno": kyverno, "tenants": {}})
    assert (section := config.kyverno) is not None
    chart, release = kyverno_chart(section, tmp_path), read_release(config.flux, tmp_path)
    api: Any = None

    def program() -> None:
        installed = KyvernoInstall("kyverno", KyvernoInstallArgs(section, chart, api))
        policy_set = enabled_policies(config, PolicyEngine.KYVERNO, release)
        after = pulumi.ResourceOptions(depends_on=[installed.release])
        KyvernoPolicies("policies", PoliciesArgs(policy_set, api, ready=[installed.serving]), after)

    probe = run(program)["ValidatingPolicy flux-tenancy-probe"]

    assert "kyverno-serving" in probe.hooks["before_create"]
    assert "kyverno-policies-in-force" in probe.hooks["after_create"]
