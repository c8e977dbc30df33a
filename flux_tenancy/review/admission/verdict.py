"""What this program's own policies say of a render, and what of it a change has brought about.

Only content is judged: the platform applies a render, and policies about users let it pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from flux_tenancy.components.policies.rendering import POLICIES
from flux_tenancy.components.vocabulary.manifests import qualified
from flux_tenancy.review.admission.answers import Answers
from flux_tenancy.review.render.rendered import Render
from flux_tenancy.review.words.statement import Statement


@dataclass(frozen=True)
class Refusal:
    """An object that a policy refuses, or warns of where its mode is `audit`.

    Attributes:
        owner: the tenant that the object belongs to, or PLATFORM.
        policy: name of the policy, as `policies.modes` has it.
        object: kind, namespace and name, e.g. `GitRepository apps/dev-team`.
        message: the policy's own, with what to do.
        denied: whether the policy is enforced.
        newly: whether it did not say this of the object before the change.
    """

    owner: str
    policy: str
    object: str
    message: str
    denied: bool
    newly: bool

    @property
    def statement(self) -> Statement:
        """The refusal as a sentence of the report."""
        verb = "refuses" if self.denied else "would refuse"
        return Statement(
            self.owner, f"policy {self.policy} {verb} {self.object}: {self.message}", risk=True, names_owner=True
        )


def refusals(before: Answers | None, after: Answers, render: Render) -> tuple[Refusal, ...]:
    """All refusals of a render, in the order of its objects.

    Args:
        before: the answers to the render at the merge base; None for a new stack.
        after: the answers to the render now.
        render: the render now.
    """
    known = {
        (key, objection.policy, objection.denied)
        for key, answer in (before or {}).items()
        for objection in answer.objections
    }
    return tuple(
        Refusal(
            each.owner,
            str(POLICIES.get(objection.policy, objection.policy)),
            f"{each.kind} {qualified(each.namespace, each.name)}",
            objection.message,
            objection.denied,
            newly=(each.key, objection.policy, objection.denied) not in known,
        )
        for each in render.objects
        if each.key in after
        for objection in after[each.key].objections
    )
