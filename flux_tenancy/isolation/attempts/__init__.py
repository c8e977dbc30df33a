"""The attempts and controls: rows of YAML, and what depends on the objects that a cluster has.

Add a new attempt to `attempts.yaml`, with the number of its threat.
"""

from __future__ import annotations

from collections.abc import Mapping

from flux_tenancy.isolation.attempts.further import access, programs, running_controls, volumes, webhooks
from flux_tenancy.isolation.attempts.rows import attempts_of, controls_of
from flux_tenancy.isolation.model import Attempt, Control
from flux_tenancy.isolation.scene import Scene

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
    made = [each for part in (attempts_of, access, programs, volumes, webhooks) for each in part(scene)]
    return tuple(sorted(made, key=lambda attempt: attempt.threat))


def controls(scene: Scene) -> tuple[Control, ...]:
    """All controls."""
    return (*controls_of(scene), *running_controls(scene))
