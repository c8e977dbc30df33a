"""Types of the `policies` section."""

from __future__ import annotations

from typing import Annotated

from components.config.types import matching
from components.policies.config_wordings import NOT_A_FINALIZER

# One without a domain is Kubernetes' own. Source: IsQualifiedName in
# staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
FinalizerName = Annotated[str, *matching(_FINALIZER, NOT_A_FINALIZER)]
