"""The suite's data: its choices, attempts and controls, the proofs that decide them, and their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

# The command's options need only the choices.
if TYPE_CHECKING:
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.components.vocabulary.manifests import Manifest


class Layer(StrEnum):
    """What refuses an attempt; reports and `--without` use the values."""

    ROLE = "role"
    """RBAC: the rights of the tenant's account, or of a controller's."""
    POD_SECURITY = "pod-security"
    ADMISSION = "admission"
    """ValidatingAdmissionPolicies, and webhooks such as Kyverno's."""
    QUOTA = "quota"
    """ResourceQuotas and LimitRanges."""
    FLUX = "flux"
    """Flags of Flux's controllers."""
    CONTROLLERS = "controllers"
    """Environment and rights of Flux's controllers: what a tenant's content can do with them."""
    NETWORK = "network"
    """NetworkPolicies."""


class TenantProfile(StrEnum):
    """What is intended for every tenant of a cluster; docs/security.md says the same in words."""

    BASELINE = "baseline"
    RESTRICTED = "restricted"


NAME = "isolation-suite"
"""The name of every object that the suite tries to create."""
REQUEST_ORDER = (Layer.ROLE, Layer.POD_SECURITY, Layer.ADMISSION, Layer.QUOTA)
"""The layers that a request passes, in the order in which the API server evaluates them."""


class State(StrEnum):
    """What one layer alone does about an attempt."""

    HOLDS = "holds"
    OPEN = "open"
    UNPROVEN = "unproven"
    NOT_REACHED = "notReached"
    """An earlier layer refuses first, so that this one says nothing about the attempt."""
    NOT_APPLICABLE = "notApplicable"


class Verdict(StrEnum):
    """The result of an attempt or a control."""

    REFUSED = "refused"
    PASSED = "passed"
    NOT_APPLICABLE = "notApplicable"
    """The cluster lacks what the attempt needs."""
    UNPROVEN = "unproven"
    """It could not be tried; the message says why."""


@dataclass(frozen=True)
class Finding:
    """What is known about one layer.

    Attributes:
        state: what it does about the attempt.
        message: of the API server, of Flux, or of the suite about what it inspected.
        by: the part of the layer, such as the name of a policy; empty where it adds nothing.
    """

    layer: Layer
    state: State
    message: str
    by: str = ""


@dataclass(frozen=True)
class Request:
    """A proof by a dry run of a request; nothing is changed.

    Attributes:
        object: what is created, or the identity of what is changed or deleted.
        layers: those that may refuse it. A refusal by another layer proves nothing.
        change: the merge patch of a `patch`.
        baseline: the same object without what is attempted. If the same layer refuses it too, the refusal was not for
            the attempt.
        user: who asks; the tenant's account where empty.
    """

    object: Manifest
    layers: tuple[Layer, ...]
    verb: str = "create"
    subresource: str = ""
    change: Manifest | None = None
    baseline: Manifest | None = None
    user: str = ""


@dataclass(frozen=True)
class AccessReview:
    """A proof by an access review: RBAC's answer, where a dry run would be unsuitable.

    Attributes:
        namespace: empty for all namespaces and for cluster-wide resources.
        name: of one object; empty for all objects of the kind.
        user: whose rights; the tenant's account where empty.
        layer: the layer that it proves.
    """

    verb: str
    group: str
    resource: str
    namespace: str = ""
    subresource: str = ""
    name: str = ""
    user: str = ""
    layer: Layer = Layer.ROLE


@dataclass(frozen=True)
class Live:
    """A proof by an object that is created as the tenant, and removed once Flux has reported on it.

    It refers to objects that do not exist, so it has no effect even on a cluster that lacks the layer.

    Attributes:
        refused: pattern of the message of its `Ready` condition if Flux refuses it.
        passed: pattern of the message if Flux would reconcile it.
    """

    object: Manifest
    refused: str
    passed: str


Proof = Request | AccessReview | Live | Finding
"""How a layer is tested; a finding is the result of inspecting the cluster's objects."""


@dataclass(frozen=True)
class Attempt:
    """Something that a tenant may try.

    Attributes:
        id: a stable key, which begins with the number of the threat.
        threat: its number in docs/policies.md.
        name: a description for people.
        proofs: how each layer is tested. A layer holds if all its proofs hold.
        by_choice: why a platform may leave this open; the report then gives this reason instead of a hole.
    """

    id: str
    threat: int
    name: str
    proofs: tuple[Proof, ...]
    by_choice: str = ""

    @classmethod
    def at_admission(
        cls,
        id: str,
        threat: int,
        name: str,
        manifest: Manifest,
        *,
        baseline: Manifest | None = None,
    ) -> Attempt:
        """The creation of an object that only admission can refuse; `baseline` as in `Request`."""
        return cls(id, threat, name, (Request(manifest, (Layer.ADMISSION,), baseline=baseline),))

    @property
    def layers(self) -> tuple[Layer, ...]:
        """The layers that should refuse it."""
        return tuple(dict.fromkeys(layer for proof in self.proofs for layer in layers_of(proof)))


@dataclass(frozen=True)
class Control:
    """Something legitimate, which must pass.

    Attributes:
        id: a stable key.
        name: a description for people.
        proof: a request, or an access review, that must be allowed.
    """

    id: str
    name: str
    proof: Request | AccessReview


@dataclass(frozen=True)
class AttemptResult:
    """The result of an attempt.

    Attributes:
        verdict: over all its layers.
        layer: the layer that refused it; the first in the order of a request if there are several.
        by: the part of this layer.
        message: what the tenant saw, or the reason for the verdict.
        alone: what each layer alone does about it.
    """

    attempt: Attempt
    verdict: Verdict
    layer: Layer | None
    by: str
    message: str
    alone: Mapping[Layer, Finding] = field(default_factory=dict)


@dataclass(frozen=True)
class ControlResult:
    """The result of a control, which must be `passed`."""

    control: Control
    verdict: Verdict
    message: str


@dataclass(frozen=True)
class Discrepancy:
    """Something in force that is not as it is intended, found by the inventory.

    Attributes:
        code: the stable code of what is wrong, e.g. `FT-ISO-100`.
        namespace: where; empty for what is cluster-wide.
        target: kind and name of the object.
        found: what is there.
        intended: what the stack, or the profile, intends.
    """

    code: str
    what: str
    namespace: str
    target: str
    found: str
    intended: str
    remedy: str

    @classmethod
    def of(cls, message: Message, namespace: str, target: str, found: str, intended: str) -> Discrepancy:
        """The discrepancy that a message states. Text of the cluster is made printable."""
        from flux_tenancy.components.config.messages import printable

        return cls(
            message.code,
            message.text,
            namespace,
            printable(target),
            printable(found),
            printable(intended),
            printable(message.remedy),
        )


@dataclass(frozen=True)
class Report:
    """The report of one run for one tenant.

    Attributes:
        context: the kubeconfig's context of the cluster that was attacked.
        server: the address of its API server.
        namespaces: its namespaces; attempts are made in the first.
        account: `system:serviceaccount:…` of the account that Flux applies as; empty if no attempts were made.
        live: whether objects were created.
        made_at: when, in ISO 8601.
        attempts: in the order of their threats.
        inventory: what is not as intended; None if nothing says what is intended.
    """

    context: str
    server: str
    version: str
    tenant: str
    namespaces: tuple[str, ...]
    account: str
    live: bool
    without: tuple[Layer, ...]
    made_at: str
    attempts: tuple[AttemptResult, ...]
    controls: tuple[ControlResult, ...]
    inventory: tuple[Discrepancy, ...] | None = None

    @property
    def holes(self) -> tuple[AttemptResult, ...]:
        return tuple(result for result in self.attempts if result.verdict is Verdict.PASSED)

    @property
    def refused_controls(self) -> tuple[ControlResult, ...]:
        return tuple(result for result in self.controls if result.verdict is Verdict.REFUSED)

    @property
    def safe(self) -> bool:
        """Whether no attempt passed, no control was refused, and all is as intended."""
        return not self.holes and not self.refused_controls and not self.inventory


def layers_of(proof: Proof) -> tuple[Layer, ...]:
    """The layers that a proof tests."""
    match proof:
        case Request():
            return proof.layers
        case Live():
            return (Layer.FLUX,)
        case AccessReview() | Finding():
            return (proof.layer,)
