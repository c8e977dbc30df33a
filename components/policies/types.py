"""Types of the `policies` section."""

from __future__ import annotations

from typing import Annotated

from components.config.messages import Message
from components.config.types import matching

# One without a domain is Kubernetes' own. Source: IsQualifiedName in
# staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
# At least a domain, which `*` must not replace: the platform's own annotations have one, too.
_ANNOTATION = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|\*)$"
ServiceAnnotation = Annotated[
    str,
    *matching(
        _ANNOTATION,
        Message(
            "FT-CFG-509",
            "is not an annotation with its domain",
            "write it like example.com/name, or example.com/* for all",
        ),
    ),
]
FinalizerName = Annotated[
    str,
    *matching(
        _FINALIZER, Message("FT-CFG-500", "is not a finalizer with its domain", "write it like example.com/cleanup")
    ),
]
