"""Whether the user that applies the stack is one of Capsule's administrators."""

from __future__ import annotations

from components.capsule.config import CapsuleConfig
from components.capsule.values import username
from components.cluster.client import Identity
from components.cluster.subjects import SubjectKind
from components.config.errors import Problem
from components.config.messages import Message


def administrator_problems(config: CapsuleConfig, user: Identity, stack_file: str) -> list[Problem]:
    """A problem if Capsule would take this user for anybody.

    Args:
        config: the `capsule` section of the stack.
        user: the user that applies the stack, as the API server knows it.
        stack_file: name of the stack's file.
    """
    for each in config.administrators:
        if username(each) in (user.groups if each.kind is SubjectKind.GROUP else [user.name]):
            return []
    return [
        Problem(
            stack_file,
            "capsule.administrators",
            Message(
                "FT-CAP-008",
                f"does not contain {user.name}, who applies this stack, or a group of this user; Capsule would not "
                "let it change tenants' namespaces",
                "add it",
            ),
        )
    ]
