"""What the capsule package says of its chart, and of Capsule in a cluster."""

from __future__ import annotations

from components.charts.wordings import release_wordings
from components.config.wordings import Wording

RELEASE = release_wordings("CAP", "Capsule", "capsule")
NOT_SERVING = Wording(
    "FT-CAP-007",
    "Capsule does not serve {seconds:.0f} s after it was installed: {reason}",
    "check `kubectl get pods -n capsule-system` and `kubectl logs -n capsule-system deploy/capsule-controller-manager`",
)
NOT_ADMITTED = Wording(
    "FT-CAP-009",
    "namespace {namespace}: what Capsule writes there is refused for {seconds:.0f} s: {reason}",
    "if this is Kyverno's refusal, run `kubectl rollout restart deployment kyverno-admission-controller -n kyverno` "
    "and the update again",
)
NOT_AN_ADMINISTRATOR = Wording(
    "FT-CAP-008",
    "does not contain {user}, who applies this stack, or a group of this user; Capsule would not let it change "
    "tenants' namespaces",
    "add it",
)
