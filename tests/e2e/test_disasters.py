"""The drill of docs/troubleshooting.md: state, secrets provider, repository and cluster are lost and come back."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from dev.lab.cluster import Cluster
from flux_tenancy.components.keys.age_keys import generate
from tests.support.environment import Environment, base
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.project import Project

NAME = "drill"
REPOSITORY = ("shop", "apps")
NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {text: TEXT}\n"
# Without the admission of Kyverno and others, which comes back as any object of the stack does.
pytestmark = pytest.mark.exhaustive


@dataclass
class Drill:
    """The stack, and the folder with the clone that its tenant keeps."""

    lab: Lab
    stack: Environment
    clone: Path

    @property
    def cluster(self) -> RunningCluster:
        return self.stack.cluster

    def workload(self) -> str:
        """uid of the tenant's object: the same as long as nobody deletes it."""
        found = eventually(lambda: self.cluster.find("configmap", "note", "shop"), 120, "the tenant's object")
        return str(found["metadata"]["uid"])

    def push(self, text: str) -> None:
        """A push of the tenant, which Flux applies."""
        self.lab.git.commit_files(*REPOSITORY, {"note.yaml": NOTE.replace("TEXT", text)}, f"Say {text}")
        self.cluster.reconcile("gitrepository", "shop", "shop")

        def said() -> bool:
            found = self.cluster.find("configmap", "note", "shop")
            return found is not None and found["data"] == {"text": text}

        eventually(said, 180, "what the tenant has pushed")

    def forget(self) -> None:
        """Lose the state, with its backups."""
        self.lab.pulumi.remove(NAME, self.stack.project.folder)

    def begin_again(self) -> None:
        """`pulumi stack init`."""
        self.lab.pulumi.select(NAME, self.stack.project.folder)

    def identities(self) -> str:
        """The keys for SOPS, as the cluster has them: docs/troubleshooting.md has this command."""
        sync = self.cluster.get("kustomization", "shop", "shop")
        secret = sync["spec"]["decryption"]["secretRef"]["name"]
        query = r"jsonpath={.data.identity\.agekey}"
        return base64.b64decode(
            self.cluster.kubectl("get", "secret", secret, "-n", "shop", "-o", query).stdout
        ).decode()


@pytest.fixture(scope="class")
def drill(lab: Lab, project: Project, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    folder = tmp_path_factory.mktemp("drill")
    files = {"note.yaml": NOTE.replace("TEXT", "first"), "kustomization.yaml": "resources: [note.yaml]\n"}
    lab.repository(*REPOSITORY, files, folder, private=True)
    project.tenant("shop", base(lab, "/".join(REPOSITORY), "shop"))
    with ExitStack() as clusters:
        cluster = clusters.enter_context(lab.cluster(NAME))
        stack = Environment(lab, project, cluster, flux=lab.bundle())
        stack.onboard("shop", ".")
        identity = generate()
        keys = {"identities": stack.secret(identity.private), "recipients": [identity.recipient]}
        stack.config["tenants"]["shop"]["sync"]["decryption"] = {"age": keys}
        stack.up()
        yield Drill(lab, stack, lab.git.clone(*REPOSITORY, folder / "clone"))


@pytest.mark.scenario
class TestDisasters:
    """Each disaster hits the stack that has come back from the one before."""

    def test_a_lost_state_comes_back_from_its_backup(self, drill: Drill, tmp_path: Path) -> None:
        backup, workload = tmp_path / "backup.json", drill.workload()
        exported = drill.stack.project.run("stack", "export", "--stack", NAME, "--file", str(backup))
        assert exported.succeeded, exported.text
        drill.forget()

        drill.begin_again()
        imported = drill.stack.project.run("stack", "import", "--stack", NAME, "--file", str(backup))

        assert imported.succeeded, imported.text
        assert drill.stack.changes() == {}
        assert drill.workload() == workload

    def test_a_lost_state_without_a_backup_is_rebuilt_by_adoption(self, drill: Drill) -> None:
        workload = drill.workload()
        drill.forget()
        drill.begin_again()
        refused = drill.stack.project.up(NAME)
        assert not refused.succeeded and "(FT-CLU-105)" in refused.text

        drill.stack.config["cluster"]["adopt"] = True
        drill.stack.up()
        del drill.stack.config["cluster"]["adopt"]
        drill.stack.up()

        assert drill.stack.changes() == {}
        assert drill.workload() == workload
        assert len(drill.lab.git.deploy_keys(*REPOSITORY)) == 1
        drill.push("after the state")

    def test_a_lost_secrets_provider_costs_new_deploy_keys_and_no_sops_key(self, drill: Drill) -> None:
        workload, before = drill.workload(), drill.identities()
        drill.forget()
        # Nothing that was encrypted can be decrypted: neither the state nor the values of the stack file.
        file = drill.stack.project.folder / f"Pulumi.{NAME}.yaml"
        content = yaml.safe_load(file.read_text())
        del content["encryptionsalt"]
        content["config"]["flux-tenancy:tenants"] = {}
        file.write_text(yaml.safe_dump(content))
        drill.begin_again()

        recipients = drill.stack.config["tenants"]["shop"]["sync"]["decryption"]["age"]["recipients"]
        drill.stack.onboard("shop", ".")
        keys = {"identities": drill.stack.secret(before), "recipients": recipients}
        drill.stack.config["tenants"]["shop"]["sync"]["decryption"] = {"age": keys}
        drill.stack.config["cluster"]["adopt"] = True
        drill.stack.up()
        del drill.stack.config["cluster"]["adopt"]
        drill.stack.up()

        assert drill.workload() == workload
        assert drill.identities() == before
        assert len(drill.lab.git.deploy_keys(*REPOSITORY)) == 1
        drill.push("after the keys")

    def test_a_lost_repository_comes_back_from_a_clone(self, drill: Drill) -> None:
        workload = drill.workload()
        with drill.lab.git.gitea.client() as api:
            api.delete(f"/repos/{'/'.join(REPOSITORY)}").raise_for_status()
        drill.cluster.reconcile("gitrepository", "shop", "shop")
        drill.cluster.refusal("gitrepository", "shop", "shop")
        assert drill.workload() == workload
        with drill.lab.git.gitea.client() as api:
            created = {"name": REPOSITORY[1], "default_branch": "main", "private": True}
            api.post(f"/orgs/{REPOSITORY[0]}/repos", json=created).raise_for_status()
        drill.lab.git.push(drill.clone)
        assert drill.lab.git.deploy_keys(*REPOSITORY) == []

        refreshed = drill.stack.project.run("up", "--refresh", "--yes", "--skip-preview", "--stack", NAME)

        assert refreshed.succeeded, refreshed.text
        assert len(drill.lab.git.deploy_keys(*REPOSITORY)) == 1
        drill.push("after the repository")
        assert drill.workload() == workload

    def test_a_lost_cluster_is_built_anew(self, drill: Drill, monkeypatch: pytest.MonkeyPatch) -> None:
        workload, keys = drill.workload(), drill.identities()
        lost = Cluster(drill.lab.settings, NAME)
        lost.stop()
        with drill.lab.cluster(f"{NAME}-2") as successor:
            drill.stack.config["cluster"] |= {"kubeconfig": str(successor.kubeconfig), "context": successor.name}
            drill.stack.write()
            refused = drill.stack.project.up(NAME)
            assert not refused.succeeded and "(FT-CLU-102)" in refused.text
            uid = json.loads(successor.kubectl("get", "namespace", "kube-system", "-o", "json").stdout)["metadata"][
                "uid"
            ]
            drill.stack.config["cluster"]["uid"] = uid
            # The provider cannot delete the objects of the lost cluster.
            monkeypatch.setenv("PULUMI_K8S_DELETE_UNREACHABLE", "true")
            drill.stack.up()
            monkeypatch.undo()

            drill.stack.cluster = RunningCluster(NAME, successor.kubeconfig, successor.webhook_url)
            assert drill.workload() != workload
            assert drill.identities() == keys
            drill.push("after the cluster")
            assert drill.stack.project.destroy(NAME).succeeded
        assert drill.lab.git.deploy_keys(*REPOSITORY) == []
