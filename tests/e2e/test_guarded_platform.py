"""The whole platform with both engines: it comes up in order, runs with its policies, and is removed in reverse."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, object_name
from tests.e2e.manifests import kustomization, namespace
from tests.support.admission import refused_to_controllers
from tests.support.charts import Chart, Overlays
from tests.support.environment import Environment, base
from tests.support.isolation import assert_safe, run_stack
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.project import CHECKOUT, Project
from tests.support.registry import Registry

NAME = "guarded-platform"
ONBOARDING = Path(__file__).parents[2] / "docs" / "kyverno.md"
# What comes one after the other, by kind; Kyverno's own definitions come with its release.
ORDERS = (
    ("CustomResourceDefinition", "ValidatingAdmissionPolicyBinding flux-tenancy-status-writes", "Namespace apps"),
    ("CustomResourceDefinition", "ValidatingPolicy", "Namespace apps"),
    ("Release", "ValidatingPolicy", "Namespace apps"),
)
# A sync prunes while its identity still may.
OFFBOARDING = (
    "Kustomization tools/ops-team",
    "RoleBinding tools/ops-team-reconciler",
    "ServiceAccount tools/ops-team",
    "Namespace tools",
)
OFFBOARDING_ACCESS = (
    ("kustomization", "ops-team"),
    ("rolebinding", "ops-team-reconciler"),
    ("serviceaccount", "ops-team"),
)
HOLD = "held.example.com/held"
WELCOME = "staging/welcome.yaml"
WELCOME_TEXT = (CHECKOUT / "dev/lab/sample/dev-team/apps" / WELCOME).read_text()
DOOR = """\
apiVersion: v1
kind: Service
metadata:
  name: door
spec:
  type: NodePort
  ports:
    - port: 80
"""
SAMPLE = yaml.safe_load((CHECKOUT / "Pulumi.staging.yaml").read_text())
OWN_NAMESPACES = {"default", "kube-node-lease", "kube-public", "kube-system"}
POLICY_KINDS = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
WEBHOOK_KINDS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")
MISSING = (
    "spec.serviceAccountName is missing; Flux applies everything in this namespace as its tenant: set it to dev-team"
)


def sources(lab: Lab, owner: str) -> str:
    """The pattern of all repositories of an owner."""
    return lab.git.ssh_url(owner, "*").removesuffix(".git")


def refused(lab: Lab, cluster: RunningCluster) -> list[str]:
    """What admission refused to the controllers, except for the door that one step requests on purpose."""
    return [line for line in refused_to_controllers(lab, cluster) if "Service/apps/door" not in line]


@pytest.fixture(scope="module")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """One tenant, and policies that only warn; nothing is up yet."""
    project = Project(tmp_path_factory.mktemp(NAME) / "project", lab.pulumi)
    project.tenant("dev-team", base(lab, "dev-team/apps", "apps", interval="1h", webhook={}))
    with lab.cluster(NAME) as cluster:
        environment = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle() | {"webhookUrl": cluster.webhook_url},
            kyverno=lab.kyverno_chart("1.19.1") | {"replicas": 1},
            policies={
                "engine": "both",
                "mode": "audit",
                "sources": {"allowed": [sources(lab, "dev-team")]},
                "images": {"allowed": ["registry.example/dev-team/*", "registry.example/ops-team/*"]},
                "onboarding": True,
            },
            tenancy=SAMPLE["config"]["flux-tenancy:tenancy"],
        )
        environment.onboard("dev-team", "./staging")
        # By itself Flux looks again at what was refused when all tests are over.
        environment.config["tenants"]["dev-team"]["sync"]["retryInterval"] = "1h"
        yield environment


def order(text: str, done: str, kinds: tuple[str, ...]) -> list[str]:
    """The order in which Pulumi finished objects of these kinds; consecutive ones of a kind count once."""
    names = re.findall(rf"kubernetes:\S+:(\w+ \S+) {done}", text)
    found = (kind for name in names for kind in kinds if name == kind or name.startswith(f"{kind} "))
    return [kind for kind, _ in groupby(found)]


def deleted(text: str, objects: tuple[str, ...]) -> list[str]:
    """Which of these objects Pulumi deleted, in its order."""
    return [name for name in re.findall(r"kubernetes:\S+:(\w+ \S+) deleted", text) if name in objects]


def nameless(name: str, place: str = "apps") -> dict[str, Any]:
    """A sync without a service account and with no other fault: of several refusals the API server reports any one."""
    manifest = kustomization(name, place=place)
    del manifest["spec"]["serviceAccountName"]
    return manifest


def holding(owner: dict[str, Any]) -> dict[str, Any]:
    """An object with a finalizer that nobody removes, which blocks the deletion of its owner."""
    reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
        key: owner["metadata"][key] for key in ("name", "uid")
    }
    metadata = {
        "name": "held",
        "namespace": owner["metadata"]["namespace"],
        "finalizers": [HOLD],
        "ownerReferences": [reference | {"blockOwnerDeletion": True}],
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def was_handled(environment: Environment, name: str) -> bool:
    """Whether Flux's status shows that it handled the last request for a reconciliation."""
    found = environment.cluster.get("kustomization", name, "apps")
    asked = found["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"]
    return bool(found["status"].get("lastHandledReconcileAt") == asked)


def applied(environment: Environment, name: str, namespace: str) -> str:
    status = environment.cluster.get("kustomization", name, namespace)["status"]
    revision: str = status.get("lastAppliedRevision", "")
    return revision


def clear_labelled(cluster: RunningCluster) -> None:
    """Objects that were onboarded by label outlive the stack, without rights; the documented command removes them."""
    asked = ("auth", "can-i", "create", "configmaps", "-n", "shop")
    answer = cluster.kubectl(*asked, user="system:serviceaccount:shop:blue-team").stdout
    assert answer.startswith("no - ") and '"flux-tenancy-tenant" not found' in answer
    assert cluster.find("rolebinding", "blue-team-reconciler", "shop") is not None
    [command] = re.findall(r"^\$ kubectl (delete \S+ -A \\\n.*)$", ONBOARDING.read_text(), re.MULTILINE)
    done = cluster.kubectl(*shlex.split(command.replace("\\\n", "")))
    assert done.returncode == 0, done.stderr
    for kind in ("rolebindings", "resourcequotas", "networkpolicies"):
        assert cluster.get(kind, namespace="shop")["items"] == [], kind
    cluster.kubectl("delete", "namespace", "shop")


@pytest.mark.scenario
class TestGuardedPlatform:
    """A platform from its first update to its removal."""

    def test_one_update_brings_everything_up_in_order(self, stack: Environment) -> None:
        text = stack.up()

        for kinds in ORDERS:
            assert order(text, "created", kinds) == list(kinds)
        eventually(lambda: stack.cluster.ready("kustomization", "dev-team", "apps")[0] == "True")
        done = stack.cluster.kubectl("rollout", "status", "-n", "apps", "deployment/guestbook", "--timeout=60s")
        assert done.returncode == 0, done.stderr

    def test_audit_warns_and_enforce_leaves_existing_objects_alone(self, stack: Environment) -> None:
        cluster, policy = stack.cluster, object_name(PolicyName.TENANT_SERVICE_ACCOUNT)
        warnings = [line for line in cluster.create(nameless("older")).splitlines() if MISSING in line]
        assert len(warnings) == 2 and all(line.startswith("Warning: ") and policy in line for line in warnings)
        eventually(lambda: cluster.get("kustomization", "older", "apps")["metadata"].get("finalizers"))

        stack.config["policies"]["mode"] = "enforce"
        stack.up()

        # A sync that was ready before is reconciled again.
        assert was_handled(stack, "dev-team")
        said = cluster.create(nameless("newer"))
        assert f"'{policy}' denied request: {MISSING}" in said
        assert cluster.kubectl("label", "kustomization", "older", "-n", "apps", "a=b").returncode == 0
        cluster.reconcile("kustomization", "older", "apps")
        eventually(lambda: was_handled(stack, "older"))
        done = cluster.kubectl("delete", "kustomization", "older", "-n", "apps", "--timeout=60s")
        assert done.returncode == 0, done.stderr

    def test_a_tenants_pod_gets_the_token_that_it_mounts(self, lab: Lab, stack: Environment) -> None:
        """Its node requests it, while policies refuse tokens to the tenant."""
        cluster = stack.cluster
        template = cluster.get("deployment", "guestbook", "apps")["spec"]["template"]["spec"]
        mounting = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mounting", "namespace": "apps"}}
        spec = template | {"automountServiceAccountToken": True}
        assert cluster.create(mounting | {"spec": spec}, user="system:serviceaccount:apps:dev-team") == ""

        done = cluster.kubectl("wait", "pod/mounting", "-n", "apps", "--for=condition=Ready", "--timeout=20s")

        failed = cluster.kubectl("get", "events", "-n", "apps", "--field-selector=reason=FailedMount")
        assert done.returncode == 0, done.stderr + failed.stdout
        volumes = cluster.get("pod", "mounting", "apps")["spec"]["volumes"]
        assert [volume for volume in volumes if "serviceAccountToken" in str(volume)]
        assert refused(lab, cluster) == []
        cluster.kubectl("delete", "pod", "mounting", "-n", "apps")

    def test_a_push_reaches_the_cluster(self, lab: Lab, stack: Environment) -> None:
        commit = lab.git.commit_files("dev-team", "apps", {"NOTES.md": f"{time.time_ns()}\n"}, "Note the time")

        eventually(lambda: applied(stack, "dev-team", "apps").endswith(commit))
        assert refused(lab, stack.cluster) == []

    def test_a_tenants_chart_runs_once_everything_that_its_refusal_names_is_allowed(
        self, lab: Lab, stack: Environment
    ) -> None:
        registry = Registry(lab.git.gitea, "charts")
        registry.push_chart(Chart("greeter", "1.0.0", "registry.example/charts/app:1"))
        pattern, source = f"{registry.chart_registry}/*", {"url": registry.chart_registry, "type": "oci"}
        sample = lab.settings.project / "dev/lab/sample/dev-team/apps"
        overlays = Overlays(sample, "dev-team", {"greeter": source | {"insecure": True}}, {"staging": ">=1.0.0-alpha"})
        repository = yaml.safe_load(overlays.files["base/greeter-repository.yaml"] or "")
        account = "system:serviceaccount:apps:dev-team"

        said = stack.cluster.create(repository, "--namespace=apps", "--dry-run=server", user=account)

        assert re.findall(r"ask the platform team for: (.*)", said) == [
            f"{pattern} in the tenant's policies.sources, policies.sources.plainHttp: true in the stack, "
            "the images of its charts in the tenant's policies.images"
        ]
        stack.config["policies"]["sources"]["plainHttp"] = True
        stack.config["tenants"]["dev-team"]["policies"] = {
            "sources": [pattern],
            "images": ["registry.example/charts/*"],
        }
        stack.up()
        lab.git.commit_files("dev-team", "apps", overlays.files, "Run a chart")
        eventually(lambda: stack.cluster.ready("helmrelease", "greeter", "apps")[0] == "True")
        assert stack.cluster.get("deployment", "greeter", "apps")["metadata"]["annotations"]["message"] == "staging"
        self.a_chart_in_git_gets_its_dependency_from_there(lab, stack.cluster, registry.chart_registry, account)
        assert refused(lab, stack.cluster) == []

        lab.git.commit_files("dev-team", "apps", overlays.undone, "Run no chart")
        eventually(lambda: stack.cluster.find("deployment", "greeter", "apps") is None)

    def a_chart_in_git_gets_its_dependency_from_there(
        self, lab: Lab, cluster: RunningCluster, allowed: str, account: str
    ) -> None:
        """The samples open charts from Git; source-controller fetches what such a chart depends on."""
        dependency = {"name": "greeter", "version": "1.0.0", "repository": allowed}
        chart = {"apiVersion": "v2", "name": "parent", "version": "0.1.0", "dependencies": [dependency]}
        lab.git.commit_files("dev-team", "apps", {"charts/parent/Chart.yaml": yaml.safe_dump(chart)}, "Add a chart")
        source = {"kind": "GitRepository", "name": "dev-team"}
        release = {
            "apiVersion": "helm.toolkit.fluxcd.io/v2",
            "kind": "HelmRelease",
            "metadata": {"name": "parent", "namespace": "apps"},
            "spec": {
                "interval": "10m",
                "serviceAccountName": "dev-team",
                "chart": {"spec": {"chart": "./charts/parent", "sourceRef": source}},
            },
        }
        assert cluster.create(release, user=account) == ""

        eventually(lambda: cluster.ready("helmrelease", "parent", "apps")[0] == "True", what="the release")

        assert cluster.get("deployment", "parent", "apps")["metadata"]["labels"]["chart"] == "greeter-1.0.0"
        done = cluster.kubectl("delete", "helmrelease", "parent", "-n", "apps", "--timeout=60s")
        assert done.returncode == 0, done.stderr

    def test_the_update_that_lifts_a_refusal_reports_the_tenant_ready(self, lab: Lab, stack: Environment) -> None:
        """Flux by itself would look again only after `retryInterval`."""
        before = stack.config["policies"]
        lab.git.commit_files("dev-team", "apps", {WELCOME: f"{WELCOME_TEXT}---\n{DOOR}"}, "Open a door")
        assert "spec.type NodePort is not allowed" in stack.cluster.refusal(
            "kustomization", "dev-team", "apps", "NodePort"
        )

        stack.config["policies"] = before | {"serviceTypes": ["ClusterIP", "NodePort"]}
        text = stack.up()

        assert "is not ready" not in text
        assert stack.outputs()["tenants"]["dev-team"]["status"] == {"ready": "True", "message": ""}
        assert stack.cluster.find("service", "door", "apps") is not None
        lab.git.commit_files("dev-team", "apps", {WELCOME: WELCOME_TEXT}, "Close the door")
        eventually(lambda: stack.cluster.find("service", "door", "apps") is None)
        assert stack.changes() == {}
        stack.config["policies"] = before

    def test_an_entry_that_allows_nothing_is_refused_before_anything_is_applied(
        self, lab: Lab, stack: Environment
    ) -> None:
        before = stack.project.resources(NAME)
        own = {"policies": {"sources": ["git.example.com"]}}
        stack.project.tenant("ops-team", base(lab, "ops-team/tools", "tools") | own)
        stack.onboard("ops-team", "./production")
        stack.write()

        outcome = stack.project.up(NAME)

        assert not outcome.succeeded
        assert "tenants/ops-team.yaml: policies.sources[0]: " in outcome.text
        assert stack.project.resources(NAME) == before
        assert stack.cluster.find("namespace", "tools") is None

    def test_a_tenant_that_blocks_its_offboarding_still_loses_its_access(self, lab: Lab, stack: Environment) -> None:
        cluster = stack.cluster
        own = {"policies": {"sources": [sources(lab, "ops-team")]}}
        quick = {"sync": {"targetNamespace": "tools", "timeout": "10s", "wait": False}}
        stack.project.tenant("ops-team", base(lab, "ops-team/tools", "tools") | own | quick)
        tenancy = stack.config["tenancy"]
        stack.config["tenancy"] = tenancy | {"offboardingTimeout": "5s"}
        stack.up()
        eventually(lambda: cluster.ready("kustomization", "ops-team", "tools")[0] == "True")
        binding = cluster.get("rolebinding", "ops-team-reconciler", "tools")
        cluster.apply(holding(binding))
        # Flux may then not prune, and would try for ever.
        nobody = ("patch", "rolebinding", "ops-team-reconciler", "-n", "tools", "--type=merge", "-p", '{"subjects":[]}')
        assert cluster.kubectl(*nobody).returncode == 0
        tenant = stack.config["tenants"]["ops-team"]

        said = stack.offboard("ops-team")
        stack.write()
        outcome = stack.project.up(NAME)

        assert not outcome.succeeded
        assert "(FT-TEN-010)" in said and "(FT-TEN-021)" in outcome.text
        for kind, name in OFFBOARDING_ACCESS:
            assert cluster.find(kind, name, "tools") is None
        assert f"configmaps held by {HOLD}" in outcome.text

        stack.config["tenants"]["ops-team"] = tenant
        stack.write()
        before = stack.project.resources(NAME)
        outcome = stack.project.up(NAME)
        assert re.search(r"tenants\.ops-team: .*'tools'.* \(FT-CLU-110\):", outcome.text)
        assert stack.project.resources(NAME) == before

        release = ("--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        done = cluster.kubectl("patch", "configmap", "held", "-n", "tools", *release)
        assert done.returncode == 0, done.stderr
        eventually(lambda: cluster.find("namespace", "tools") is None)
        stack.config["tenancy"] = tenancy
        stack.write()
        # The offboarding has not ended, so the state still has the namespace.
        assert "(FT-CLU-113)" in stack.project.up(NAME).text
        recovered = stack.project.run("up", "--yes", "--skip-preview", "--refresh", "--stack", NAME)
        assert recovered.succeeded, recovered.text
        eventually(lambda: cluster.ready("kustomization", "ops-team", "tools")[0] == "True")
        assert stack.changes() == {}

    def test_no_attempt_passes_for_any_tenant_and_all_is_as_intended(self, stack: Environment) -> None:
        """With the engines and the tenancy of the sample stacks, and their two tenants."""
        assert SAMPLE["config"]["flux-tenancy:policies"] == {"engine": stack.config["policies"]["engine"]}

        reports = run_stack(stack.project, NAME)

        assert [each.report["tenant"] for each in reports] == ["dev-team", "ops-team"]
        assert_safe(*reports)
        for found in reports:
            assert len(found.ids("refused")) > 150

    def test_a_tenant_comes_and_leaves_in_two_steps_under_enforced_policies(self, lab: Lab, stack: Environment) -> None:
        cluster, before = stack.cluster, stack.applications("apps")
        own = {"policies": {"sources": [sources(lab, "ops-team")]}}
        stack.project.tenant("ops-team", base(lab, "ops-team/tools", "tools") | own)
        stack.config["cluster"]["protect"] = True
        stack.up()
        eventually(lambda: cluster.ready("kustomization", "ops-team", "tools")[0] == "True")
        assert stack.changes() == {}
        applied = stack.project.resources(NAME)
        protected = {entry["urn"].rpartition("::")[2] for entry in stack.project.state(NAME) if entry.get("protect")}
        assert {name for name in protected if "." not in name} == {"apps", "tools", "flux-system", "kyverno"}
        assert "kustomizations.kustomize.toolkit.fluxcd.io" in protected
        tenant = stack.config["tenants"].pop("ops-team")
        stack.write()

        outcome = stack.project.up(NAME)

        assert not outcome.succeeded and "tenants.ops-team: is missing" in outcome.text
        assert "(FT-TEN-112)" in outcome.text and stack.project.resources(NAME) == applied
        assert "cannot be deleted" in stack.project.run("destroy", "--preview-only", "--stack", NAME).text

        stack.config["tenants"]["ops-team"] = tenant | {"state": "leaving"}
        text = stack.up()

        assert deleted(text, OFFBOARDING) == list(OFFBOARDING[:-1])
        assert cluster.get("deployments", namespace="tools")["items"] == []
        refusal = cluster.create(nameless("newer", "tools"))
        assert f"'{object_name(PolicyName.TENANT_SERVICE_ACCOUNT)}' denied request" in refusal
        cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "by-hand", "namespace": "tools"}})
        left = stack.project.run("preview", "--stack", NAME)
        assert "remaining in namespace tools: 1 Secret;" in left.text, left.text

        del stack.config["tenants"]["ops-team"], stack.config["cluster"]["protect"]
        assert deleted(stack.up(), OFFBOARDING) == list(OFFBOARDING[-1:])
        assert cluster.find("namespace", "tools") is None
        assert stack.applications("apps") == before
        assert refused(lab, cluster) == []

    def test_destroy_removes_everything_in_reverse_order(self, lab: Lab, stack: Environment) -> None:
        cluster = stack.cluster
        cluster.apply(namespace("shop", {"toolkit.fluxcd.io/tenant": "blue-team"}))
        eventually(lambda: cluster.find("rolebinding", "blue-team-reconciler", "shop"))

        outcome = stack.project.destroy(NAME)

        assert outcome.succeeded, outcome.text
        clear_labelled(cluster)
        for kinds in ORDERS:
            assert order(outcome.text, "deleted", kinds) == list(reversed(kinds))
        for kind in POLICY_KINDS:
            left = [item["metadata"]["name"] for item in cluster.get(kind)["items"]]
            assert not [name for name in left if name.startswith(OBJECT_PREFIX)], kind
        for kind in WEBHOOK_KINDS:
            assert cluster.get(kind)["items"] == [], kind
        # With the definitions of Kyverno's policies go the policies.
        left = [item["metadata"]["name"] for item in cluster.get("crds")["items"]]
        assert not [name for name in left if "kyverno" in name or "fluxcd" in name]
        assert {item["metadata"]["name"] for item in cluster.get("namespaces")["items"]} == OWN_NAMESPACES
        for kind in ("clusterroles", "clusterrolebindings"):
            left = [item["metadata"]["name"] for item in cluster.get(kind)["items"]]
            of_flux = [name for name in left if "flux" in name or name in ("crd-controller", "cluster-reconciler")]
            assert not of_flux, kind
        assert stack.project.resources(NAME) == []
        assert refused(lab, stack.cluster) == []
