"""The top-level keys of a stack's file: `<project>:<section>`, Pulumi's own, and those that belong to nobody.

Source: `ParseKey` of pulumi/sdk/go/common/resource/config/key.go, and `stackConfigNamespacedWithProject` of
pulumi/sdk/go/common/workspace/loaders.go, by which a key without a namespace is the project's.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from components.config.errors import Problem
from components.stack.config import StackConfig

_PULUMI = "pulumi"
_PROVIDERS = {
    "kubernetes": "the cluster is named by {project}:cluster",
    "github": "the credentials are those of {project}:github",
}


def section_of(key: str, project: str) -> str | None:
    """The project's own section that Pulumi takes a key for; None for a key of another namespace."""
    match key.split(":"):
        case [section]:
            return section
        case [namespace, section] | [namespace, "config", section] if namespace == project:
            return section
    return None


def check_keys(keys: Iterable[str], file: str, project: str) -> list[Problem]:
    """The keys that nobody reads, or that this project must not be expected to read.

    Args:
        keys: the top-level keys below `config`.
        file: what messages call the file.
        project: the project's name.
    """
    problems = []
    written: dict[str, str] = {}
    for key in keys:
        section = section_of(key, project)
        if section is None:
            if key.partition(":")[0] != _PULUMI:
                problems.append(Problem(file, key, _foreign(key, project)))
            continue
        if ":" not in key:
            problems.append(Problem(file, key, f"lacks the project's name; write {project}:{key}"))
        if other := written.get(section):
            problems.append(Problem(file, key, f"is written as {other} too; keep {project}:{section} alone"))
        written.setdefault(section, key)
    return problems


def _foreign(key: str, project: str) -> str:
    namespace, _, name = key.partition(":")
    name = name.removeprefix("config:")
    if name.partition(".")[0].partition("[")[0] in _sections():
        return f"belongs to a project {namespace}, and this one is {project}; write {project}:{name}"
    if namespace in _PROVIDERS:
        remedy = _PROVIDERS[namespace].format(project=project)
        return f"is read by nobody, since this project sets up its providers itself: {remedy}; take it out"
    close = get_close_matches(namespace, [project, _PULUMI], n=1, cutoff=0.7)
    hint = f"did you mean {close[0]}:{name}?" if close else "take it out"
    return f"is read by nobody in the project {project}; {hint}"


def _sections() -> set[str]:
    return {field.alias or name for name, field in StackConfig.model_fields.items()}
