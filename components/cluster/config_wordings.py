"""What is said about the `cluster` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_UID = Wording(
    "FT-CFG-180",
    "is not a uid",
    "take it from `kubectl get namespace kube-system -o jsonpath={{.metadata.uid}}`",
)
ONE_KUBECONFIG = Wording("FT-CFG-181", "needs exactly one of kubeconfig (a path) and kubeconfigContent (a secret)")
