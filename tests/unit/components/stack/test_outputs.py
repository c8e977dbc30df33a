"""Stack outputs: what an operator or a tenant needs to know next."""

import hashlib
import json
import logging
import sys
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
import yaml
from message_codes import codes
from pulumi.runtime.settings import get_monitor
from recorded_program import run
from sample_changes import changed
from sample_plan import platform_args, tenant_args
from sample_release import release
from sample_sops_keys import age_identity, openpgp_key, with_age
from sample_sources import private_key, public_key, stack, with_deploy_key
from sample_stack import CLUSTER, FLUX, flux_config, removal

from flux_tenancy.components.cluster.client import ClusterFacts, ClusterUnavailable
from flux_tenancy.components.git.source import git_access, webhook_url
from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs, PlatformSync, platform_path
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.plan import stack_plan
from flux_tenancy.components.stack.platform import Platform
from flux_tenancy.components.stack.report.outputs import Look, report, stack_outputs
from flux_tenancy.components.stack.report.progress import settled
from flux_tenancy.components.sync.progress import Changes
from flux_tenancy.components.sync.status import REQUESTED_AT, FluxObjects, Progress, StartFailure, SyncStatus
from flux_tenancy.components.tenant.component import Tenant
from flux_tenancy.components.tenant.config import TenantConfig, TenantState
from flux_tenancy.components.tenant.further_access import FurtherBinding
from flux_tenancy.components.tenant.grants import Grant
from flux_tenancy.components.tenant.leaving.remaining_objects import Remains
from flux_tenancy.components.tenant.people import TenantPeople
from flux_tenancy.components.tenant.scope import source_meta
from flux_tenancy.components.tenant.syncs import FurtherSync
from flux_tenancy.components.vocabulary.names import TENANT_LABEL

DEV, PLATFORM = ("dev-team-apps", "dev-team"), ("flux-system", "flux-system")
NOW = datetime(2026, 11, 22, 21, 3, tzinfo=UTC)
FACTS = ClusterFacts("the-cluster", "v1.36.3", {})
PUBLIC: dict[str, Any] = {"dev-team": {}}
UNAUTHENTICATED = "unable to list remote for 'ssh://…': ssh: handshake failed: ssh: unable to authenticate, attempted …"


@pytest.fixture(autouse=True)
def _stack(monkeypatch, caplog):
    """Waiting is short, only warnings are logged, and no preview here is the plan of an update."""
    monkeypatch.setattr("flux_tenancy.components.sync.progress.POLL_SECONDS", 0.001)
    monkeypatch.setattr("flux_tenancy.components.engine.state.makes_plan", lambda: False)
    caplog.set_level(logging.WARNING)


def found_in_cluster(where, source=("True", "stored artifact"), sync=("True", "Applied revision: main@sha1:ab")):
    """A source and a sync as they stand in the cluster."""
    namespace, name = where
    return [
        {
            "kind": kind,
            "metadata": {"namespace": namespace, "name": name, "generation": 1},
            "status": {"conditions": [{"type": "Ready", "status": ready, "message": message}]},
        }
        for kind, (ready, message) in (("GitRepository", source), ("Kustomization", sync))
    ]


def outputs(
    config,
    read_syncs=list,
    *,
    preview=False,
    read_further=lambda tenants: {},
    read_controllers=lambda rights: [],
    request=lambda found, at: None,
    changes=None,
    rotating=None,
    read_remains=lambda tenants: pytest.fail("nobody is leaving"),
    find=lambda manifest: pytest.fail("nobody has further sources"),
    start_failures=lambda namespaces: [],
):
    """The outputs of such a stack, and how far its syncs have come, once the program has ended."""
    found: dict[str, Any] = {}

    def program():
        access = git_access(config.git_sources)
        flux = FluxInstall("flux", FluxInstallArgs(config.flux, release()))
        tenants = {
            name: Tenant(name, tenant_args(tenant, access, config.tenancy, removal(), name=name))
            for name, tenant in config.tenants.items()
        }
        platform = None
        if config.flux.sync is not None:
            args = platform_args(config.flux.sync, platform_path(config.flux.sync, "staging"), access)
            platform = PlatformSync("platform", args)
        objects = FluxObjects(read_syncs, request, start_failures, lambda: NOW)
        registered = Platform(stack_plan(config, "staging", access), flux, None, platform, tenants)
        keys = {name: pulumi.Output.from_input(each) for name, each in (rotating or {}).items()}
        seen: list[pulumi.Output[dict[str, Progress]]] = []

        def rotations(progress):
            seen.append(progress)
            return keys

        look = Look(objects, changes or Changes(), read_further, read_controllers, read_remains, find, rotations)
        result = report(config, FACTS, registered, look)
        return pulumi.Output.all(outputs=result, progress=seen[0]).apply(found.update)

    found["registered"] = run(program, preview=preview)
    return found


def told_of(tenant, config, read_syncs=list):
    return outputs(config, read_syncs)["outputs"]["tenants"][tenant]


def test_the_cluster_is_shown_as_kubectl_addresses_it():
    config = stack(cluster={"kubeconfig": "kubeconfig", "context": "staging"})

    assert outputs(config)["outputs"]["cluster"] == {
        "uid": "the-cluster",
        "version": "v1.36.3",
        "context": "staging",
    }


def test_namespaces_that_tenants_make_are_shown(monkeypatch):
    labels = {"capsule.clastix.io/tenant": "dev-team"}
    ready = partial(found_in_cluster, DEV)
    [listed] = told_of("dev-team", stack(PUBLIC), ready)["namespaces"]
    found = {"dev-team-web": labels, listed: labels, "other": {}}
    monkeypatch.setattr(sys.modules[__name__], "FACTS", replace(FACTS, namespaces=found))

    told = told_of("dev-team", stack(PUBLIC, tenancy={"mode": "capsule"}), ready)
    assert told["madeNamespaces"] == ["dev-team-web"]
    assert "madeNamespaces" not in told_of("dev-team", stack(PUBLIC), ready)


def test_flux_is_shown_with_its_profile_and_without_a_sync_if_there_is_none():
    assert outputs(stack())["outputs"]["flux"] == {"version": FLUX["version"], "profile": "multi-tenant"}


@pytest.mark.parametrize(("lanes", "lane"), [({}, None), ({"tenants": {}}, "tenants")])
def test_the_lane_of_a_tenant_is_shown(lanes, lane):
    config = stack(PUBLIC)
    flux = config.flux.model_copy(update={"lanes": flux_config(lanes=lanes).lanes})

    told = told_of("dev-team", config.model_copy(update={"flux": flux}))

    assert told.get("lane") == lane


def test_grants_are_shown_with_their_reasons_and_their_last_days():
    ports, balancers = ({"reason": each, "serviceTypes": [each]} for each in ("NodePort", "LoadBalancer"))
    grants = tuple(map(Grant.model_validate, (ports | {"expires": "2030-01-31"}, balancers)))
    config = stack(PUBLIC)
    tenants = {"dev-team": config.tenants["dev-team"].model_copy(update={"grants": grants})}

    told = told_of("dev-team", config.model_copy(update={"tenants": tenants}), partial(found_in_cluster, DEV))["grants"]

    assert [(each["reason"], each.get("expires")) for each in told] == [
        ("NodePort", "2030-01-31"),
        ("LoadBalancer", None),
    ]


def test_a_tenant_is_shown_with_its_objects_and_commands_to_inspect_it():
    config = stack(PUBLIC, cluster={"kubeconfig": "kubeconfig", "context": "staging"})

    assert told_of("dev-team", config, lambda: found_in_cluster(DEV)) == {
        "namespaces": ["dev-team-apps"],
        "role": "tenant",
        "furtherAccess": [],
        "source": "GitRepository/dev-team-apps/dev-team",
        "url": "https://git.example.com/dev-team/apps",
        "path": "./",
        "status": {"ready": "True", "message": ""},
        "look": {
            "flux": "flux get all -n dev-team-apps --context staging",
            "kubectl": "kubectl get gitrepositories,kustomizations,events -n dev-team-apps --context staging",
            "reconcile": "flux reconcile kustomization dev-team -n dev-team-apps --with-source --context staging",
        },
    }


def test_the_people_of_a_tenant_are_shown_with_their_roles():
    config = stack(PUBLIC)
    people = {
        "viewers": [{"kind": "Group", "name": "oidc:dev-team"}],
        "developers": [{"kind": "User", "name": "oidc:ann@example.com"}],
    }
    team = config.tenants["dev-team"].model_copy(update={"people": TenantPeople.model_validate(people)})

    assert told_of("dev-team", config.model_copy(update={"tenants": {"dev-team": team}}))["people"] == [
        {"kind": "Group", "name": "oidc:dev-team", "role": "viewer"},
        {"kind": "User", "name": "oidc:ann@example.com", "role": "developer"},
    ]


def test_a_tenant_with_releases_alone_is_shown_without_a_sync():
    team = {
        "namespaces": [{"name": "apps"}],
        "sources": {"charts": {"kind": "HelmRepository", "url": "oci://registry.example.com/charts"}},
        "releases": {"podinfo": {"source": "charts", "chart": "podinfo"}},
    }
    config = stack().model_copy(update={"tenants": {"dev-team": TenantConfig.model_validate(team)}})

    told = told_of("dev-team", config)

    assert not told.keys() & {"source", "path", "status"}
    assert told["releases"].keys() == {"podinfo"}
    assert told["look"] == {
        "flux": "flux get all -n apps",
        "kubectl": "kubectl get helmrepositories,helmreleases,events -n apps",
        "reconcile": "flux reconcile helmrelease podinfo -n apps --with-source",
    }


def with_a_leaving_tenant():
    """dev-team stays, and ops-team leaves."""
    config = stack({"dev-team": {}, "ops-team": {}})
    leaving = config.tenants["ops-team"].model_copy(update={"state": TenantState.LEAVING})
    return config.model_copy(update={"tenants": config.tenants | {"ops-team": leaving}})


@pytest.mark.parametrize("preview", [False, True])
def test_a_tenant_that_is_leaving_is_shown_with_what_is_left_of_it(caplog, preview):
    asked: list[set[str]] = []

    def read_remains(tenants):
        asked.append(set(tenants))
        return {"ops-team": {"ops-team-apps": Remains({"Secret": 2, "PersistentVolumeClaim": 1})}}

    found = outputs(with_a_leaving_tenant(), lambda: found_in_cluster(DEV), preview=preview, read_remains=read_remains)[
        "outputs"
    ]["tenants"]

    assert found["ops-team"] == {
        "namespaces": ["ops-team-apps"],
        "state": "leaving",
        "left": {"ops-team-apps": "1 PersistentVolumeClaim, 2 Secret"},
    }
    assert found["dev-team"]["status"] == {"ready": "True", "message": ""}
    assert asked == [{"ops-team"}]
    assert codes(caplog.messages) == ["FT-TEN-105"]


def test_an_update_does_not_fail_if_it_cannot_read_what_is_left(caplog):
    def read_remains(_):
        raise ClusterUnavailable("kubeconfig", "the server is tired")

    found = outputs(with_a_leaving_tenant(), lambda: found_in_cluster(DEV), read_remains=read_remains)["outputs"]

    assert "the server is tired" in found["tenants"]["ops-team"]["left"]["ops-team-apps"]
    assert codes(caplog.messages) == ["FT-TEN-104"]


def test_the_access_of_a_tenant_that_is_leaving_is_not_looked_for():
    asked: list[set[str]] = []

    def read_further(tenants):
        asked.append(set(tenants))
        return {}

    outputs(
        with_a_leaving_tenant(), lambda: found_in_cluster(DEV), read_further=read_further, read_remains=lambda _: {}
    )

    assert asked == [{"dev-team"}]


def test_a_previous_deploy_key_is_shown_with_its_replacement_and_with_no_other_source():
    config = stack({"dev-team": with_deploy_key(), "ops-team": with_deploy_key("second")}, platform=with_deploy_key())
    previous = [{"fingerprint": "SHA256:old", "stays": "Flux has not fetched with the new key: not fetched yet"}]

    found = outputs(config, rotating={"dev-team": previous, "flux-system": previous})["outputs"]

    assert found["tenants"]["dev-team"]["deployKey"]["previous"] == previous
    assert found["flux"]["sync"]["deployKey"]["previous"] == previous
    assert set(found["tenants"]["ops-team"]["deployKey"]) == {"fingerprint", "publicKey"}


def test_a_deploy_key_is_shown_by_its_public_half_as_at_the_git_host():
    config = stack({"dev-team": with_deploy_key()}, platform=with_deploy_key("platform"))
    public = public_key(private_key("first"))
    digest = hashlib.sha256(b64decode(public.split()[1]))

    found = outputs(config)["outputs"]

    told = found["tenants"]["dev-team"]["deployKey"]
    assert told["publicKey"] == public
    assert found["flux"]["sync"]["deployKey"]["publicKey"] == public_key(private_key("platform"))
    kind, _, shown = told["fingerprint"].partition(":")
    assert (kind, b64decode(shown + "=")) == ("SHA256", digest.digest())


def test_no_secret_is_shown():
    config = stack({"dev-team": with_deploy_key(), "ops-team": {"https": {"password": "pa55word"}}})

    told = json.dumps(outputs(config)["outputs"])

    assert "PRIVATE KEY" not in told
    assert "pa55word" not in told
    assert "gh-t0ken" not in told
    assert private_key("first").splitlines()[2] not in told


def test_the_url_of_a_webhook_is_the_registered_one():
    told = outputs(stack({"dev-team": with_deploy_key(webhook={})}))

    registered = told["registered"]["RepositoryWebhook dev-team"].properties["configuration"]["url"]["secret"]
    assert told["outputs"]["tenants"]["dev-team"]["webhook"] == registered
    assert registered.startswith("https://flux.example.com/hook/")


def test_the_url_of_a_webhook_is_a_secret():
    """The URL of a Receiver alone is of little use, but it is derived from the token."""
    secret = []

    def program():
        config = stack({"dev-team": with_deploy_key(webhook={})})
        tenant = Tenant(
            "dev-team",
            tenant_args(config.tenants["dev-team"], git_access(config.git_sources), config.tenancy, removal()),
        )

        async def ask():
            meta = source_meta("dev-team", config.tenants["dev-team"])
            webhook = webhook_url(meta, config.flux.webhook_url, tenant.registered)
            assert webhook is not None
            secret.append(await webhook.is_secret())

        return ask()

    run(program)

    assert secret == [True]


def test_the_platforms_own_sync_is_shown_below_flux():
    config = stack(platform={"url": "https://git.example.com/platform"})

    sync = outputs(config, lambda: found_in_cluster(PLATFORM))["outputs"]["flux"]["sync"]

    assert sync == {
        "url": "https://git.example.com/platform",
        "path": "./clusters/staging",
        "status": {"ready": "True", "message": ""},
    }


def test_a_failed_tenant_is_shown_with_a_warning_and_stops_nothing(caplog):
    told = told_of("dev-team", stack(PUBLIC), lambda: found_in_cluster(DEV, sync=("False", "path not found")))

    assert told["status"] == {"ready": "False", "message": "path not found"}
    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "tenant dev-team" in caplog.messages[0] and "path not found" in caplog.messages[0]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"source": ("False", "unable to list remote for 'ssh://…': invalid pkt-len found")},
            ("check that the repository exists",),
        ),
        ({"source": ("False", UNAUTHENTICATED)}, ("`flux-tenancy key deploy`",)),
        ({"source": ("False", "ssh: handshake failed: knownhosts: key mismatch")}, ("git.knownHosts",)),
        (
            {"source": ("False", "unable to clone 'ssh://…': couldn't find remote ref \"refs/heads/mian\"")},
            ("mian", "no such branch or tag: correct it"),
        ),
        (
            {"sync": ("False", "kustomization path not found: stat /tmp/a/stagign: no such file or directory")},
            ("stagign", "no such folder: correct `path`"),
        ),
    ],
    ids=["no repository", "no key", "another host key", "no branch", "no folder"],
)
def test_what_the_repository_lacks_has_a_remedy_of_its_own(caplog, found, said):
    told_of("dev-team", stack(PUBLIC), lambda: found_in_cluster(DEV, **found))

    assert all(each in caplog.messages[0] for each in said)


def test_a_failed_platform_sync_is_a_warning_of_its_own(caplog):
    config = stack(PUBLIC, platform={"url": "https://git.example.com/platform"})
    found = [*found_in_cluster(PLATFORM, source=("False", "commit is not signed")), *found_in_cluster(DEV)]

    told = outputs(config, lambda: found)["outputs"]

    assert told["flux"]["sync"]["status"] == {"ready": "False", "message": "commit is not signed"}
    assert told["tenants"]["dev-team"]["status"] == {"ready": "True", "message": ""}
    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "the platform's own sync" in caplog.messages[0] and "commit is not signed" in caplog.messages[0]


@pytest.mark.parametrize(("status", "read"), [("Unknown", True), ("False", True), ("True", False)])
def test_why_pods_of_a_tenant_do_not_start_is_a_warning_with_what_to_write(caplog, status, read):
    failures = [StartFailure(f"ReplicaSet apps/web-{number}: a quota is full", "ask for more") for number in range(9)]
    asked = []

    def start_failures(namespaces):
        asked.append(tuple(namespaces))
        return failures

    config = stack(PUBLIC, tenancy={"settleTimeout": "1s"})
    outputs(config, lambda: found_in_cluster(DEV, sync=(status, "checks")), start_failures=start_failures)

    told = [each for each in caplog.messages if "web-" in each]
    assert asked == ([config.tenants["dev-team"].namespace_names] if read else [])
    assert codes(told) == (["FT-TEN-107"] * 5 if read else [])
    assert not read or "tenant dev-team: ReplicaSet apps/web-0: a quota is full; ask for more" in told[0]


def test_pods_are_not_looked_at_while_the_source_is_not_fetched(caplog):
    found = found_in_cluster(DEV, source=("False", "no such branch"), sync=("False", "Source is not ready"))
    outputs(stack(PUBLIC), lambda: found, start_failures=lambda names: pytest.fail("not needed"))


def test_progress_is_keyed_by_the_name_of_the_sync():
    config = stack(PUBLIC, platform={"url": "https://git.example.com/platform"})
    found = [*found_in_cluster(DEV, sync=("False", "path not found")), *found_in_cluster(PLATFORM)]

    assert outputs(config, lambda: found)["progress"] == {
        "dev-team": Progress(SyncStatus("True", ""), SyncStatus("False", "path not found")),
        "flux-system": Progress(SyncStatus("True", ""), SyncStatus("True", "")),
    }


@pytest.mark.parametrize(
    ("config", "sync"),
    [
        (stack(PUBLIC), "Kustomization dev-team-apps/dev-team"),
        (stack(platform={"url": "https://git.example.com/platform"}), "Kustomization flux-system/flux-system"),
    ],
)
def test_the_cluster_is_read_only_after_the_last_sync_is_registered(config, sync):
    registered = []

    def read_syncs():
        monitor: Any = get_monitor()
        registered.append(list(monitor.registrations))
        return []

    outputs(config, read_syncs)

    assert sync in registered[0]


@pytest.mark.parametrize("syncs", [[], found_in_cluster(DEV, sync=("Unknown", "in progress"))])
def test_a_preview_reads_once_and_does_not_warn(caplog, syncs):
    looks = []

    def read_syncs():
        looks.append(syncs)
        return syncs

    outputs(stack(PUBLIC, tenancy={"settleTimeout": "2s"}), read_syncs, preview=True)

    assert len(looks) == 1
    assert caplog.messages == []


@pytest.mark.parametrize("preview", [False, True])
def test_a_sync_that_a_targeted_update_leaves_out_is_not_waited_for(caplog, preview):
    """In a targeted update only created resources have an ID, in its preview only existing ones."""
    config = stack({"dev-team": {}, "ops-team": {}}, tenancy={"settleTimeout": "1h"})
    ids: dict[str, Any] = {"dev-team": "apps/dev-team", "ops-team": pulumi.UNKNOWN}
    found: list[Any] = []

    def program():
        applied = {name: SimpleNamespace(id=pulumi.Output.from_input(each)) for name, each in ids.items()}
        objects = FluxObjects(lambda: found_in_cluster(DEV), lambda found, at: None, now=lambda: NOW)
        plan = stack_plan(config, "staging")
        platform: Any = SimpleNamespace(plan=plan, applied=applied)
        return settled(3600, platform, objects, Changes(), {}).apply(found.append)

    run(program, preview=preview)

    ready, left_out = SyncStatus("True", ""), SyncStatus("Unknown", "not created yet; the update left it out")
    expected = {"dev-team": Progress(ready, ready), "ops-team": Progress(left_out, left_out)}
    assert found == ([] if preview else [expected])
    assert caplog.messages == []


def test_a_destroy_waits_for_no_sync(monkeypatch):
    monkeypatch.setattr("flux_tenancy.components.stack.report.progress.creates_nothing", lambda: True)
    looks = []

    def read_syncs():
        looks.append("look")
        return []

    outputs(stack(PUBLIC, tenancy={"settleTimeout": "1h"}), read_syncs)

    assert looks == ["look"]


def test_a_saved_plan_leaves_what_the_cluster_shows_unknown(monkeypatch):
    """An update that follows the plan would fail as soon as the status of a tenant's sync changes."""
    monkeypatch.setattr("flux_tenancy.components.engine.state.makes_plan", lambda: True)
    known = []

    def program():
        further = pulumi.Output.from_input({"dev-team": ["more"]})
        ready = SyncStatus("True", "")
        progress = pulumi.Output.from_input({"dev-team": Progress(ready, ready)})
        config = stack(PUBLIC)
        flux = FluxInstall("flux", FluxInstallArgs(config.flux, release()))
        args = tenant_args(config.tenants["dev-team"], git_access(config.git_sources), config.tenancy, removal())
        tenants = {"dev-team": Tenant("dev-team", args)}
        platform, nobody = (
            Platform(stack_plan(config, "staging"), flux, None, None, tenants),
            pulumi.Output.from_input(dict[str, dict[str, str]]()),
        )
        result = stack_outputs(config, FACTS, platform, progress, further, {}, nobody, pulumi.Output.from_input({}))
        told = result["tenants"]["dev-team"]

        async def look():
            known.append({key for key, value in told.items() if not await pulumi.Output.from_input(value).is_known()})

        return look()

    run(program, preview=True)
    run(program)

    assert known == [{"status", "furtherAccess"}, set()]


def test_a_cluster_that_does_not_answer_after_the_update_does_not_fail_it(caplog):
    def read_syncs():
        raise ClusterUnavailable("kubeconfig", "https://cluster cannot be reached")

    told = told_of("dev-team", stack(PUBLIC), read_syncs)

    assert told["status"] == {"ready": "Unknown", "message": "https://cluster cannot be reached"}
    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "https://cluster cannot be reached" in caplog.messages[0]


BINDING = FurtherBinding(
    "ClusterRoleBinding", "", "gotk", "ClusterRole cluster-admin", "Group system:authenticated", ("everything",)
)
TWO: dict[str, Any] = {"dev-team": {}, "ops-team": {}}


@pytest.mark.parametrize("preview", [False, True])
def test_further_access_is_shown_with_one_warning_for_each_binding(caplog, preview):
    asked = []

    def read_further(tenants):
        asked.append({name: len(access.bindings) for name, access in tenants.items()})
        return {"dev-team": [BINDING], "ops-team": [BINDING]}

    found = [*found_in_cluster(DEV), *found_in_cluster(("ops-team-apps", "ops-team"))]
    told = outputs(stack(TWO), lambda: found, preview=preview, read_further=read_further)["outputs"]["tenants"]

    assert [told[name]["furtherAccess"] for name in TWO] == [[BINDING.summary]] * 2
    assert codes(caplog.messages) == ["FT-TEN-103"]
    assert "dev-team, ops-team" in caplog.messages[0] and BINDING.summary in caplog.messages[0]
    assert asked == [{"dev-team": 1, "ops-team": 1}]


@pytest.mark.parametrize("preview", [False, True])
def test_further_rights_of_controllers_are_a_warning_with_the_command_that_removes_them(caplog, preview):
    left = replace(BINDING, name="cluster-reconciler-flux-system", subject="ServiceAccount flux-system/helm-controller")
    asked: list[str] = []

    def read_controllers(rights):
        asked.extend(each["metadata"]["name"] for each in rights if each["kind"] == "ClusterRoleBinding")
        return [left, replace(left, name="a b")]

    outputs(stack(), preview=preview, read_controllers=read_controllers)

    assert codes(caplog.messages) == ["FT-FLX-020"] * 2
    assert left.summary in caplog.messages[0]
    assert "`kubectl delete clusterrolebinding cluster-reconciler-flux-system`" in caplog.messages[0]
    assert "`kubectl delete clusterrolebinding 'a b'`" in caplog.messages[1]
    assert "flux-tenancy-helm-controller" in asked


def test_bindings_are_read_after_the_syncs_have_settled_since_these_may_apply_some():
    order = []

    def read_syncs():
        order.append("syncs")
        return found_in_cluster(DEV)

    def read_further(tenants):
        order.append("bindings")
        return {}

    outputs(stack(PUBLIC), read_syncs, read_further=read_further)

    assert order == ["syncs", "bindings"]


def test_bindings_that_cannot_be_read_are_a_warning(caplog):
    def read_further(tenants):
        raise ClusterUnavailable("kubeconfig", "https://cluster refuses this user (403 Forbidden)")

    told = outputs(stack(PUBLIC), lambda: found_in_cluster(DEV), read_further=read_further)["outputs"]

    [warning], [shown] = caplog.messages, told["tenants"]["dev-team"]["furtherAccess"]
    assert warning == f"{shown} (FT-TEN-104)"
    assert "https://cluster refuses this user (403 Forbidden)" in shown


def test_a_stack_without_syncs_waits_for_nothing(caplog):
    told = outputs(stack(tenancy={"settleTimeout": "1h"}))

    assert told["progress"] == {}
    assert told["outputs"]["tenants"] == {}
    assert caplog.messages == []


def test_recipients_are_shown_without_private_keys():
    key = openpgp_key("first")
    decryption = with_age("first", "second") | {"openpgp": {"privateKeys": key.private}}
    base = stack(PUBLIC).tenants["dev-team"].model_dump(by_alias=True)
    sync = {"path": "./staging", "decryption": decryption}
    config = StackConfig.model_validate(
        {
            "cluster": CLUSTER,
            "flux": FLUX
            | {"sync": {"source": {"url": "https://git.example.com/fleet"}, "decryption": with_age("own")}},
            "tenants": {"dev-team": base | {"sync": sync}},
            "tenancy": {"settleTimeout": "1ms"},
        }
    )

    found = outputs(config)["outputs"]

    told, of_platform = found["tenants"]["dev-team"]["sops"], found["flux"]["sync"]["sops"]
    recipients = [age_identity(which).recipient for which in ("first", "second")]
    assert told["age"] == recipients
    assert told["openpgp"] == {key.fingerprint: key.public}
    assert yaml.safe_load(told["config"])["creation_rules"][0] == {
        "path_regex": "^staging/.*\\.ya?ml$",
        "encrypted_regex": "^(data|stringData)$",
        "age": ",".join(recipients),
        "pgp": key.fingerprint,
    }
    assert of_platform["age"] == [age_identity("own").recipient]
    assert "^clusters/staging/" in of_platform["config"]
    assert "SECRET-KEY" not in str(found)
    assert "PRIVATE KEY" not in str(found)


def failed(since, message="denied: url is not allowed"):
    """What is in the cluster where Flux has refused a sync at some time before now."""
    found = found_in_cluster(DEV, sync=("False", message))
    found[1]["status"]["conditions"][0]["lastTransitionTime"] = (NOW - since).isoformat()
    return found


def test_a_failure_that_flux_has_not_renewed_is_shown_with_its_age(caplog):
    found = failed(timedelta(minutes=3, seconds=12))

    told = told_of("dev-team", stack(PUBLIC), lambda: found)

    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "denied: url is not allowed (as of 3 minutes ago)" in caplog.messages[0]
    assert told["status"] == {
        "ready": "False",
        "message": "denied: url is not allowed",
        "asOf": "2026-11-22T20:59:48+00:00",
    }


def test_a_failure_of_this_update_is_shown_without_an_age(caplog):
    found = failed(timedelta(minutes=3))

    def request(each, at):
        each["metadata"]["annotations"] = {REQUESTED_AT: at.isoformat()}
        each["status"]["lastHandledReconcileAt"] = at.isoformat()

    outputs(stack(PUBLIC, tenancy={"settleTimeout": "10s"}), lambda: found, request=request)

    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "denied: url is not allowed (FT-" in caplog.messages[0]


def test_a_sync_that_is_in_progress_is_shown_with_its_duration(caplog):
    found = failed(timedelta(hours=3))
    found[1]["status"]["conditions"][0] |= {"status": "Unknown", "message": "Reconciliation in progress"}

    told = told_of("dev-team", stack(PUBLIC), lambda: found)

    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "Reconciliation in progress (for 3 hours)" in caplog.messages[0]
    assert "asOf" not in told["status"]


def test_flux_is_asked_to_reconcile_only_what_the_update_concerns():
    changes, asked = Changes(), []
    changes.note(changed("Secret", "ops-team-key", labels={TENANT_LABEL: "ops-team"}))
    found = [*found_in_cluster(DEV), *found_in_cluster(("ops-team-apps", "ops-team"))]
    config = stack(TWO, tenancy={"settleTimeout": "1s"})

    outputs(config, lambda: found, request=lambda each, at: asked.append(each["metadata"]["name"]), changes=changes)

    assert asked == ["ops-team"]


def test_requests_that_are_refused_are_one_warning(caplog):
    def request(found, at):
        raise ClusterUnavailable("kubeconfig", "https://cluster refuses this user (403 Forbidden)")

    found = [*failed(timedelta(minutes=3)), *found_in_cluster(("ops-team-apps", "ops-team"), ("False", "no key"))]
    # Time enough on a busy machine; a refused request is not waited for.
    outputs(stack(TWO, tenancy={"settleTimeout": "1h"}), lambda: found, request=request)

    assert codes(caplog.messages) == ["FT-TEN-104", "FT-TEN-101", "FT-TEN-101"]
    not_asked, dev_team, ops_team = caplog.messages
    assert "https://cluster refuses this user (403 Forbidden)" in not_asked
    assert "denied: url is not allowed (as of 3 minutes ago)" in dev_team and "no key" in ops_team


def with_syncs(config, **syncs):
    """The stack whose tenant has further syncs."""
    further = {name: FurtherSync.model_validate(each) for name, each in syncs.items()}
    return config.model_copy(
        update={"tenants": {name: each.model_copy(update={"syncs": further}) for name, each in config.tenants.items()}}
    )


def test_further_syncs_are_shown_with_their_revision_and_told_of_when_they_fail(caplog):
    config = with_syncs(stack(PUBLIC), app={}, db={})
    app, db = (found_in_cluster((DEV[0], name))[1] for name in ("app", "db"))
    app["status"]["lastAppliedRevision"] = "main@sha1:ab"
    db["status"]["conditions"][0] |= {"status": "False", "message": "path not found"}

    told = told_of("dev-team", config, lambda: [*found_in_cluster(DEV), app, db])

    assert told["syncs"] == {
        "app": {"ready": "True", "message": "", "revision": "main@sha1:ab"},
        "db": {"ready": "False", "message": "path not found"},
    }
    assert told["status"] == {"ready": "True", "message": ""}
    assert codes(caplog.messages) == ["FT-TEN-101"]
    assert "tenant dev-team: Kustomization db" in caplog.messages[0]


FURTHER = {
    "sources": {
        "manifests": {"kind": "OCIRepository", "url": "oci://registry.example.com/shop"},
        "charts": {"kind": "HelmRepository", "url": "oci://registry.example.com/charts"},
        "index": {"kind": "HelmRepository", "url": "https://charts.example.com"},
        "built": {"kind": "ExternalArtifact"},
    },
    "sync": {"source": "manifests"},
}


def further_sources(find, *, preview=False):
    """What a tenant's outputs say of its sources."""
    config = stack({"dev-team": {}})
    tenant = TenantConfig.model_validate({"namespaces": [{"name": "apps"}], **FURTHER})
    config = config.model_copy(update={"tenants": {"dev-team": tenant}})
    return outputs(config, find=find, preview=preview)["outputs"]["tenants"]["dev-team"]


def stored(generation):
    condition = {"type": "ArtifactInStorage", "status": "True", "observedGeneration": generation}
    return {"metadata": {"generation": 2}, "spec": {}, "status": {"conditions": [condition]}}


@pytest.mark.parametrize(("generation", "expected"), [(2, "yes"), (1, "not fetched yet")])
def test_a_source_is_shown_as_fetched_once_it_was_with_its_current_credentials(generation, expected):
    asked = []

    def find(manifest):
        asked.append(f"{manifest['kind']} {manifest['metadata']['namespace']}/{manifest['metadata']['name']}")
        return stored(generation)

    shown = further_sources(find)

    assert shown["source"] == "OCIRepository/apps/manifests"
    assert shown["sources"] == {
        "manifests": {
            "object": "OCIRepository/apps/manifests",
            "url": "oci://registry.example.com/shop",
            "fetched": expected,
        },
        "charts": {"object": "HelmRepository/apps/charts", "url": "oci://registry.example.com/charts"},
        "index": {"object": "HelmRepository/apps/index", "url": "https://charts.example.com", "fetched": expected},
        "built": {"object": "ExternalArtifact/apps/built"},
    }
    assert sorted(asked) == ["HelmRepository apps/index", "OCIRepository apps/manifests"]


def test_a_cluster_that_does_not_answer_leaves_open_whether_a_source_was_fetched():
    def find(manifest):
        raise ClusterUnavailable("kubeconfig", "it does not answer")

    assert "it does not answer" in further_sources(find)["sources"]["manifests"]["fetched"]
