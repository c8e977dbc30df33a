"""A preview by an identity that may only read, and what somebody changes behind the stack's back, on a real cluster."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.components.cluster.component import PREVIEWER
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.installs.flux.controller_rights import IMPERSONATION
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.components.vocabulary.names import TENANT_LABEL
from flux_tenancy.isolation.inventory import StackInventory
from flux_tenancy.isolation.scene import Tenancy
from flux_tenancy.operations.drift.recorded_state import read_recorded
from flux_tenancy.operations.drift.repair import _restore_all
from flux_tenancy.operations.drift.search import Drift
from tests.support.damage import DAMAGES, DELETED, RECREATED, STRIPPED
from tests.support.environment import Environment
from tests.support.killing import kill_process
from tests.support.lab import Lab, eventually
from tests.support.mutations import together
from tests.support.platform_holes import HARMLESS, HOLES, PlatformHole
from tests.support.project import Project

NAME = "reviewed"
TEAMS = ("dev-team", "ops-team", "new-team")
CI, ACCOUNT = "ci", "preview"
BINDING = "flux-tenancy-host-access"
CONTROLLER = "kustomize-controller"
SCALED, ENFORCED = "helm-controller", "pod-security.kubernetes.io/enforce"
# Annotations that controllers and a requested reconciliation write.
_BY_CONTROLLERS = ("deployment.kubernetes.io/", "reconcile.fluxcd.io/")
FLAG = "--no-cross-namespace-refs=true"
ROLE, GRANTED = "flux-tenancy-tenant", "dev-team-reconciler"
APPENDED = {
    (f"Deployment {CONTROLLER}", "changed", "spec.template.spec.containers[manager].args"),
    (f"ClusterRole {ROLE}", "changed", "rules"),
    (f"RoleBinding {GRANTED}", "changed", "subjects"),
}
OTHERS = {
    (f"Deployment {SCALED}", "changed", "spec.replicas"),
    (f"Namespace {TEAMS[0]}", "changed", f'metadata.labels["{ENFORCED}"]'),
}
# Every user may ask who it is and what it may do.
EVERYBODYS = {"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io"}
# Each preview makes up its own names.
MADE_UP = re.compile(r"-[0-9a-f]{8}\b")


class Reviewed(Environment):
    """A stack of two tenants whose repositories nobody has, and who may preview it."""

    def apply_once(self) -> None:
        """Apply the stack, unless an earlier test has."""
        if not self.project.resources(NAME):
            self.up()

    def preview(self) -> list[Any]:
        """Every step of a preview: what is done, to what, and which inputs differ."""
        self.write()
        compared = [
            [step["op"], step["urn"], step.get("detailedDiff"), step.get("newState", {}).get("inputs")]
            for step in self.project.steps(NAME)
        ]
        found: list[Any] = json.loads(MADE_UP.sub("-made-up", json.dumps(compared)))
        return sorted(found, key=lambda step: (step[1], step[0]))

    @contextmanager
    def as_previewer(self) -> Iterator[None]:
        """Give the kubeconfig the token of the previewer during the block."""
        token = self.cluster.kubectl("create", "token", ACCOUNT, "-n", CI).stdout.strip()
        admin = self.cluster.kubeconfig.read_text()
        content = yaml.safe_load(admin)
        for user in content["users"]:
            user["user"] = {"token": token}
        self.cluster.kubeconfig.write_text(yaml.safe_dump(content))
        try:
            yield
        finally:
            self.cluster.kubeconfig.write_text(admin)

    def kubectl(self, *arguments: str) -> str:
        done = self.cluster.kubectl(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rules(self, user: str) -> list[dict[str, Any]]:
        """What the API server lets a user do."""
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "dev-team"},
        }
        done = self.cluster.kubectl("create", "-f", "-", "-o", "json", user=user, stdin=json.dumps(review))
        found: list[dict[str, Any]] = json.loads(done.stdout)["status"]["resourceRules"]
        assert len(found) > len(EVERYBODYS)
        return found

    def patch(self, kind: str, name: str, patch: Any, *options: str) -> None:
        self.kubectl("patch", kind, name, *options, "-p", json.dumps(patch))

    def lists(self) -> list[Any]:
        """Three lists that the API server takes as a whole: flags, rules and subjects."""
        pod = self.cluster.get("deployment", CONTROLLER, "flux-system")["spec"]["template"]["spec"]
        role = self.cluster.get("clusterrole", ROLE)
        return [
            pod["containers"][0]["args"],
            role["rules"],
            self.cluster.get("rolebinding", GRANTED, TEAMS[0])["subjects"],
        ]

    def append(self, first: bool = False) -> None:
        """Add two items to each list by hand, at its end or at its beginning."""
        at = 0 if first else "-"
        rule = {"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User"}
        for target, path, items in (
            (
                ("deployment", CONTROLLER, "-n", "flux-system"),
                "/spec/template/spec/containers/0/args",
                ["--log-level=debug", "--no-cross-namespace-refs=false"],
            ),
            (("clusterrole", ROLE), "/rules", [rule, rule | {"verbs": ["list"]}]),
            (
                ("rolebinding", GRANTED, "-n", TEAMS[0]),
                "/subjects",
                [subject | {"name": name} for name in ("alice", "bob")],
            ),
        ):
            patch = [{"op": "add", "path": f"{path}/{at}", "value": item} for item in items]
            self.kubectl("patch", *target, "--type=json", "-p", json.dumps(patch))

    def allow(self) -> None:
        """Write what is no drift."""
        self.kubectl("rollout", "restart", "deployment", CONTROLLER, "-n", "flux-system")

    def check_allowed(self) -> None:
        template = self.cluster.get("deployment", CONTROLLER, "flux-system")["spec"]["template"]
        assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]

    @contextmanager
    def refusing_updates(self, role: str, message: str) -> Iterator[None]:
        """Refuse every update of a ClusterRole during the block."""
        policy, bound = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
        rule = {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["UPDATE"],
            "resources": ["clusterroles"],
            "resourceNames": [role],
        }
        specs = {
            policy: {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "false", "message": message}],
            },
            bound: {"policyName": "refusing", "validationActions": ["Deny"]},
        }
        dry_run = ("label", "clusterrole", role, "example.com/asked=now", "--dry-run=server")
        for kind, spec in specs.items():
            metadata = {"name": "refusing"}
            self.cluster.apply(
                {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
            )
        try:
            eventually(lambda: message in self.cluster.kubectl(*dry_run).stderr)
            yield
        finally:
            for kind in specs:
                self.kubectl("delete", kind, "refusing")
            eventually(lambda: self.cluster.kubectl(*dry_run).returncode == 0)

    def damaged_object(self, kind: str, namespace: str, name: str) -> tuple[str, dict[str, Any]]:
        """The name of an object, and what it is; of no name, the first of the tenant's."""
        if not name:
            listed = self.cluster.get(kind.lower(), namespace=namespace)["items"]
            own = [each for each in listed if each["metadata"].get("labels", {}).get(TENANT_LABEL) == namespace]
            name = min(each["metadata"]["name"] for each in own)
        return name, self.cluster.get(kind.lower(), name, namespace or None)

    def damage(self) -> dict[tuple[str, str], set[str]]:
        """Do all damages; returns which fields of which objects differ."""
        expected: dict[tuple[str, str], set[str]] = {}
        patches: dict[tuple[str, str, str], dict[str, list[Any]]] = {}
        for each in DAMAGES:
            name, found = self.damaged_object(each.kind, each.namespace, each.name)
            by_manager = patches.setdefault((each.kind, each.namespace, name), {})
            by_manager.setdefault(each.manager, []).extend(each.patch(found))
            expected.setdefault((each.kind, name), set()).add(each.reported)
        for (kind, namespace, name), by_manager in patches.items():
            within = ["-n", namespace] if namespace else []
            for manager, patch in by_manager.items():
                self.patch(kind.lower(), name, patch, *within, "--type=json", f"--field-manager={manager}")
        for kind, namespace, name in DELETED:
            self.kubectl("delete", kind.lower(), name, "-n", namespace)
            expected[kind, name] = {""}
        kind, namespace, name = RECREATED
        again = self.cluster.get(kind.lower(), name, namespace)
        kept = {key: again["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
        self.kubectl("delete", kind.lower(), name, "-n", namespace)
        self.cluster.create({**again, "metadata": kept})
        expected[kind, name] = {"metadata.managedFields"}
        kind, _, name = STRIPPED
        strip = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
        self.patch(kind.lower(), name, strip, "--type=json")
        expected[kind, name].add("metadata.managedFields")
        return expected

    def damaged(self) -> dict[tuple[str, str, str], Any]:
        """All objects of which something is damaged, without what the API server and controllers write."""
        places = {(each.kind, each.namespace, each.name) for each in DAMAGES} | {*DELETED, RECREATED}
        return {place: _content(self.damaged_object(*place)[1]) for place in sorted(places)}

    def refresh(self, command: str, *options: str) -> None:
        """Run a command that copies the cluster into the state."""
        outcome = self.project.run(command, *options, "--yes", "--skip-preview", "--stack", NAME)
        assert outcome.succeeded, outcome.text


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _content(found: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: found["metadata"].get(key) or {} for key in ("labels", "annotations", "ownerReferences")}
    metadata["annotations"] = {
        key: each for key, each in metadata["annotations"].items() if not key.startswith(_BY_CONTROLLERS)
    }
    finalizers = [each for each in found["metadata"].get("finalizers", ()) if "fluxcd" not in each]
    rest = {key: each for key, each in found.items() if key not in ("metadata", "status")}
    return {**rest, "metadata": metadata, "finalizers": finalizers}


@pytest.fixture(scope="module")
def stack(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reviewed]:
    project = Project(tmp_path_factory.mktemp(NAME) / "project", lab.pulumi)
    for team in TEAMS:
        source = {"url": lab.git.url("nobody", "nothing"), "webhook": {"type": "generic-hmac"}}
        project.tenant(team, {"namespaces": [{"name": team}], "source": source})
    with lab.cluster(NAME) as cluster, pytest.MonkeyPatch.context() as patch:
        patch.chdir(project.folder)
        for variable, value in lab.pulumi.environment().items():
            patch.setenv(variable, value)
        patch.setenv("PATH", str(lab.pulumi.bin), prepend=os.pathsep)
        # No sync becomes ready, which is reported; nothing waits for it.
        environment = Reviewed(
            lab,
            project,
            cluster,
            # In a namespace that is not of the stack.
            flux=lab.bundle() | {"impersonate": [{"namespace": CI, "serviceAccounts": [ACCOUNT]}]},
            github={},
            policies={"engine": "native", "sources": {"plainHttp": True}},
            tenancy={
                "settleTimeout": "1s",
                "networkPolicy": "default-deny",
                "limits": {"containers": {"maximum": {"memory": "4Gi"}}},
            },
        )
        environment.config["cluster"]["previewers"] = [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": CI}]
        environment.config["tenants"] = {"dev-team": {}, "ops-team": {}}
        environment.write()
        environment.kubectl("create", "namespace", CI)
        environment.kubectl("create", "serviceaccount", ACCOUNT, "-n", CI)
        yield environment


def invoke(group: str, command: str, *arguments: str) -> Result:
    """Run a command for the stack."""
    done = CliRunner().invoke(app, [group, command, "--stack", NAME, *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def run(group: str, command: str, *arguments: str) -> tuple[int, str]:
    """Run a command for the stack; returns its exit code and what it prints."""
    done = invoke(group, command, *arguments)
    return done.exit_code, done.stdout


def drifted() -> dict[str, dict[str, Any]]:
    """What differs, by kind and name."""
    code, out = run("drift", "show", "--output", "json", "--exit-code")
    found = {f"{each['kind']} {each['name']}": each for each in json.loads(out)["differences"]}
    assert code == bool(found)
    return found


@pytest.mark.scenario
class TestReview:
    def test_a_previewer_previews_an_empty_cluster_as_an_admin_does(self, stack: Reviewed, tmp_path: Path) -> None:
        assert run("review", "render", "--out", str(tmp_path))[0] == 0
        for kind in ("clusterrole", "clusterrolebinding"):
            [manifest] = tmp_path.glob(f"{NAME}/platform/cluster/{kind}-{PREVIEWER}.yaml")
            stack.kubectl("apply", "-f", str(manifest))

        with stack.as_previewer():
            seen = stack.preview()

        for created in (f"Deployment::flux-system/{CONTROLLER}", f"Role::{CI}/{IMPERSONATION}"):
            assert [step[0] for step in seen if step[1].endswith(created)] == ["create"]
        assert seen == stack.preview()

    def test_an_update_takes_the_role_over(self, stack: Reviewed) -> None:
        stack.up()

        subjects = stack.cluster.get("clusterrolebinding", PREVIEWER)["subjects"]
        assert subjects == [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": CI}]
        impersonate, read = stack.cluster.get("role", IMPERSONATION, CI)["rules"]
        assert (impersonate["verbs"], impersonate["resourceNames"]) == (["impersonate"], [ACCOUNT, "default"])
        assert (read["verbs"], read["resources"]) == (["get"], ["configmaps", "secrets"])
        assert stack.changes() == {}

    def test_a_previewer_sees_every_change_as_an_admin_does(self, stack: Reviewed) -> None:
        """A tenant comes, another leaves, a role grows, a policy is relaxed and a controller gets another flag."""
        before = json.loads(json.dumps(stack.config))
        rules = [{"apiGroups": ["example.com"], "resources": ["widgets"], "verbs": ["get"]}]
        tenants = {"dev-team": {"sync": {"interval": "7m"}}, "new-team": {}, "ops-team": {"state": "leaving"}}
        stack.config["tenants"] = tenants
        stack.config["tenancy"] = {**stack.config["tenancy"], "extraRules": rules}
        stack.config["policies"] = {**stack.config["policies"], "modes": {"host-access": "audit"}}
        stack.config["flux"] = {**stack.config["flux"], "profile": "single-tenant"}
        try:
            with stack.as_previewer():
                seen = stack.preview()
            by_admin = stack.preview()
        finally:
            stack.config = before
            stack.write()

        assert {"create", "update", "delete"} <= {step[0] for step in seen}
        assert seen == by_admin

    def test_a_previewer_can_change_nothing_and_reads_no_secret(self, stack: Reviewed) -> None:
        for rule in stack.rules(f"system:serviceaccount:{CI}:{ACCOUNT}"):
            if not set(rule["apiGroups"]) <= EVERYBODYS:
                assert set(rule["verbs"]) <= {"get", "list"} and not {"secrets", "*"} & set(rule["resources"]), rule
        stack.config["tenants"]["dev-team"] = {"sync": {"interval": "9m"}}
        stack.write()
        try:
            with stack.as_previewer():
                outcome = stack.project.up(NAME)
        finally:
            stack.config["tenants"]["dev-team"] = {}
            stack.write()

        assert not outcome.succeeded and "orbidden" in outcome.text
        assert stack.cluster.get("kustomization", "dev-team", "dev-team")["spec"]["interval"] != "9m"

    def test_a_cluster_as_the_update_has_left_it_has_no_drift_for_a_previewer_either(self, stack: Reviewed) -> None:
        assert drifted() == {}
        with stack.as_previewer():
            code, out = run("drift", "show", "--exit-code")

        assert code == 0
        assert "Not compared, since this user may not list them: Secret." in out

    def test_drift_names_what_has_changed_by_whom_and_since_when(self, stack: Reviewed) -> None:
        args = stack.cluster.get("deployment", CONTROLLER, "flux-system")["spec"]["template"]["spec"]["containers"]
        at = args[0]["args"].index(FLAG)
        flag = [
            {
                "op": "replace",
                "path": f"/spec/template/spec/containers/0/args/{at}",
                "value": FLAG.replace("true", "false"),
            }
        ]
        stack.patch("deployment", CONTROLLER, flag, "-n", "flux-system", "--type=json")
        stack.patch("deployment", CONTROLLER, {"spec": {"minReadySeconds": 1}}, "-n", "flux-system")
        stack.patch(
            "validatingadmissionpolicybinding", BINDING, {"spec": {"validationActions": ["Audit"]}}, "--type=merge"
        )
        stack.kubectl("delete", "networkpolicy", "allow-egress", "-n", "flux-system")
        stack.kubectl("create", "rolebinding", "helper", "--clusterrole=admin", "--user=bob", "-n", "dev-team")
        stack.kubectl("create", "configmap", "own", "-n", "dev-team")

        code, out = run("drift", "show", "--output", "json", "--exit-code")

        assert code == 1
        found = json.loads(out)["differences"]
        assert [(each["what"], each["kind"], each["name"], each["field"], each["by"]) for each in found] == [
            ("missing", "NetworkPolicy", "allow-egress", "", ""),
            ("changed", "ValidatingAdmissionPolicyBinding", BINDING, "spec.validationActions", "kubectl-patch"),
            ("changed", "Deployment", CONTROLLER, "spec.template.spec.containers[manager].args", "kubectl-patch"),
            ("added", "Deployment", CONTROLLER, "spec.minReadySeconds", "kubectl-patch"),
            ("foreign", "RoleBinding", "helper", "", "kubectl-create"),
        ]
        edited = found[2]
        assert FLAG in edited["stack"] and FLAG.replace("true", "false") in edited["cluster"]
        managers = stack.cluster.kubectl(
            "get", "deployment", CONTROLLER, "-n", "flux-system", "-o", "json", "--show-managed-fields"
        )
        times = [each["time"] for each in json.loads(managers.stdout)["metadata"]["managedFields"]]
        assert edited["since"] in times

    def test_an_update_alone_does_not_see_it_and_a_repair_restores_it(self, stack: Reviewed) -> None:
        assert stack.changes() == {}

        assert run("drift", "repair")[0] == 0
        assert set(stack.changes()) == {"NetworkPolicy flux-system/allow-egress"}
        stack.up()

        # Somebody may need it: it is shown, and stays.
        assert [(each["what"], name) for name, each in drifted().items()] == [("foreign", "RoleBinding helper")]
        stack.kubectl("delete", "rolebinding", "helper", "-n", "dev-team")
        assert drifted() == {}
        assert run("drift", "repair") == (0, "")

    def test_a_repair_that_is_refused_fails_and_names_what_still_differs(self, stack: Reviewed) -> None:
        rules = stack.cluster.get("clusterrole", ROLE)["rules"]
        added = {"op": "add", "path": "/rules/-", "value": rules[0] | {"verbs": ["get"]}}
        stack.patch("clusterrole", ROLE, [added], "--type=json")
        stack.kubectl("scale", "deployment", SCALED, "-n", "flux-system", "--replicas=0")

        with stack.refusing_updates(ROLE, "not now"):
            done = invoke("drift", "repair")

        assert done.exit_code == 2
        assert f"after the repair, the cluster still differs from stack {NAME}: ClusterRole {ROLE} (" in done.stderr
        assert (
            "refuses an object: " in done.stderr
            and "not now; correct what it refuses): rules (FT-OPS-052)" in done.stderr
        )
        # The control: the rest is repaired, and once nobody refuses it, that is, too.
        assert set(drifted()) == {f"ClusterRole {ROLE}"}
        assert run("drift", "repair")[0] == 0
        assert drifted() == {}
        assert stack.cluster.get("clusterrole", ROLE)["rules"] == rules

    def test_a_repair_beside_an_update_changes_nothing(self, lab: Lab, stack: Reviewed) -> None:
        """What was killed still holds the lock, as if it was running."""
        refresh = ["pulumi", "refresh", "--yes", "--skip-preview", "--non-interactive", "--stack", NAME]
        kill_process(lab.pulumi, stack.project, refresh, "refreshing")
        stack.kubectl("scale", "deployment", SCALED, "-n", "flux-system", "--replicas=0")

        done = invoke("drift", "repair")

        assert done.exit_code == 2 and "(FT-OPS-340)" in done.stderr
        assert set(drifted()) == {f"Deployment {SCALED}"}
        assert stack.project.run("cancel", "--yes", "--stack", NAME).succeeded
        assert run("drift", "repair")[0] == 0
        assert drifted() == {}

    @pytest.mark.parametrize("refresh", [["refresh"], ["up", "--refresh"]], ids=" ".join)
    def test_what_a_refresh_has_read_stays_the_stacks(self, stack: Reviewed, refresh: list[str]) -> None:
        lists, scale, label = stack.lists(), ("deployment", SCALED, "-n", "flux-system"), ("namespace", TEAMS[0])
        replicas, enforced = "{.spec.replicas}", "{.metadata.labels.pod-security\\.kubernetes\\.io/enforce}"

        def found() -> tuple[str, str]:
            return (
                stack.kubectl("get", *scale, "-o", f"jsonpath={replicas}"),
                stack.kubectl("get", *label, "-o", f"jsonpath={enforced}"),
            )

        stack.append(first=refresh == ["refresh"])
        stack.kubectl("scale", *scale, "--replicas=0")
        stack.kubectl("label", *label, f"{ENFORCED}=privileged", "--overwrite")
        stack.allow()
        assert found() == ("0", "privileged")
        stack.refresh(*refresh)
        # An update sees after a refresh what has changed in the cluster, but for the items of lists.
        others = set() if "up" in refresh else OTHERS
        assert {(name, each["what"], each["field"]) for name, each in drifted().items()} == APPENDED | others

        assert run("drift", "repair")[0] == 0
        assert (stack.lists(), *found()) == (lists, "1", "restricted")
        assert drifted() == {}
        stack.check_allowed()
        stack.up()
        assert (stack.lists(), *found()) == (lists, "1", "restricted")
        assert drifted() == {}


class Platform:
    """What is found about the stack, again and again, with its state and its render read once."""

    def __init__(self, stack: Reviewed) -> None:
        stack.apply_once()
        folder = stack.project.folder
        self._folder = folder
        self.api = connect(ClusterConfig(kubeconfig=str(stack.cluster.kubeconfig)), folder)
        self._recorded = read_recorded(NAME, folder)
        self._urns = {(each.manifest["kind"], name_of(each.manifest)): each.urn for each in self._recorded.objects}
        self._inventory = StackInventory(self.api, load_offline(NAME, folder)[0], self._recorded)
        self._tenancy = Tenancy(TEAMS[0], (TEAMS[0],), TEAMS[0])

    def manager_of(self, secret: str) -> str:
        """The field manager by which Pulumi applies a Secret."""
        return next(each.manager for each in self._recorded.objects if each.manifest["metadata"]["name"] == secret)

    def drift(self) -> Drift:
        """What `flux-tenancy drift show` reports."""
        return self._inventory.read()

    def inventory(self, drift: Drift) -> set[tuple[str, str]]:
        """Namespace and object of what the isolation suite reports for a tenant."""
        return {(each.namespace, each.target) for each in self._inventory.of(self._tenancy, drift)}

    def restore(self, found: dict[str, Any]) -> None:
        """Restore an object as a repair does."""
        urn = self._urns[found["kind"], name_of(found)]
        reasons, _ = _restore_all(self.api, self._recorded, {urn}, NAME, self._folder)
        assert reasons == {}


@pytest.fixture(scope="module")
def platform(stack: Reviewed) -> Platform:
    return Platform(stack)


class TestPlatform:
    """Each hole about the platform is found by its name, and what others have beside it is not."""

    @pytest.mark.parametrize("holes", [pytest.param(each, id=each[0].name) for each in together(HOLES)])
    def test_each_hole_is_found(self, platform: Platform, holes: list[PlatformHole]) -> None:
        with ExitStack() as making:
            for hole in holes:
                making.enter_context(hole.made(platform.api, platform.restore))
            found = platform.drift()
            inventory = platform.inventory(found)

        drift = found.differences
        assert {(each.namespace, each.kind, each.name) for each in drift} == {hole.finding for hole in holes}
        for hole in holes:
            namespace, kind, name = hole.finding
            own = [each for each in drift if (each.namespace, each.kind, each.name) == hole.finding]
            assert {each.what for each in own} <= hole.what
            assert any(each.field.startswith(hole.field) for each in own)
            assert (name if kind == "Namespace" else namespace, f"{kind} {name}") in inventory

    def test_what_reaches_nobody_is_not_found(self, platform: Platform) -> None:
        with ExitStack() as planted:
            for each in HARMLESS:
                planted.enter_context(PlatformHole("", each, (), [], "").made(platform.api, platform.restore))
            drift = platform.drift()
            inventory = platform.inventory(drift)

        assert (drift.differences, inventory) == ((), set())
        assert len(HOLES) >= 25

    def test_an_update_repairs_what_was_changed_and_what_is_missing(self, stack: Reviewed, platform: Platform) -> None:
        """Secrets too: one that somebody has written as Pulumi, and one that is now an immutable one of others."""
        before = {team: stack.cluster.get("secret", f"{team}-webhook", team)["data"] for team in TEAMS[:2]}
        changed = [each for each in HOLES if each.change != []]
        for each in changed:
            each.make(platform.api)
        written, replaced = TEAMS[:2]
        patch = json.dumps({"data": {"token": "b3RoZXI="}})
        as_pulumi = f"--field-manager={platform.manager_of(f'{written}-webhook')}"
        stack.kubectl("patch", "secret", f"{written}-webhook", "-n", written, "-p", patch, as_pulumi)
        found = stack.cluster.get("secret", f"{replaced}-webhook", replaced)
        stack.kubectl("delete", "secret", f"{replaced}-webhook", "-n", replaced)
        metadata = {key: found["metadata"][key] for key in ("name", "namespace", "labels", "annotations")}
        other = {"metadata": metadata, "data": {"token": "b3RoZXI="}, "immutable": True}
        stack.cluster.create({**found, **other})

        reported = {(each.namespace, each.kind, each.name) for each in platform.drift().differences}
        secrets = {(team, "Secret", f"{team}-webhook") for team in before}
        assert reported == {each.finding for each in changed} | secrets

        done = CliRunner().invoke(app, ["up", "--stack", NAME, "--yes"])
        assert done.exit_code == 0, done.output
        assert drifted() == {}
        after = {team: stack.cluster.get("secret", f"{team}-webhook", team) for team in before}
        assert {team: each["data"] for team, each in after.items()} == before
        assert not any(each.get("immutable") for each in after.values())
        assert stack.changes() == {}


@pytest.mark.scenario
class TestDamage:
    """Everything at once, since what is damaged is independent."""

    def test_each_kind_of_damage_is_reported_and_repaired(self, stack: Reviewed) -> None:
        stack.apply_once()
        stack.allow()
        before = stack.damaged()
        expected = stack.damage()
        assert len(DAMAGES) + len(DELETED) + 2 >= 30

        code, out = run("drift", "show", "--output", "json", "--exit-code")
        found: dict[tuple[str, str], set[str]] = {}
        for each in json.loads(out)["differences"]:
            found.setdefault((each["kind"], each["name"]), set()).add(each["field"])
        assert code == 1
        assert found.keys() == expected.keys()
        # A list is reported as a whole where one of its items is not told apart.
        silent = {
            key: fields
            for key, listed in expected.items()
            if (fields := {each for each in listed if not any(_overlap(each, field) for field in found[key])})
        }
        assert silent == {}

        done = invoke("drift", "repair")
        assert done.exit_code == 0, done.stderr
        stack.up()
        assert drifted() == {}
        after = stack.damaged()
        assert {place: each for place, each in after.items() if each != before[place]} == {}
        assert stack.changes() == {}
