"""What the rules say of a stack that breaks them, and what `make policy` says when it cannot check one."""

from __future__ import annotations

from components.config.wordings import Wording

_WAIVE = "or agree on a waiver in review.waivers: {rule} with a reason and an expiry date"

ADMIN_IN_NAMESPACE = Wording(
    "FT-REV-101",
    "allows {subjects} everything in the tenant's namespace {namespace}, through {role}",
    f"bind a role with fewer rights (tenants.{{tenant}}.role), {_WAIVE}",
)
ADMIN_TENANT = Wording(
    "FT-REV-102",
    "allows {subject} of the tenant everything {reach}, through {role}",
    f"bind a role with fewer rights, {_WAIVE}",
)
WRITABLE_DEPLOY_KEY = Wording(
    "FT-REV-103", "is a deploy key that can write to the repository {repository}", "set readOnly to true"
)
PLAIN_SECRET = Wording(
    "FT-REV-104",
    "has {entries} in plain text, readable in previews and in the state",
    "mark the data as secret (`pulumi.Output.secret`), and set the value with `pulumi config set --secret`",
)
NOT_TOLD_APART = Wording(
    "FT-REV-114",
    "may be in plain text, which the pack can tell only if its policy `rules` has the level remediate",
    "do not configure another level (`--policy-pack-config`)",
)
RESERVED_NAMESPACE = Wording(
    "FT-REV-105",
    "puts tenant {tenant} into the namespace {namespace}, which belongs to the cluster's own components",
    "choose another namespace",
)
FLAG_MISSING = Wording(
    "FT-REV-106",
    "lacks {argument}, without which a tenant could {purpose}",
    "remove what overrides it in flux.extraArgs.{controller} (docs/lockdown.md)",
)
FLAG_UNKNOWN = Wording(
    "FT-REV-107",
    "has --{flag}, which {controller} does not know; it would not start",
    "remove it from flux.extraArgs.{controller} (docs/lockdown.md)",
)
FLAG_FORBIDDEN = Wording(
    "FT-REV-108", "has --{flag}: {reason}", "remove it from flux.extraArgs.{controller} (docs/lockdown.md)"
)
NO_POLICY_ENGINE = Wording(
    "FT-REV-109",
    "is none in a production environment, so admission refuses nothing of what tenants apply",
    f"set policies.engine to native, kyverno or both, {_WAIVE}",
)
POLICY_NOT_ENFORCED = Wording(
    "FT-REV-110",
    "is {mode} in a production environment, so violations are allowed",
    f"set {{key}} to enforce, {_WAIVE}",
)
PROTECTED_DELETED = Wording(
    "FT-REV-111",
    "is protected and would be deleted, with {taken}",
    f"keep it, {_WAIVE}",
)
PROTECTED_REPLACED = Wording(
    "FT-REV-112",
    "is protected and would be replaced, which deletes {taken}",
    f"keep its name in the state and its API version, {_WAIVE}",
)
UNPROTECTED = Wording(
    "FT-REV-113",
    "is not protected, so this update may delete or replace it, with {taken}",
    "run `pulumi up`, which protects all that it does not have to replace; where it has to, "
    "agree on a waiver in review.waivers: {rule} with a reason and an expiry date",
)

NO_STACKS = Wording("FT-REV-120", "the project has no stacks to check", "describe one in Pulumi.<stack>.yaml")
UNREADABLE_STACK = Wording(
    "FT-REV-121",
    "the configuration of the stack has errors ({count}), so it cannot be held to the rules",
    "correct them",
)
NO_EARLIER_RENDER = Wording(
    "FT-REV-122", "cannot be compared with the merge base: {reason}", "compare the deletions by hand"
)
