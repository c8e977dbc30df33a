"""A Flux Kustomization has exactly the configured fields."""

import pytest

from flux_tenancy.components.sync.kustomization import Reconciliation, kustomization

METADATA = {"name": "dev-team", "namespace": "apps"}


def built(**reconciliation):
    config = Reconciliation.model_validate(reconciliation)
    return kustomization(
        METADATA,
        config,
        path="./staging",
        service_account="the-account",
        decryption={"provider": "sops"},
    )


def test_fields_that_are_not_configured_have_their_documented_defaults():
    assert built() == {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": METADATA,
        "spec": {
            "serviceAccountName": "the-account",
            "sourceRef": {"kind": "GitRepository", "name": "dev-team"},
            "path": "./staging",
            "interval": "10m",
            "retryInterval": "1m",
            "timeout": "5m",
            "prune": True,
            "wait": True,
            "decryption": {"provider": "sops"},
        },
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("interval", "3m"),
        ("retryInterval", "20s"),
        ("timeout", "7m"),
        ("prune", False),
        ("wait", False),
        ("suspend", True),
    ],
)
def test_configured_fields_are_set_in_the_kustomization(key, value):
    assert built(**{key: value})["spec"] == built()["spec"] | {key: value}
