"""The names of the rules that reviewers hold every stack to; what they say is in `review/rules/table.py`."""

from __future__ import annotations

from enum import StrEnum


class RuleName(StrEnum):
    """What no stack may do, or only with a waiver (docs/review.md#rules)."""

    ADMIN_BINDING = "admin-binding"
    WRITABLE_DEPLOY_KEY = "writable-deploy-key"
    PLAIN_SECRET = "plain-secret"
    RESERVED_NAMESPACE = "reserved-namespace"
    LOCKDOWN_FLAGS = "lockdown-flags"
    NO_POLICY_ENGINE = "no-policy-engine"
    POLICY_NOT_ENFORCED = "policy-not-enforced"
    PROTECTED_DELETION = "protected-deletion"


WAIVABLE = (
    RuleName.ADMIN_BINDING,
    RuleName.NO_POLICY_ENGINE,
    RuleName.POLICY_NOT_ENFORCED,
    RuleName.PROTECTED_DELETION,
)
"""The rules that a stack may break for a time and for a reason; the others have no good reason to be broken."""
