"""Whether a stack is a production environment, where defaults are stricter."""

from __future__ import annotations

import re

from components.stack.config import StackConfig

_WORDS = frozenset({"production", "prod"})


def is_production(stack: str, config: StackConfig) -> bool:
    """Whether a stack is a production environment.

    `cluster.production` says so. Without it, the first or last word of the stack's name does: `production`, `prod-eu`
    and `eu.production` are, `staging` and `product-eu` are not. `pre-prod` counts as production until the key says
    otherwise, since protection that nobody asked for does less harm than protection that is missing.

    Args:
        stack: name of the stack, without organization and project.
        config: the stack.
    """
    if config.cluster.production is not None:
        return config.cluster.production
    words = re.split(r"[-_.]", stack.lower())
    return words[0] in _WORDS or words[-1] in _WORDS
