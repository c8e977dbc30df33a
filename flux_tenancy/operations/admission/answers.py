"""The objections of policies in an answer of the API server.

A policy in audit mode objects in a `Warning` header, an enforced one in the refusal. Each engine formats them in its
own way, and only this module parses them.

Source: https://www.rfc-editor.org/rfc/rfc7234#section-5.5, `validating/dispatcher.go` of k8s.io/apiserver 0.36 and
`pkg/webhooks/resource/vpol/handler.go` of Kyverno 1.19
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flux_tenancy.components.config.messages import Wording, printable
from flux_tenancy.components.policies.config import PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.rendering import OBJECT_PREFIX, POLICIES

MAY_NOT = Wording("FT-OPS-041", "this user may not {action}: {message}", "use credentials with cluster-admin rights")

_WARNING = re.compile(r'299 \S+ "(?P<text>(?:[^"\\]|\\.)*)"')
_NATIVE_WARNING = re.compile(
    r"Validation failed for ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding '[^']+': (?P<message>.*)"
)
# Anchored at the beginning: what follows may contain a tenant's text.
_NATIVE_REFUSAL = re.compile(
    r"[^:]* is forbidden: ValidatingAdmissionPolicy '(?P<policy>[^']+)'(?: with binding '[^']+')? denied request: "
    r"(?P<message>.*)"
)
_KYVERNO_REFUSAL = re.compile(r'admission webhook "[^"]*\.kyverno\.svc[^"]*" denied the request: (?P<messages>.*)')
_KYVERNO_POLICY = rf"Policy (?P<policy>{'|'.join(map(re.escape, POLICIES))}) (?:failed|error): "
_KYVERNO_WARNING = re.compile(rf"{_KYVERNO_POLICY}(?P<message>.*)")
# Several policies in one refusal.
_KYVERNO_NEXT = re.compile(rf"(?:^|; ){_KYVERNO_POLICY}")
REFUSED_BY = (
    rf"(?:ValidatingAdmissionPolicy '|Policy ){OBJECT_PREFIX}({'|'.join(PolicyName)})"
    r"(?:' (?:with|denied)| failed: | error: )"
)
"""How either engine begins a refusal within a message of Flux. The group is the policy. A rule of Prometheus has it."""


@dataclass(frozen=True)
class Response:
    """An answer of the API server.

    Attributes:
        warnings: the `Warning` headers, as the client returns them.
        message: why the request was refused; empty if it was not.
        stored: the object as it would be stored, where the answer has it.
    """

    status: int
    warnings: Sequence[str] = ()
    message: str = ""
    stored: Mapping[str, Any] = field(default_factory=dict)

    @property
    def refused(self) -> bool:
        return self.status >= 400


@dataclass(frozen=True)
class Objection:
    """An objection of a policy to a request.

    Attributes:
        engine: the engine that evaluated it, `native` or `kyverno`.
        mode: `enforce` if the request was refused, `audit` if it was only warned about.
        message: the policy's message.
    """

    policy: PolicyName
    engine: PolicyEngine
    mode: PolicyMode
    message: str


def refusing_policy(message: str) -> str:
    """The policy that a message of Flux names first as the one that has refused; empty if it names none."""
    found = re.search(REFUSED_BY, message)
    return found[1] if found else ""


def objections(answer: Response) -> list[Objection]:
    """The objections of this project's policies; other warnings and refusals are left out.

    A refusal ends a request, so there may be more: the API server evaluates ValidatingAdmissionPolicies before it calls
    Kyverno, and reports only the first of them.
    """
    found = [each for header in answer.warnings for each in _warned(header)]
    return list(dict.fromkeys([*found, *_refused(answer.message)]))


def _warned(header: str) -> Iterator[Objection]:
    text = _text(header)
    if found := _NATIVE_WARNING.fullmatch(text):
        yield from _objection(found["policy"], PolicyEngine.NATIVE, PolicyMode.AUDIT, found["message"])
    elif found := _KYVERNO_WARNING.fullmatch(text):
        yield from _objection(found["policy"], PolicyEngine.KYVERNO, PolicyMode.AUDIT, found["message"])


def _refused(message: str) -> Iterator[Objection]:
    message = printable(message)
    if found := _NATIVE_REFUSAL.fullmatch(message):
        yield from _objection(found["policy"], PolicyEngine.NATIVE, PolicyMode.ENFORCE, found["message"])
    elif found := _KYVERNO_REFUSAL.fullmatch(message):
        _, *said = _KYVERNO_NEXT.split(found["messages"])
        for policy, words in zip(said[::2], said[1::2], strict=True):
            yield from _objection(policy, PolicyEngine.KYVERNO, PolicyMode.ENFORCE, words)


def _objection(policy: str, engine: PolicyEngine, mode: PolicyMode, message: str) -> Iterator[Objection]:
    if policy in POLICIES:
        yield Objection(POLICIES[policy], engine, mode, message)


def _text(header: str) -> str:
    """The text of a `Warning` header; the client decodes headers as Latin-1."""
    found = _WARNING.match(header)
    text = re.sub(r"\\(.)", r"\1", found["text"]) if found else ""
    return printable(text.encode("latin-1", "replace").decode("utf-8", "replace"))
