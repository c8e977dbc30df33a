"""How much of the API server's time the accounts of tenants have: Kubernetes' API priority and fairness.

Without a level of their own, they share one with Flux's controllers, and as many of their requests are in progress as
that has room for: a few hundred dry runs of large objects take all of the API server's CPU.
Source: https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.component import PREVIEWER, read_access
from flux_tenancy.components.rbac.subjects import table
from flux_tenancy.components.vocabulary.manifests import Manifest

if TYPE_CHECKING:
    from flux_tenancy.components.stack.config import StackConfig

FLOW_CONTROL = "flowcontrol.apiserver.k8s.io"
REQUESTS_READABLE = table(f"{FLOW_CONTROL}: flowschemas prioritylevelconfigurations")
"""The kinds that previewers read only where the stack has them."""
_LEVEL = "flux-tenancy-tenants"
# Before Kubernetes' own schema of all service accounts, which has 9000.
_PRECEDENCE = 8000
# A tenant waits in two of the queues: another one shares neither with it but once in thousands of pairs, and has at
# least a third of the level.
_QUEUES = {"queues": 128, "handSize": 2, "queueLengthLimit": 50}


def request_priority(config: StackConfig) -> list[Manifest]:
    """The level of all tenants, a flow for each of them, and who may read these; nothing by default."""
    shares = config.tenancy.request_shares
    if shares is None:
        return []
    schemas = [_schema(name, each.namespace_names) for name, each in config.active_tenants.items()]
    readers = read_access(f"{PREVIEWER}-requests", REQUESTS_READABLE, config.cluster.previewers)
    return [_level(shares), *schemas, *readers]


def _level(shares: int) -> Manifest:
    # Nothing is borrowed: what is idle elsewhere is what the platform needs as soon as it has something to do.
    limited = {
        "nominalConcurrencyShares": shares,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Queue", "queuing": _QUEUES},
    }
    return _object("PriorityLevelConfiguration", _LEVEL, {"type": "Limited", "limited": limited})


def _schema(tenant: str, namespaces: Sequence[str]) -> Manifest:
    """The requests of a tenant as one flow, whichever of its accounts sends them, Flux as one of them, too."""
    groups = [{"kind": "Group", "group": {"name": f"system:serviceaccounts:{each}"}} for each in namespaces]
    resources = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    rule = {
        "subjects": groups,
        "resourceRules": [resources],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    spec = {"matchingPrecedence": _PRECEDENCE, "priorityLevelConfiguration": {"name": _LEVEL}, "rules": [rule]}
    return _object("FlowSchema", f"{_LEVEL}-{tenant}", spec)


def _object(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": f"{FLOW_CONTROL}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
