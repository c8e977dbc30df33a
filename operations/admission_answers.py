"""What the API server answers to a request, read for what the policies say of it.

A policy in audit mode speaks in a `Warning` header, one that is enforced in the refusal. Both engines have their own
words for it, which are read here and nowhere else.

Source: https://www.rfc-editor.org/rfc/rfc7234#section-5.5, `validating/dispatcher.go` of k8s.io/apiserver 0.36 and
`pkg/webhooks/resource/vpol/handler.go` of Kyverno 1.19
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.config.printable import printable
from components.policies.config import PolicyEngine, PolicyMode
from components.policies.names import PolicyName
from components.policies.rendering import POLICIES

_WARNING = re.compile(r'299 \S+ "(?P<text>(?:[^"\\]|\\.)*)"')
_NATIVE_WARNING = re.compile(
    r"Validation failed for ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding '[^']+': (?P<message>.*)"
)
# From the beginning on: what follows may hold text of a tenant's.
_NATIVE_REFUSAL = re.compile(
    r"[^:]* is forbidden: ValidatingAdmissionPolicy '(?P<policy>[^']+)'(?: with binding '[^']+')? denied request: "
    r"(?P<message>.*)"
)
_KYVERNO_REFUSAL = re.compile(r'admission webhook "[^"]*\.kyverno\.svc[^"]*" denied the request: (?P<messages>.*)')
_KYVERNO_POLICY = rf"Policy (?P<policy>{'|'.join(map(re.escape, POLICIES))}) (?:failed|error): "
_KYVERNO_WARNING = re.compile(rf"{_KYVERNO_POLICY}(?P<message>.*)")
# Several policies in one refusal.
_KYVERNO_NEXT = re.compile(rf"(?:^|; ){_KYVERNO_POLICY}")


@dataclass(frozen=True)
class Answer:
    """An answer of the API server.

    Attributes:
        status: of HTTP.
        warnings: its `Warning` headers, as the client has them.
        message: why the request was refused; empty where it was not.
    """

    status: int
    warnings: Sequence[str] = ()
    message: str = ""

    @property
    def refused(self) -> bool:
        return self.status >= 400


@dataclass(frozen=True)
class Objection:
    """What a policy has against a request.

    Attributes:
        policy: which.
        engine: the one that has evaluated it, `native` or `kyverno`.
        mode: `enforce` where the request was refused for it, `audit` where it was only warned of.
        message: the policy's own words.
    """

    policy: PolicyName
    engine: PolicyEngine
    mode: PolicyMode
    message: str


def objections(answer: Answer) -> list[Objection]:
    """What this project's policies have against the request; other warnings and refusals are none of theirs.

    A refusal ends a request, so it may be the first of several: ValidatingAdmissionPolicies are asked before Kyverno,
    and only the first of them is told.
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
    """The text of a `Warning` header; a header is bytes, which the client takes for Latin-1."""
    found = _WARNING.match(header)
    text = re.sub(r"\\(.)", r"\1", found["text"]) if found else ""
    return printable(text.encode("latin-1", "replace").decode("utf-8", "replace"))
