"""What is said about the `cluster` section."""

from __future__ import annotations

from components.config.wordings import Wording

NOT_A_UID = Wording(
    "FT-CFG-180",
    "is not a uid",
    "take it from `kubectl get namespace kube-system -o jsonpath={{.metadata.uid}}`",
)
ONE_KUBECONFIG = Wording("FT-CFG-181", "needs exactly one of kubeconfig (a path) and kubeconfigContent (a secret)")
NO_NAMESPACE_OF_ACCOUNT = Wording("FT-CFG-182", "service account {name} needs a namespace", "set namespace")
NAMESPACE_OF_NO_ACCOUNT = Wording(
    "FT-CFG-183", "{kind} {name} has no namespace", "remove namespace, or set kind to ServiceAccount"
)
KUBERNETES_OWN_SUBJECT = Wording(
    "FT-CFG-184",
    "{kind} {name} is one of Kubernetes' own, which tenants' accounts may belong to",
    "name a user or group of your own",
)
