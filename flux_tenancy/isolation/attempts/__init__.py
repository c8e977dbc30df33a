"""The attempts and controls as data: a module for each target, and `objects` with the manifests that they share.

Add a new attempt to the module of its target, with the number of its threat.
"""

from __future__ import annotations

from collections.abc import Mapping

from flux_tenancy.isolation.attempts import controls as _controls
from flux_tenancy.isolation.attempts.controllers import bounds, logins, programs, remote_files
from flux_tenancy.isolation.attempts.limits import amounts, sizes
from flux_tenancy.isolation.attempts.references import identities, references, remote_bases
from flux_tenancy.isolation.attempts.reserved import access, elsewhere, holding, limits
from flux_tenancy.isolation.attempts.sources import notifications, options, places
from flux_tenancy.isolation.attempts.webhooks import webhooks
from flux_tenancy.isolation.attempts.workloads import (
    identity_of_pods,
    network_and_priority,
    nodes,
    others,
    scheduling,
    volumes,
)
from flux_tenancy.isolation.model import Attempt, Control
from flux_tenancy.isolation.scene import Scene

_PARTS = (
    references,
    remote_bases,
    identities,
    elsewhere,
    access,
    limits,
    places,
    options,
    nodes,
    network_and_priority,
    volumes,
    webhooks,
    amounts,
    sizes,
    programs,
    remote_files,
    logins,
    bounds,
    holding,
    identity_of_pods,
    notifications,
    scheduling,
    others,
)

NOT_ASKED: Mapping[int, str] = {
    26: "the Git host enforces it; the program registers the key read-only (tests/e2e/test_private_repositories.py)",
    27: "refused before anything is applied (tests/unit/components/stack/test_configuration_loading.py)",
    28: "refused before anything is applied (tests/unit/components/stack/test_configuration_secrets.py)",
    39: "not refused: `pulumi up` detects, reports and reverts it",
    40: "not refused: the suite removes control characters from everything that it shows",
    42: "refused before anything is applied (tests/unit/components/stack/test_configuration_secrets.py)",
    43: "people have other rights than a tenant's repository (tests/e2e/tenants/test_people.py)",
    44: "the platform chooses which kinds are open; the inventory compares the admission policy and the annotations "
    "that open them (`cases.yaml` of a policy)",
}
"""Threats that cannot be tried on a cluster, with the reason."""


def attempts(scene: Scene) -> tuple[Attempt, ...]:
    """All attempts against a cluster, in the order of their threats."""
    made = [attempt for part in _PARTS for attempt in part(scene)]
    return tuple(sorted(made, key=lambda attempt: attempt.threat))


def controls(scene: Scene) -> tuple[Control, ...]:
    """All controls."""
    return tuple(_controls.controls(scene))
