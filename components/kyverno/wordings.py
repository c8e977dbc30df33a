"""What the kyverno package says of its chart, and of Kyverno in a cluster."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_THE_CHART = Wording("FT-KYV-001", "{source} is not an archive of Kyverno's Helm chart")
OTHER_VERSION = Wording("FT-KYV-002", "is {version}, but {source} installs Kyverno {installed}", "correct one of them")
CHART_NOT_WRITTEN = Wording(
    "FT-KYV-003",
    "cannot write the chart to {folder}/ of the project, where Pulumi reads it",
    "make the folder writable",
)
HALF_INSTALLED = Wording(
    "FT-KYV-004",
    "is not set, but an interrupted update has left Kyverno half installed",
    "run `pulumi up` once with kyverno to finish the installation, then remove it from the stack",
)
RELEASE_UPGRADED = Wording(
    "FT-KYV-005", "an interrupted update has left Kyverno's release {status}; the update finishes it"
)
RELEASE_REINSTALLED = Wording(
    "FT-KYV-006",
    "an interrupted update has left Kyverno's release {status}; the update installs it again over what is there",
)
NOT_SERVING = Wording(
    "FT-KYV-007",
    "Kyverno does not serve {seconds:.0f} s after it was installed: {reason}",
    "check `kubectl get pods -n kyverno` and `kubectl logs -n kyverno deploy/kyverno-admission-controller`",
)
