"""PlatformSync: the same names as `flux bootstrap` uses, with the platform's rights."""

from typing import Any

import pulumi
import pytest
from recorded_program import GENERATED, run
from sample_plan import platform_args
from sample_sources import with_deploy_key

from flux_tenancy.components.git.source import GitAccess
from flux_tenancy.components.installs.flux.component import PlatformSync, platform_kustomization, platform_path
from flux_tenancy.components.installs.flux.config import PlatformSyncConfig
from flux_tenancy.components.plan import BACKGROUND, OWNERSHIP
from flux_tenancy.components.sync.notifications import Notification

URL = "https://git.example.com/platform"
SOURCE, SYNC = "GitRepository flux-system/flux-system", "Kustomization flux-system/flux-system"
COMPONENT = "PlatformSync platform"


def config(source=None, **keys):
    return PlatformSyncConfig.model_validate({"source": source or {"url": URL}} | keys)


def platform(opts=None, **keys):
    access = GitAccess(known_hosts=(), github=None, webhook_url=None)
    return PlatformSync("platform", platform_args(config(**keys), "./clusters/staging", access), opts)


def test_a_stack_has_its_own_folder_unless_another_is_configured():
    assert platform_path(config(), "staging") == "./clusters/staging"
    assert platform_path(config(path="./everything"), "staging") == "./everything"


def test_the_platforms_folder_is_applied_as_kustomize_controllers_account():
    """Under the multi-tenant profile, a Kustomization without a service account is applied as one without rights."""
    assert platform_kustomization(config(interval="3m"), "./clusters/staging", {"provider": "sops"}) == {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "flux-system", "namespace": "flux-system"},
        "spec": {
            "serviceAccountName": "kustomize-controller",
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
            "path": "./clusters/staging",
            "interval": "3m",
            "retryInterval": "1m",
            "timeout": "5m",
            "prune": True,
            "wait": True,
            "decryption": {"provider": "sops"},
        },
    }


def test_the_source_comes_before_the_sync_and_both_belong_to_the_component():
    resources = run(lambda: platform() and None)

    assert {name: (resource.parent, resource.after) for name, resource in resources.items()} == {
        COMPONENT: (resources[COMPONENT].parent, set()),
        SOURCE: (COMPONENT, set()),
        SYNC: (COMPONENT, {SOURCE}),
    }
    assert resources[COMPONENT].type == "flux-tenancy:index:PlatformSync"


def test_messages_about_the_platforms_sync_are_created_before_and_deleted_after_it():
    chat = Notification.model_validate({"type": "slack", "secretAddress": "https://hooks.slack.com/a"})
    args = platform_args(config(), "./clusters/staging", GitAccess((), None, None), {"chat": chat})

    resources = run(lambda: PlatformSync("platform", args) and None)

    secret, provider = "Secret flux-system.chat", "Provider flux-system/flux-system-chat"
    alert = "Alert flux-system/flux-system-chat"
    assert resources[provider].properties["spec"]["secretRef"] == {"name": f"flux-system.chat-{GENERATED}"}
    assert resources[alert].after == {secret, provider}
    assert resources[SYNC].after == {SOURCE, secret, provider, alert}


def test_source_and_sync_have_the_names_of_flux_bootstrap_and_no_tenant_label():
    resources = run(lambda: platform() and None)

    for name in (SOURCE, SYNC):
        assert resources[name].properties["metadata"] == {
            "name": "flux-system",
            "namespace": "flux-system",
            "annotations": OWNERSHIP | BACKGROUND,
        }


@pytest.mark.parametrize("key", ["github", "deployKey"])
def test_the_platforms_credentials_are_in_the_namespace_of_its_source(key):
    """A deploy key that was registered by hand, as for `flux bootstrap git`, or a token."""
    sources = {
        "deployKey": with_deploy_key() | {"github": None},
        "github": {"url": URL, "https": {"password": "pa55word"}},
    }

    resources = run(lambda: platform(source=sources[key]) and None)

    assert resources[SOURCE].after == {"Secret flux-system-git"}
    assert resources[SOURCE].properties["spec"]["secretRef"] == {"name": f"flux-system-git-{GENERATED}"}


def test_the_dependencies_of_the_platform_come_first():
    def program():
        first = pulumi.CustomResource("kubernetes:core/v1:ConfigMap", "first", {})
        platform(pulumi.ResourceOptions(depends_on=[first]))

    assert run(program)[COMPONENT].after == {"ConfigMap first"}


def test_the_source_and_the_sync_are_attributes():
    found: dict[str, Any] = {}

    def program():
        made = platform()
        place = "flux-system/flux-system"
        found_keys = {"source": f"GitRepository {place}", "sync": f"Kustomization {place}"}
        asked = {name: made.registered[key].urn for name, key in found_keys.items()}
        return pulumi.Output.all(**asked).apply(found.update)

    run(program)

    assert found["source"].endswith(":GitRepository::flux-system/flux-system")
    assert found["sync"].endswith(":Kustomization::flux-system/flux-system")
