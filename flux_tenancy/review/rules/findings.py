"""What a rule knows of a stack, what it finds there, and whether a waiver allows it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flux_tenancy.components.config.errors import coded
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.installs.flux.config import Profile
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.stack.config import RuleName, StackConfig, Waiver, is_production
from flux_tenancy.components.vocabulary.manifests import name_of
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject

WAIVE = "or agree on a waiver with a reason and an expiry date in review.waivers:"
"""The end of a remedy, before the name of the rule."""


@dataclass(frozen=True)
class RuleSetting:
    """A stack as the rules see it.

    Attributes:
        production: whether it is a production environment.
        engine: what enforces its policies.
        weakened: the policies that refuse nothing: by the key of the stack file that says so, its mode.
        locked_down: whether Flux has the multi-tenant profile.
        default_account: the service account that Flux uses for objects that name none.
        waivers: the rules that the stack may break.
    """

    production: bool = False
    engine: PolicyEngine = PolicyEngine.NATIVE
    weakened: Mapping[str, PolicyMode] = field(default_factory=dict)
    locked_down: bool = True
    default_account: str = "default"
    waivers: tuple[Waiver, ...] = ()

    @classmethod
    def of(cls, stack: str, config: StackConfig) -> RuleSetting:
        """The setting of a stack."""
        return cls(
            production=is_production(stack, config),
            engine=config.policies.engine,
            weakened=dict(_weakened(config.policies)),
            locked_down=config.flux.profile is Profile.MULTI_TENANT,
            default_account=config.flux.default_service_account,
            waivers=config.review.waivers,
        )


def _weakened(policies: PoliciesConfig) -> Iterator[tuple[str, PolicyMode]]:
    if policies.mode is not PolicyMode.ENFORCE:
        yield "policies.mode", policies.mode
    for name, mode in policies.modes.items():
        if mode is not PolicyMode.ENFORCE:
            yield f"policies.modes.{name}", mode


@dataclass(frozen=True)
class Finding:
    """One thing that breaks a rule.

    Attributes:
        owner: the tenant that it belongs to, or `review.rendered.PLATFORM`.
        resource: what breaks it, e.g. `RoleBinding apps/dev-team-reconciler` or `policies.mode`; on one line and safe
            for a terminal.
        message: what is wrong and what to do, with its code.
        waiver: the waiver that allows it, or None.
    """

    rule: RuleName
    owner: str
    resource: str
    message: Message
    waiver: Waiver | None = None


def resource_of(subject: RenderedObject) -> str:
    """How findings and waivers name an object."""
    return printable(f"{subject.kind} {name_of(subject.manifest)}")


def waived(findings: Iterable[Finding], waivers: Iterable[Waiver]) -> tuple[Finding, ...]:
    """The findings, each with the waiver that allows it.

    Args:
        waivers: the waivers of the stack; of several for the same finding, the one that expires last counts.
    """
    lasting = sorted(waivers, key=lambda each: each.expires, reverse=True)

    def allows(waiver: Waiver, finding: Finding) -> bool:
        return waiver.rule is finding.rule and waiver.resource in (None, finding.resource)

    return tuple(
        replace(finding, waiver=next((each for each in lasting if allows(each, finding)), None)) for finding in findings
    )


def as_text(found: Mapping[str, Sequence[Finding]]) -> str:
    """The findings of each stack, those that are not waived first."""
    return "\n".join(line for stack, each in found.items() for line in _of_stack(stack, each))


def as_json(found: Mapping[str, Sequence[Finding]]) -> str:
    """A list with a mapping for each finding; `waiver` is null where there is none."""
    records = [{"stack": stack} | record(finding) for stack, each in found.items() for finding in each]
    return json.dumps(records, indent=2)


def record(finding: Finding) -> dict[str, object]:
    """A finding for programs."""
    waiver = finding.waiver
    return {
        "rule": finding.rule,
        "code": finding.message.code,
        "owner": finding.owner,
        "resource": finding.resource,
        "message": finding.message.sentence,
        "remedy": finding.message.remedy,
        "waiver": {"reason": waiver.reason, "expires": str(waiver.expires)} if waiver else None,
    }


def described(finding: Finding) -> str:
    """The rule that is broken, whose object breaks it, and how, on one line."""
    owner = "" if finding.owner == PLATFORM else f" of tenant {printable(finding.owner)}"
    return f"{finding.rule}{owner}: {finding.resource} {coded(finding.message.sentence)}"


def waiver_text(waiver: Waiver) -> str:
    """How long and why something is waived, on one line."""
    return f"waived until {waiver.expires}: {printable(waiver.reason)}"


def _of_stack(stack: str, found: Iterable[Finding]) -> Iterator[str]:
    breaking = [finding for finding in found if finding.waiver is None]
    waived = [finding for finding in found if finding.waiver is not None]
    count = f"{len(breaking) or 'no'} finding{'s' if len(breaking) != 1 else ''}"
    yield f"{stack}: {count}{f', {len(waived)} waived' if waived else ''}"
    for finding in [*breaking, *waived]:
        yield f"  {described(finding)}"
        if finding.waiver is None:
            yield f"    remedy: {finding.message.remedy}"
        else:
            yield f"    {waiver_text(finding.waiver)}"
