"""The top-level keys of a stack's file: `<project>:<section>`, Pulumi's own, and those that are not used.

Source: `ParseKey` of pulumi/sdk/go/common/resource/config/key.go, and `stackConfigNamespacedWithProject` of
pulumi/sdk/go/common/workspace/loaders.go, by which a key without a namespace is the project's.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.stack.config import StackConfig

_PULUMI = "pulumi"
# The program configures its providers itself.
_PROVIDERS = {
    "kubernetes": Wording("FT-CFG-624", "is not used: the cluster is configured by {project}:cluster", "remove it"),
    "github": Wording(
        "FT-CFG-625", "is not used: GitHub's credentials are configured by {project}:github", "remove it"
    ),
}


def section_of(key: str, project: str) -> str | None:
    """The section of this project that a key sets, by Pulumi's rules; None for a key of another namespace."""
    match key.split(":"):
        case [section]:
            return section
        case [namespace, section] | [namespace, "config", section] if namespace == project:
            return section
    return None


def check_keys(keys: Iterable[str], file: str, project: str) -> list[Problem]:
    """Errors in the top-level keys: keys that this project does not use, and other spellings of its own.

    Args:
        keys: the top-level keys below `config`.
        file: the file's name, for messages.
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
            problems.append(
                Problem(file, key, Message("FT-CFG-621", "lacks the project's name", f"write {project}:{key}"))
            )
        if other := written.get(section):
            problems.append(
                Problem(file, key, Message("FT-CFG-622", f"is also set as {other}", f"keep only {project}:{section}"))
            )
        written.setdefault(section, key)
    return problems


def _foreign(key: str, project: str) -> Message:
    namespace, _, name = key.partition(":")
    name = name.removeprefix("config:")
    if name.partition(".")[0].partition("[")[0] in _sections():
        return Message(
            "FT-CFG-623",
            f"belongs to the project {namespace}, but this project is {project}",
            f"write {project}:{name}",
        )
    if namespace in _PROVIDERS:
        return _PROVIDERS[namespace](project=project)
    if close := get_close_matches(namespace, [project, _PULUMI], n=1, cutoff=0.7):
        suggestion = f"{close[0]}:{name}"
        return Message("FT-CFG-626", f"is not used by the project {project}", f"did you mean {suggestion}?")
    return Message("FT-CFG-627", f"is not used by the project {project}", "remove it")


def _sections() -> set[str]:
    return {field.alias or name for name, field in StackConfig.model_fields.items()}
