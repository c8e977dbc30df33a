"""Types of the `policies` section."""

from __future__ import annotations

from typing import Annotated

from components.config.types import matching
from components.policies.config_wordings import NOT_A_FINALIZER, NOT_AN_ANNOTATION

# One without a domain is Kubernetes' own. Source: IsQualifiedName in
# staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
# At least a domain, which `*` must not replace: the platform's own annotations have one, too.
_ANNOTATION = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?|\*)$"
ServiceAnnotation = Annotated[str, *matching(_ANNOTATION, NOT_AN_ANNOTATION)]
FinalizerName = Annotated[str, *matching(_FINALIZER, NOT_A_FINALIZER)]
