"""A Flux Kustomization, with what the configuration says of reconciling and nothing else."""

import pytest

from components.sync.config import Reconciliation
from components.sync.kustomization import kustomization

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


def test_everything_that_is_not_said_has_the_documented_default():
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
def test_what_the_configuration_says_is_what_flux_is_told(key, value):
    assert built(**{key: value})["spec"] == built()["spec"] | {key: value}
