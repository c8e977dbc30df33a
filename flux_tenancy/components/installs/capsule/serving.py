"""The dry runs that show whether Capsule really serves, and may write what it has to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from flux_tenancy.components.cluster.waiting import NotReady, wait_for
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.installs import serving
from flux_tenancy.components.installs.capsule.objects import CAPSULE_GROUP
from flux_tenancy.components.installs.serving import TIMEOUT_SECONDS, DryRun, DryRuns

if TYPE_CHECKING:
    from flux_tenancy.components.vocabulary.manifests import Manifest

NAMESPACES_PATH = "/api/v1/namespaces"

# Capsule's webhooks for namespaces, as the API server names them when they have denied a request.
# Source: charts/capsule/templates/configuration.yaml of Capsule 0.14.
DENIALS = (
    'admission webhook "namespaces.mutating.projectcapsule.dev" denied the request',
    'admission webhook "namespaces.validating.projectcapsule.dev" denied the request',
)


def probe(labels: Manifest) -> Manifest:
    """A namespace for dry runs; it is never created."""
    metadata = {"name": "flux-tenancy-serving", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


GOOD_PROBE = probe({})
# As a tenant would ask for it that takes itself for another one.
FOREIGN_PROBE = probe({f"{CAPSULE_GROUP}/tenant": "flux-tenancy-serving"})

_DRY_RUNS = DryRuns(
    DryRun(FOREIGN_PROBE, "a namespace for an unknown tenant"),
    DENIALS,
    DryRun(GOOD_PROBE, "a namespace that is no tenant's"),
)

wait_until_serving = partial(
    serving.wait_until_serving,
    _DRY_RUNS,
    Wording(
        "FT-CAP-007",
        "Capsule is not ready {seconds:.0f} s after it was installed or changed: {reason}",
        "check `kubectl get pods -n capsule-system` and `kubectl logs -n capsule-system "
        "deploy/capsule-controller-manager`",
    ),
)
"""Waits until Capsule refuses a namespace for an unknown tenant and admits one that is no tenant's."""


def wait_until_admitted(refusal: Callable[[str, Manifest], str | None], namespace: str) -> None:
    """Wait until admission lets Capsule write in a tenant's namespace.

    Kyverno refuses every object of a kind that it does not know yet, whoever writes it.

    Args:
        refusal: returns why the cluster would refuse to create an object at a path, or None.
        namespace: a namespace of a tenant.

    Raises:
        NotReady: it is still refused after a while.
    """
    path = f"/apis/{CAPSULE_GROUP}/v1beta2/namespaces/{namespace}/rulestatuses"
    metadata = {"name": "flux-tenancy-serving", "namespace": namespace}
    status = {"apiVersion": f"{CAPSULE_GROUP}/v1beta2", "kind": "RuleStatus", "metadata": metadata}
    if reason := wait_for(partial(refusal, path, status), TIMEOUT_SECONDS):
        raise NotReady(
            Message(
                "FT-CAP-009",
                f"namespace {namespace}: Capsule's writes were refused for {TIMEOUT_SECONDS:.0f} s: {reason}",
                "if this is Kyverno's refusal, run `kubectl rollout restart deployment "
                "kyverno-admission-controller -n kyverno` and the update again",
            )
        )
