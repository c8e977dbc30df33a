"""The rules that reviewers hold every stack to, as pure functions over what it would apply.

They are in `review`, since nothing that is applied depends on them; `flux-tenancy review policy` runs them over an
offline render. What the configuration itself refuses (`components.stack.loading`) is held by a rule, too, where the
damage would be great: rules see what the builders made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, arguments_for, flags_for, unknown_to
from flux_tenancy.components.installs.flux.profile import FEATURE_GATES
from flux_tenancy.components.installs.flux.release import component_of, flags_in, version_of
from flux_tenancy.components.policies.config import PolicyEngine
from flux_tenancy.components.stack.cluster.deletions import TAKEN_ALONG
from flux_tenancy.components.stack.config import RuleName
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.review.render.rendered import PLATFORM, RenderedObject
from flux_tenancy.review.rules.access import admin_bindings, plain_secrets, reserved_namespaces, writable_deploy_keys
from flux_tenancy.review.rules.findings import WAIVE, Finding, RuleSetting, resource_of, waived

_GATES = FEATURE_GATES.strip("-=")


def lockdown_flags(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Flags of the multi-tenant profile that a controller lacks or does not know, and those that undo it."""
    for each in objects if setting.locked_down else ():
        if each.kind != "Deployment" or (controller := component_of(each.manifest)) is None:
            continue
        version, containers = version_of(each.manifest), each.manifest["spec"]["template"]["spec"]["containers"]
        flags = flags_in(argument for container in containers for argument in container.get("args") or ())
        for message in _messages(controller, flags, setting.default_account, version):
            yield Finding(RuleName.LOCKDOWN_FLAGS, each.owner, resource_of(each), message)


def _messages(controller: Controller, flags: dict[str, str], default_account: str, version: str) -> Iterator[Message]:
    known = flags_for(controller, version)
    gates = _gates(flags.get(_GATES, ""))
    for flag, argument in zip(known, arguments_for(controller, default_account, version), strict=True):
        name, _, value = argument.removeprefix("--").partition("=")
        if name == _GATES:
            gate, _, wanted = value.partition("=")
            is_set = gates.get(gate) == wanted
        else:
            is_set = flags.get(name) == value
        if not is_set:
            yield Message(
                "FT-REV-106",
                f"lacks {argument}, without which a tenant could {flag.purpose}",
                f"remove the argument that overrides it from flux.extraArgs.{controller} (docs/lockdown.md)",
            )
    unknown = dict.fromkeys(unknown_to(controller, version), f"{controller} does not support it and would not start")
    forbidden = {name: why for name, why in FORBIDDEN_FLAGS.items() if flags.get(name, "") not in ("", "false")}
    for name, why in sorted((unknown | forbidden).items()):
        if name in flags:
            yield Message(
                "FT-REV-108",
                f"has --{printable(name)}: {why}",
                f"remove it from flux.extraArgs.{controller} (docs/lockdown.md)",
            )


def _gates(value: str) -> dict[str, str]:
    pairs = (gate.partition("=") for gate in value.split(","))
    return {name.strip(): setting for name, _, setting in pairs}


def missing_engine(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """A production environment without a policy engine."""
    if setting.production and setting.engine is PolicyEngine.NONE:
        so, wanted = "no admission policy applies to tenants", "native, kyverno or both"
        yield _in_production(RuleName.NO_POLICY_ENGINE, "policies.engine", setting.engine, so, wanted)


def policies_not_enforced(objects: Sequence[RenderedObject], setting: RuleSetting) -> Iterator[Finding]:
    """Policies of a production environment that are audited or off."""
    for key, mode in setting.weakened.items() if setting.production else ():
        yield _in_production(RuleName.POLICY_NOT_ENFORCED, key, mode, "violations are allowed", "enforce")


def _in_production(rule: RuleName, key: str, value: str, so: str, wanted: str) -> Finding:
    message = Message(
        "FT-REV-110", f"is {value} in a production environment, so {so}", f"set {key} to {wanted}, {WAIVE} {rule}"
    )
    return Finding(rule, PLATFORM, key, message)


def protected_deletions(before: Iterable[RenderedObject], after: Iterable[RenderedObject]) -> Iterator[Finding]:
    """Protected namespaces and CRDs that a change would delete or replace.

    Args:
        before: what is applied now; what it protects counts, so that no change lifts a protection and uses it at once.
    """
    staying = {(each.kind, each.name): each.key for each in after if each.kind in TAKEN_ALONG}
    rule = RuleName.PROTECTED_DELETION
    for each in before:
        key = staying.get((each.kind, each.name))
        if each.protected and key != each.key:
            how, kept = ("deleted", "it") if key is None else ("replaced", "its name in the state and its API version")
            message = Message(
                "FT-REV-111",
                f"is protected and would be {how}, which deletes {TAKEN_ALONG[each.kind]}",
                f"keep {kept}, {WAIVE} {rule}",
            )
            yield Finding(rule, each.owner, resource_of(each), message)


Rule = Callable[[Sequence[RenderedObject], RuleSetting], Iterable[Finding]]
"""Finds what breaks a rule among all objects of a stack."""

RULES: Mapping[RuleName, Rule] = {
    RuleName.ADMIN_BINDING: admin_bindings,
    RuleName.WRITABLE_DEPLOY_KEY: writable_deploy_keys,
    RuleName.PLAIN_SECRET: plain_secrets,
    RuleName.RESERVED_NAMESPACE: reserved_namespaces,
    RuleName.LOCKDOWN_FLAGS: lockdown_flags,
    RuleName.NO_POLICY_ENGINE: missing_engine,
    RuleName.POLICY_NOT_ENFORCED: policies_not_enforced,
}
"""The rules that need one state of a stack; deletions are found by comparing two."""


def findings(
    objects: Sequence[RenderedObject], setting: RuleSetting, before: Sequence[RenderedObject] = ()
) -> tuple[Finding, ...]:
    """Everything in a stack that breaks a rule, with the waiver that allows it.

    Args:
        before: all objects that it has now, to judge what is deleted.
    """
    found = [finding for rule in RULES.values() for finding in rule(objects, setting)]
    return waived([*found, *protected_deletions(before, objects)], setting.waivers)
