"""`flux-tenancy up` writes the state at its end: if it is killed, it has recorded nothing, and the next one recovers.

Each kill is one of a row: the next command goes on from it, and is killed in its turn, before the last one is left
alone and what has come of all of them is compared with a stack that nobody has disturbed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from flux_tenancy.components.keys.ssh_keys import generate
from flux_tenancy.components.plan import applying_managers
from tests.support.environment import Environment, base
from tests.support.killing import kill_at
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.project import Project
from tests.support.snapshots import Snapshot, objects

NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {text: first}\n"
OPERATION = r"^ [-+~]+ +\S+ \S.* (created|updated|deleted)( \(|$)"
"""Pattern of a line by which Pulumi tells that it has done something."""

OFFBOARDING = [
    f"{kind} deleting"
    for kind in (
        r"Kustomization \S+",
        r"GitRepository \S+",
        r"Secret \S+-git",
        r"RepositoryDeployKey \S+",
        r"ServiceAccount \S+",
        r"ResourceQuota \S+",
        r"Namespace \S+",
        r"providers:github \S+",
    )
]
"""Lines of an offboarding, each after the one before: the next update does not delete again what is gone."""
OF_LAST_STEP = OFFBOARDING[5:7]

UP = (sys.executable, "-m", "flux_tenancy.command", "up", "--yes")
DESTROY = ("env", "PULUMI_SKIP_CHECKPOINTS=true", "pulumi", "destroy", "--yes", "--skip-preview", "--non-interactive")
KEPT = ("namespaces", "deployments", "configmaps", "kustomizations", "gitrepositories", "customresourcedefinitions")
"""Kinds that no recovery may create again."""


@dataclass
class Unrecorded:
    """A stack, and what it has come to undisturbed."""

    lab: Lab
    stack: Environment
    tenants: list[str]
    keys: dict[str, Any]
    undisturbed: dict[str, Snapshot] = field(default_factory=dict)
    operations: dict[str, int] = field(default_factory=dict)
    uids: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.stack.cluster.name

    def configure(self, which: str) -> None:
        """Write the stack.

        `changed` has more tenants and other keys, limits and paths than `first`. In `leaving`, most of them take the
        first step of their offboarding, and in `offboarded` they are gone.
        """
        few = self.tenants[: len(self.tenants) // 2]
        listed = {"first": few, "offboarded": few[1:]}.get(which, self.tenants)
        changed = which != "first"
        self.stack.config["tenancy"] = {"limits": {"objects": {"secrets": 900 if changed else 800}}}
        self.stack.config["tenants"] = {
            name: {
                "source": {"deployKey": self.keys[f"{name} {changed}"]},
                "sync": {"path": "./other" if changed else "./one"},
            }
            for name in listed
        }
        for name in set(self.tenants) - {*few[1:]} if which == "leaving" else ():
            self.stack.config["tenants"][name]["state"] = "leaving"
        self.stack.write()

    def up(self) -> str:
        """Run `flux-tenancy up` to its end."""
        done = self.lab.pulumi.run_beside([*UP, "--stack", self.name], self.stack.project.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def kill(self, command: Sequence[str], operations: int = 1, moment: str = OPERATION) -> None:
        """Kill a command after so many operations, and remember what is there by then."""
        kill_at(self.lab, self.stack.project, [*command, "--stack", self.name], self.name, moment, nth=operations)
        if command is UP:
            self.uids |= uids(self.stack.cluster)

    def has_come_to(self, which: str) -> None:
        """What there is is what an undisturbed update has led to, and nothing was created again on the way."""
        self.undisturbed[which].await_same(self.snapshot)
        assert self.stack.changes() == {}
        now = uids(self.stack.cluster)
        assert {name: now[name] for name in self.uids if name in now} == {
            name: uid for name, uid in self.uids.items() if name in now
        }

    def snapshot(self) -> Snapshot:
        keys = [key for name in self.tenants for key in self.lab.git.deploy_keys(name, "app")]
        hooks = [hook for name in self.tenants for hook in self.lab.git.webhooks(name, "app")]
        found = objects(self.stack.cluster)
        return Snapshot(
            found | {f"managers of {name}": names for name, names in managers(self.stack.cluster).items()},
            sorted(self.stack.project.resources(self.name)),
            sorted((key["title"], key["key"]) for key in keys),
            len(hooks),
        )


def uids(cluster: RunningCluster) -> dict[str, str]:
    """The uid of each object of KEPT, except those that are being deleted."""
    served = {each.partition(".")[0] for each in cluster.kubectl("api-resources", "-o", "name").stdout.split()}
    items = cluster.get(",".join(kind for kind in KEPT if kind in served))["items"]
    return {
        f"{each['kind']} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}": each["metadata"]["uid"]
        for each in items
        if "deletionTimestamp" not in each["metadata"]
    }


def managers(cluster: RunningCluster) -> dict[str, list[str]]:
    """The objects that Pulumi has applied by more than one field manager."""
    kinds = "namespaces,deployments,serviceaccounts,roles,rolebindings,clusterroles,resourcequotas,limitranges"
    done = cluster.kubectl("get", kinds, "-A", "-o", "json", "--show-managed-fields")
    found = {}
    for each in json.loads(done.stdout)["items"]:
        names = applying_managers(each["metadata"])
        if len(names) > 1:
            found[f"{each['kind']} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}"] = names
    return found


@pytest.fixture(scope="class")
def unrecorded(
    request: pytest.FixtureRequest, lab: Lab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Unrecorded]:
    count: int = request.cls.tenants
    folder = tmp_path_factory.mktemp("unrecorded")
    project = Project(folder / "project", lab.pulumi)
    tenants = [f"team-{number:02}" for number in range(count)]
    for name in tenants:
        lab.repository(name, "app", {"one/note.yaml": NOTE, "other/note.yaml": NOTE}, folder, private=True)
        # The first has a webhook, too.
        source: dict[str, Any] = {"webhook": {}} if name == tenants[0] else {}
        project.tenant(name, base(lab, f"{name}/app", name, interval="1h", **source))
    with lab.cluster(f"unrecorded-{count}") as cluster:
        allowed = [lab.git.ssh_url(name, "*").removesuffix(".git") for name in tenants]
        stack = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle() | {"webhookUrl": cluster.webhook_url},
            policies={"engine": "native", "sources": {"allowed": allowed}},
        )
        keys = {f"{name} {new}": stack.secret(generate().private) for name in tenants for new in (False, True)}
        yield Unrecorded(lab, stack, tenants, keys)


@pytest.mark.scenario
class TestStateAtTheEnd:
    """One stack: undisturbed to see what it comes to, and then killed again and again."""

    tenants = 4
    kills = 1
    offboarding = OFFBOARDING[1::4]

    def moments(self) -> list[float]:
        """Parts of an update, evenly, from its begin to its end."""
        return [(each + 0.5) / self.kills for each in range(self.kills)]

    @pytest.mark.parametrize("which", ["first", "changed", "leaving", "offboarded"])
    def test_an_undisturbed_update(self, unrecorded: Unrecorded, which: str) -> None:
        unrecorded.configure(which)
        printed = unrecorded.up()
        unrecorded.operations[which] = len(re.findall(OPERATION, printed, re.MULTILINE))
        if which == "changed":
            # The previous keys go when Flux has fetched with the new ones.
            unrecorded.up()
        for name in (name for name, each in unrecorded.stack.config["tenants"].items() if "state" not in each):
            eventually(partial(unrecorded.stack.cluster.find, "configmap", "note", name))
        unrecorded.undisturbed[which] = unrecorded.snapshot()

    def test_an_undisturbed_destroy(self, unrecorded: Unrecorded) -> None:
        outcome = unrecorded.stack.project.destroy(unrecorded.name)
        assert outcome.succeeded, outcome.text
        unrecorded.operations["gone"] = len(re.findall(OPERATION, outcome.text, re.MULTILINE))
        unrecorded.undisturbed["gone"] = unrecorded.snapshot()

    @pytest.mark.parametrize("which", ["first", "changed"])
    def test_the_next_update_recovers(self, unrecorded: Unrecorded, which: str) -> None:
        unrecorded.configure(which)
        for part in self.moments():
            unrecorded.kill(UP, int(part * unrecorded.operations[which]))
        unrecorded.up()
        # The previous keys go when Flux has fetched with the new ones, and Secrets of the killed ones, to which nothing
        # refers any more.
        unrecorded.up()
        unrecorded.has_come_to(which)

    def test_the_next_offboarding_recovers(self, unrecorded: Unrecorded) -> None:
        for step in ("leaving", "offboarded"):
            unrecorded.configure(step)
            for moment in self.offboarding:
                if (moment in OF_LAST_STEP) is (step == "offboarded"):
                    unrecorded.kill(UP, moment=moment)
            unrecorded.up()
        # Deploy keys and webhooks that are gone leave the state by the update after the one that finds that.
        unrecorded.up()
        unrecorded.has_come_to("offboarded")

    def test_destroy(self, unrecorded: Unrecorded) -> None:
        for part in self.moments():
            unrecorded.kill(DESTROY, int(part * unrecorded.operations["gone"]))
        outcome = unrecorded.stack.project.destroy(unrecorded.name)
        assert outcome.succeeded, outcome.text
        assert unrecorded.undisturbed["gone"].difference(unrecorded.snapshot()) == {}


@pytest.mark.exhaustive
class TestManyKills(TestStateAtTheEnd):
    """The same with many tenants, at forty-one moments."""

    tenants = 20
    kills = 11
    offboarding = OFFBOARDING
