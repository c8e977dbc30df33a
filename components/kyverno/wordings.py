"""What the kyverno package says of its chart, and of Kyverno in a cluster."""

from __future__ import annotations

from components.charts.wordings import release_wordings
from components.config.wordings import Wording

RELEASE = release_wordings("KYV", "Kyverno", "kyverno")
NOT_SERVING = Wording(
    "FT-KYV-007",
    "Kyverno does not serve {seconds:.0f} s after it was installed: {reason}",
    "check `kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`",
)
