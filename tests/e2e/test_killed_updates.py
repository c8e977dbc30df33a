"""Updates killed at chosen resources: `pulumi cancel` and `pulumi up` lead to what an undisturbed update leads to.

Each kill is one of a row: the next update goes on from it, and is killed in its turn, before the last one is left alone
and what has come of all of them is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from dev.lab.pulumi import CLI
from flux_tenancy.components.keys.ssh_keys import generate
from tests.support.environment import Environment, base
from tests.support.killing import kill_at
from tests.support.lab import Lab, RunningCluster, eventually
from tests.support.project import Project
from tests.support.snapshots import Snapshot, objects

NAME = "killed"
SHOP, GUEST = "killed-shop/shop", "killed-guest/site"
NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: note}\ndata: {text: first}\n"

Effect = Callable[["Killed"], object]


@dataclass
class Killed:
    """The stack, and what it came to undisturbed."""

    lab: Lab
    stack: Environment
    keys: dict[str, dict[str, str]]
    undisturbed: dict[str, Snapshot] = field(default_factory=dict)
    cleared: bool = False

    def configure(self, which: str) -> None:
        """Write the stack.

        `large` has another tenant and other settings everywhere than `small`, `rotated` another key, and in `leaving`,
        the other tenant takes the first step of its offboarding.
        """
        large = which not in ("small", "leaving")
        key = self.keys["second" if which == "rotated" else "first"]
        config = self.stack.config
        config["tenancy"] = {"limits": {"objects": {"secrets": 900 if large else 800}}}
        config["kyverno"] = self.lab.kyverno_chart("1.19.1") | {"replicas": 1, "reports": large}
        config["tenants"] = {"shop": {"source": {"deployKey": key}}}
        if which != "small":
            leaving = {"state": "leaving"} if which == "leaving" else {}
            config["tenants"]["guest"] = {"source": {"deployKey": self.keys["guest"]}, **leaving}
        self.stack.write()

    def kill(self, command: str, moment: str, effect: Effect | None = None) -> None:
        """Kill a command at a moment, which may only be one of the second run.

        After a kill of Helm, the next update stops, and is run again as its error says.
        """
        done = (lambda: effect(self)) if effect else None
        called = [str(self.lab.pulumi.bin / CLI), command, *self._options]
        kill_at(self.lab, self.stack.project, called, NAME, moment, done)
        if moment.startswith("Release "):
            refused = self.stack.project.up(NAME)
            assert not refused.succeeded and "(FT-KYV-005)" in refused.text, refused.text
            assert "`kubectl delete secret -n kyverno -l owner=helm,name=kyverno`" in refused.text
            self.stack.cluster.kubectl("delete", "secret", "-n", "kyverno", "-l", "owner=helm,name=kyverno")
            self.cleared = True
        else:
            self.cleared = False

    def up(self) -> None:
        """Update to the end."""
        self.stack.write()
        outcome = self.stack.project.run("up", *self._options)
        assert outcome.succeeded, outcome.text
        self.cleared = False

    @property
    def _options(self) -> list[str]:
        refresh = ["--refresh"] if self.cleared else []
        return ["--yes", "--skip-preview", "--stack", NAME, "--non-interactive", *refresh]

    def snapshot(self) -> Snapshot:
        organisations = [repository.split("/") for repository in (SHOP, GUEST)]
        keys = [key for each in organisations for key in self.lab.git.deploy_keys(*each)]
        hooks = [hook for each in organisations for hook in self.lab.git.webhooks(*each)]
        return Snapshot(
            objects(self.stack.cluster),
            sorted(self.stack.project.resources(NAME)),
            sorted((key["title"], key["key"]) for key in keys),
            len(hooks),
        )

    def recover(self) -> None:
        """Update twice: deploy keys and webhooks that are gone leave the state by the update after the next."""
        self.up()
        self.up()

    def has_come_to(self, which: str) -> None:
        """What there is is what an undisturbed update has led to."""
        self.undisturbed[which].await_same(self.snapshot)
        (path,) = {hook["config"]["url"] for hook in self.lab.git.webhooks(*SHOP.split("/"))}
        receiver = self.stack.cluster.get("receiver", "shop", "shop")
        assert path.endswith(receiver["status"]["webhookPath"])
        assert self.stack.changes() == {}


@pytest.fixture(scope="module")
def killed(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    folder = tmp_path_factory.mktemp(NAME)
    project = Project(folder / "project", lab.pulumi)
    for repository in (SHOP, GUEST):
        owner, name = repository.split("/")
        lab.repository(owner, name, {"note.yaml": NOTE}, folder, private=True)
    project.tenant("shop", base(lab, SHOP, "shop", interval="1h", webhook={}))
    project.tenant("guest", base(lab, GUEST, "guest"))
    with lab.cluster(NAME) as cluster:
        allowed = [lab.git.ssh_url(each.split("/")[0], "*").removesuffix(".git") for each in (SHOP, GUEST)]
        stack = Environment(
            lab,
            project,
            cluster,
            flux=lab.bundle() | {"webhookUrl": cluster.webhook_url},
            policies={"engine": "kyverno", "sources": {"allowed": allowed}},
        )
        yield Killed(lab, stack, {name: stack.secret(generate().private) for name in ("first", "second", "guest")})


def terminating(cluster: RunningCluster) -> list[str]:
    """The namespaces that are being deleted."""
    found = cluster.get("namespaces")["items"]
    return [each["metadata"]["name"] for each in found if "deletionTimestamp" in each["metadata"]]


def release_is(status: str) -> Effect:
    """Helm works at the release."""

    def effect(killed: Killed) -> object:
        selector = f"owner=helm,name=kyverno,status={status}"
        return killed.stack.cluster.kubectl("get", "secrets", "-n", "kyverno", "-l", selector, "-o", "name").stdout

    return effect


def registered(kind: str, count: int) -> Effect:
    """The Git host has so many keys or webhooks of the shop's repository."""
    return lambda killed: len(getattr(killed.lab.git, kind)(*SHOP.split("/"))) == count


UP: list[tuple[str, Effect | None]] = [
    ("WebhookConfiguration kyverno-.* creating", None),
    ("Namespace flux-system creating", None),
    ("Service flux-system/artifacts-of-source-controller creating", None),
    (r"CustomResourceDefinition \S+ creating", None),
    ("Release kyverno creating", release_is("pending-install")),
    ("Deployment flux-system/source-controller creating", None),
    (r"ValidatingPolicy \S+ creating", None),
    ("RepositoryDeployKey shop-.* creating", registered("deploy_keys", 1)),
    ("GitRepository shop/shop creating", None),
    ("RepositoryWebhook shop creating", registered("webhooks", 1)),
    ("Kustomization shop/shop creating", None),
]
UPDATE: list[tuple[str, Effect | None]] = [
    ("Release kyverno updating", release_is("pending-upgrade")),
    ("ResourceQuota shop/.* updating", None),
    ("ServiceAccount guest/.* creating", None),
]
NEW_KEY: tuple[str, Effect] = ("RepositoryDeployKey shop-.* creating", registered("deploy_keys", 2))
PREVIOUS_KEY: tuple[str, Effect] = ("RepositoryDeployKey shop-.* deleting", registered("deploy_keys", 1))
OFFBOARDING: list[tuple[str, Effect | None]] = [
    ("Kustomization guest/guest deleting", None),
    ("RepositoryDeployKey guest-.* deleting", None),
    ("Namespace guest deleting", None),
]
DESTROY: list[tuple[str, Effect | None]] = [
    ("Kustomization shop/shop deleting", None),
    ("Release kyverno deleting", release_is("uninstalling")),
    ("Namespace flux-system deleting", None),
]


def names(moments: list[tuple[str, Effect | None]]) -> list[str]:
    return [re.sub(r"\W+", "-", moment) for moment, _ in moments]


@pytest.mark.exhaustive
@pytest.mark.scenario
class TestKilledUpdates:
    """One stack: undisturbed to see what it comes to, and then killed again and again."""

    @pytest.mark.parametrize("which", ["small", "large", "rotated"])
    def test_an_undisturbed_update(self, killed: Killed, which: str) -> None:
        killed.configure(which)
        killed.stack.up()
        if which == "rotated":
            # The previous key goes when Flux has fetched with the new one.
            killed.stack.up()
        assert killed.stack.changes() == {}
        eventually(lambda: killed.stack.cluster.find("configmap", "note", "shop"))
        killed.undisturbed[which] = killed.snapshot()

    def test_an_undisturbed_destroy(self, killed: Killed) -> None:
        outcome = killed.stack.project.destroy(NAME)
        assert outcome.succeeded, outcome.text
        killed.undisturbed["gone"] = killed.snapshot()
        killed.configure("small")

    @pytest.mark.parametrize(("moment", "effect"), UP, ids=names(UP))
    def test_up_is_killed(self, killed: Killed, moment: str, effect: Effect | None) -> None:
        killed.kill("up", moment, effect)

    def test_the_next_up_recovers(self, killed: Killed) -> None:
        killed.up()
        killed.has_come_to("small")
        killed.configure("large")

    @pytest.mark.parametrize(("moment", "effect"), UPDATE, ids=names(UPDATE))
    def test_update_is_killed(self, killed: Killed, moment: str, effect: Effect | None) -> None:
        killed.kill("up", moment, effect)

    def test_the_next_update_recovers(self, killed: Killed) -> None:
        killed.up()
        killed.has_come_to("large")
        killed.configure("rotated")

    def test_rotation_is_killed(self, killed: Killed) -> None:
        killed.kill("up", *NEW_KEY)

    def test_the_removal_of_the_previous_key_is_killed(self, killed: Killed) -> None:
        killed.stack.up()
        killed.kill("up", *PREVIOUS_KEY)

    def test_the_next_rotation_recovers(self, killed: Killed) -> None:
        killed.recover()
        killed.has_come_to("rotated")
        killed.configure("leaving")

    @pytest.mark.parametrize(("moment", "effect"), OFFBOARDING, ids=names(OFFBOARDING))
    def test_offboarding_is_killed(self, killed: Killed, moment: str, effect: Effect | None) -> None:
        if moment.startswith("Namespace"):
            killed.up()
            killed.configure("small")
        killed.kill("up", moment, effect)

    def test_the_next_offboarding_recovers(self, killed: Killed) -> None:
        killed.recover()
        killed.has_come_to("small")

    @pytest.mark.parametrize(("moment", "effect"), DESTROY, ids=names(DESTROY))
    def test_destroy_is_killed_and_up_restores_all(self, killed: Killed, moment: str, effect: Effect | None) -> None:
        killed.kill("destroy", moment, effect)
        eventually(lambda: not terminating(killed.stack.cluster), timeout=120)
        if killed.cleared:
            killed.up()
            killed.has_come_to("small")
            return
        outcome = killed.stack.project.up(NAME)
        if not outcome.succeeded:
            assert "(FT-CLU-113)" in outcome.text, outcome.text
            outcome = killed.stack.project.run("up", "--yes", "--skip-preview", "--refresh", "--stack", NAME)
        assert outcome.succeeded, outcome.text
        killed.has_come_to("small")

    def test_destroy_leaves_nothing(self, killed: Killed) -> None:
        outcome = killed.stack.project.destroy(NAME)
        assert outcome.succeeded, outcome.text
        killed_snapshot = killed.snapshot()
        assert killed.undisturbed["gone"].difference(killed_snapshot) == {}
        assert (killed_snapshot.keys, killed_snapshot.webhooks) == ([], 0)
