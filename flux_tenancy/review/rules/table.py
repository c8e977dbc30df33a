"""The rules that reviewers hold every stack to, as pure functions over what it would apply.

They are in `review`, since nothing that is applied depends on them; `flux-tenancy review policy` runs them over an
offline render. What the configuration itself refuses (`components.stack.loading`) is held by a rule, too, where the
damage would be great: rules see what the builders made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from flux_tenancy.components.stack.decisions import RuleName
from flux_tenancy.review.render.rendered import RenderedObject
from flux_tenancy.review.rules.access import admin_bindings, plain_secrets, reserved_namespaces, writable_deploy_keys
from flux_tenancy.review.rules.environment import missing_engine, policies_not_enforced, protected_deletions
from flux_tenancy.review.rules.findings import Finding, waived
from flux_tenancy.review.rules.flux import lockdown_flags
from flux_tenancy.review.rules.setting import RuleSetting

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
        objects: all objects of the stack.
        setting: the stack.
        before: all objects that it has now, to judge what is deleted.
    """
    found = [finding for rule in RULES.values() for finding in rule(objects, setting)]
    return waived([*found, *protected_deletions(before, objects)], setting.waivers)
