"""Finds the layer that refused a request in the API server's message.

Source: the admission plugins of k8s.io/kubernetes 1.36, `pkg/webhooks` of Kyverno 1.19.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from flux_tenancy.isolation.choices import Layer

# Each matches from just behind the object's name: a tenant's own text may come later.
_OBJECT = r'(?:[^:]*? )?"?[^":]*"? is forbidden: '
_ROLE = re.compile(rf'(?:{_OBJECT})?User "[^"]*" cannot ', re.IGNORECASE)
_GRANT = re.compile(rf'(?:{_OBJECT})?user "[^"]*" .*is attempting to grant RBAC permissions not currently held')
_POD_SECURITY = re.compile(rf'{_OBJECT}violates PodSecurity "(?P<by>[^"]+)"')
_NATIVE = re.compile(rf"{_OBJECT}ValidatingAdmissionPolicy '(?P<by>[^']+)'")
_WEBHOOK = re.compile(r'admission webhook "(?P<by>[^"]+)" denied the request')
# Its newer policies, and its older ones.
_KYVERNO = (
    re.compile(r"Policy (?P<by>[a-z0-9.-]+) (?:failed|error): "),
    re.compile(r"following policies\s+(?P<by>[a-z0-9.-]+):"),
)
_QUOTA = re.compile(rf"{_OBJECT}(?:exceeded|failed) quota: (?P<by>[^,: ]+)")
_LIMITS = re.compile(rf"{_OBJECT}\[?(?:maximum|minimum) \S+ usage per ")
_MUTED = {
    "a webhook does not answer": re.compile(r"failed calling webhook|failed to call webhook"),
    "a webhook does not support dry runs": re.compile(r"does not support dry run"),
}
_UNKNOWN_FIELD = re.compile(r'strict decoding error: .*?unknown field "(?P<field>[^"]+)"')
_IMPERSONATION = re.compile(r"cannot impersonate resource")
FORBIDDEN = 403


@dataclass(frozen=True)
class Refusal:
    """The layer that refused a request.

    Attributes:
        layer: None if it was none of the layers, so the refusal proves nothing.
        by: the part of the layer, such as a policy's name; the reason if the layer is None.
    """

    layer: Layer | None
    by: str


def is_about_impersonation(message: str) -> bool:
    """Whether the message refuses impersonation to the user of the suite."""
    return _IMPERSONATION.search(message) is not None


def unknown_field(message: str) -> str:
    """The field of the object that the cluster does not have; empty if the message is about something else."""
    found = _UNKNOWN_FIELD.search(message)
    return found["field"] if found else ""


def refusal(status: int, message: str) -> Refusal:
    """The layer that refused a request.

    Args:
        status: of HTTP, 400 or above.
        message: of the API server's answer.
    """
    for reason, words in _MUTED.items():
        if words.search(message):
            return Refusal(None, reason)
    if found := _named(message):
        return found
    if status == FORBIDDEN:
        return Refusal(Layer.ADMISSION, "an admission plugin")
    if status == 404:
        return Refusal(None, "the object does not exist")
    if status >= 500 or status == 429:
        return Refusal(None, f"the API server answers {status}")
    return Refusal(None, "the API server rejects the object as invalid")


def _named(message: str) -> Refusal | None:
    if _ROLE.match(message):
        return Refusal(Layer.ROLE, "RBAC")
    if _GRANT.match(message):
        return Refusal(Layer.ROLE, "RBAC's escalation check")
    if found := _WEBHOOK.match(message):
        return Refusal(Layer.ADMISSION, _of_kyverno(message) or found["by"])
    patterns: Mapping[Layer, re.Pattern[str]] = {
        Layer.ADMISSION: _NATIVE,
        Layer.POD_SECURITY: _POD_SECURITY,
        Layer.QUOTA: _QUOTA,
    }
    for layer, pattern in patterns.items():
        if found := pattern.match(message):
            return Refusal(layer, found["by"])
    return Refusal(Layer.QUOTA, "LimitRange") if _LIMITS.match(message) else None


def _of_kyverno(message: str) -> str:
    found = next((found for pattern in _KYVERNO if (found := pattern.search(message))), None)
    return found["by"] if found else ""
