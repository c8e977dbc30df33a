"""What the suite is made of: attempts and controls, the proofs that decide them, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from components.cluster.manifests import Manifest


class Layer(StrEnum):
    """What refuses an attempt; the values stand in reports and after `--without`."""

    ROLE = "role"
    """RBAC: what the tenant's account, or a controller's, may do."""
    POD_SECURITY = "pod-security"
    ADMISSION = "admission"
    """ValidatingAdmissionPolicies, and webhooks such as Kyverno's."""
    QUOTA = "quota"
    """ResourceQuotas and LimitRanges."""
    FLUX = "flux"
    """Flags of Flux's controllers."""
    CONTROLLERS = "controllers"
    """Environment and rights of Flux's controllers: what a tenant's text can make of them."""
    NETWORK = "network"
    """NetworkPolicies."""


REQUEST_ORDER = (Layer.ROLE, Layer.POD_SECURITY, Layer.ADMISSION, Layer.QUOTA)
"""The layers that a request passes, in the order in which the API server asks them."""


class State(StrEnum):
    """What one layer does about an attempt when nothing else is asked."""

    HOLDS = "holds"
    OPEN = "open"
    UNPROVEN = "unproven"
    NOT_APPLICABLE = "notApplicable"


class Verdict(StrEnum):
    """What came of an attempt or a control."""

    REFUSED = "refused"
    PASSED = "passed"
    NOT_APPLICABLE = "notApplicable"
    """The cluster has nothing that the attempt could be made with."""
    UNPROVEN = "unproven"
    """It could not be asked; the message says why."""


@dataclass(frozen=True)
class Finding:
    """What was found about one layer.

    Attributes:
        layer: which.
        state: what it does about the attempt.
        message: in whose words: the API server's, Flux's, or the suite's own about what it looked at.
        by: what of the layer it was, such as the name of a policy; empty where that says no more.
    """

    layer: Layer
    state: State
    message: str
    by: str = ""


@dataclass(frozen=True)
class Request:
    """A proof by a request that the API server is asked for as a dry run; nothing is changed.

    Attributes:
        object: what is created, or as much as names what is changed or deleted.
        layers: those that may refuse it. A refusal by another one proves nothing.
        verb: `create`, `patch` or `delete`.
        subresource: of the object.
        change: the merge patch of a `patch`.
        beside: the same object without what is attempted. Where this is refused by the same, the attempt was not what
            it was refused for.
        user: who asks; the tenant's account where empty.
    """

    object: Manifest
    layers: tuple[Layer, ...]
    verb: str = "create"
    subresource: str = ""
    change: Manifest | None = None
    beside: Manifest | None = None
    user: str = ""


@dataclass(frozen=True)
class Access:
    """A proof by an access review: what RBAC says, for what no dry run should be made of.

    Attributes:
        verb: of RBAC.
        group: API group.
        resource: plural name.
        namespace: where; empty for all namespaces and for what has none.
        subresource: of the resource.
        name: of one object; all of the kind where empty.
        user: whose rights; the tenant's account where empty.
        layer: whose matter that is.
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
    """A proof by an object that is created as the tenant, and removed once Flux has said what it thinks of it.

    It refers to what does not exist, so that a cluster without the layer does nothing about it either.

    Attributes:
        object: the object.
        refused: what the message of its `Ready` condition says where Flux refuses it.
        passed: what it says where Flux would do it.
    """

    object: Manifest
    refused: str
    passed: str


Proof = Request | Access | Live | Finding
"""How a layer is asked; a finding is a proof that was made by looking at the cluster's objects."""


@dataclass(frozen=True)
class Attempt:
    """Something that a tenant may try.

    Attributes:
        id: a key that stays, beginning with the number of the threat.
        threat: the number in `components.policies.threats`.
        name: what is tried, for people.
        proofs: how each layer is asked. All that is asked of a layer has to hold.
        by_choice: why a platform may leave this open; where it does, this stands in the report, and is no hole.
    """

    id: str
    threat: int
    name: str
    proofs: tuple[Proof, ...]
    by_choice: str = ""

    @classmethod
    def at_admission(
        cls, id: str, threat: int, name: str, manifest: Manifest, *, beside: Manifest | None = None, by_choice: str = ""
    ) -> Attempt:
        """The creation of an object that only admission is meant to refuse; `beside` as in `Request`."""
        return cls(id, threat, name, (Request(manifest, (Layer.ADMISSION,), beside=beside),), by_choice)

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Those that are meant to refuse it."""
        return tuple(dict.fromkeys(layer for proof in self.proofs for layer in layers_of(proof)))


@dataclass(frozen=True)
class Control:
    """Something legitimate, which must pass.

    Attributes:
        id: a key that stays.
        name: what it is, for people.
        proof: a request, or an access review that has to be answered with yes.
    """

    id: str
    name: str
    proof: Request | Access


@dataclass(frozen=True)
class LayerState:
    """What one layer does about an attempt, alone."""

    state: State
    by: str
    message: str


@dataclass(frozen=True)
class AttemptResult:
    """What came of an attempt.

    Attributes:
        attempt: which.
        verdict: of all its layers together.
        layer: the one that refused it; the first on the way of a request where there are several.
        by: what of this layer.
        message: what the tenant saw, or why the verdict is what it is.
        alone: what each layer does about it alone.
    """

    attempt: Attempt
    verdict: Verdict
    layer: Layer | None
    by: str
    message: str
    alone: Mapping[Layer, LayerState] = field(default_factory=dict)


@dataclass(frozen=True)
class ControlResult:
    """What came of a control: `passed` is what is wanted."""

    control: Control
    verdict: Verdict
    message: str


@dataclass(frozen=True)
class Report:
    """Everything about one run for one tenant.

    Attributes:
        context: the kubeconfig's context.
        version: of the API server.
        tenant: its name.
        namespaces: its namespaces; attempts are made in the first.
        account: `system:serviceaccount:…` of the account that Flux applies as.
        live: whether objects were created.
        without: layers that were left out.
        made_at: when, in ISO 8601.
        attempts: in the order of their threats.
        controls: in order.
    """

    context: str
    version: str
    tenant: str
    namespaces: tuple[str, ...]
    account: str
    live: bool
    without: tuple[Layer, ...]
    made_at: str
    attempts: tuple[AttemptResult, ...]
    controls: tuple[ControlResult, ...]

    @property
    def holes(self) -> tuple[AttemptResult, ...]:
        return tuple(result for result in self.attempts if result.verdict is Verdict.PASSED)

    @property
    def refused_controls(self) -> tuple[ControlResult, ...]:
        return tuple(result for result in self.controls if result.verdict is Verdict.REFUSED)

    @property
    def safe(self) -> bool:
        """Whether no attempt passed and no control was refused."""
        return not self.holes and not self.refused_controls


def layers_of(proof: Proof) -> tuple[Layer, ...]:
    """The layers that a proof asks."""
    match proof:
        case Request():
            return proof.layers
        case Live():
            return (Layer.FLUX,)
        case Access() | Finding():
            return (proof.layer,)
