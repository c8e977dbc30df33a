"""Policies of Kyverno's former API, which its next minor version no longer executes.

The stack's own policies are of the group `policies.kyverno.io`; others may have installed these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.client import METADATA_LIST, explaining, items
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.printable import printable
from flux_tenancy.components.vocabulary.manifests import name_of

if TYPE_CHECKING:
    from kubernetes import client

_PATHS = {
    "ClusterPolicy": "v1/clusterpolicies",
    "Policy": "v1/policies",
    "ClusterCleanupPolicy": "v2/clustercleanuppolicies",
    "CleanupPolicy": "v2/cleanuppolicies",
    "PolicyException": "v2/policyexceptions",
}
"""The kinds that Kyverno 1.20 retires; the group has others, which stay.

Source: https://github.com/kyverno/kyverno/issues/17214
"""


def read_legacy_policies(api: client.ApiClient) -> list[str]:
    """The objects of the former API, e.g. `ClusterPolicy require-labels`; none where Kyverno is not installed.

    Raises:
        ClusterUnavailable: the cluster does not answer, or not to this user.
    """
    with explaining(api):
        return [
            printable(f"{kind} {name_of(found)}")
            for kind, path in _PATHS.items()
            for found in items(api, f"/apis/kyverno.io/{path}", accept=METADATA_LIST)
        ]


def legacy_policies(found: list[str]) -> list[Message]:
    """A warning that names them all: their loss would be silent, and Kyverno's chart refuses the upgrade.

    Args:
        found: as `read_legacy_policies` returns them.
    """
    if not found:
        return []
    return [
        Message(
            "FT-KYV-008",
            f"Kyverno 1.20 will not execute these, and refuses the upgrade while they exist: {', '.join(found)}",
            "before that upgrade, replace them by policies of policies.kyverno.io "
            "(https://kyverno.io/docs/guides/migration-to-cel)",
        )
    ]
