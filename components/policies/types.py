"""Types of the `policies` section. Each refuses with a sentence that says what to write instead."""

from __future__ import annotations

from typing import Annotated

from components.config.types import matching

# Source: IsQualifiedName in staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go of Kubernetes 1.36; one
# without a domain is Kubernetes' own.
_FINALIZER = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
FinalizerName = Annotated[str, *matching(_FINALIZER, "a finalizer with its domain, e.g. example.com/cleanup")]
