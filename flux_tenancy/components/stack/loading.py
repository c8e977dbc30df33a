"""From the files of the project to one checked StackConfig, with the secrets from Pulumi or stand-ins for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime.config import CONFIG, is_config_secret
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from flux_tenancy.components.config.errors import ConfigurationError, KeyPath, MisplacedValueError, Problem, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.engine.pulumi_command import ConfigFile, config_file
from flux_tenancy.components.keys.known_hosts import read_known_hosts
from flux_tenancy.components.stack.checks.sections import cross_check
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import Origins, read_project_file
from flux_tenancy.components.stack.files.secrets import (
    SecretValues,
    exposed,
    holds_a_secret,
    sealed,
    sealing,
    sops_values,
)
from flux_tenancy.components.stack.files.stack_file import (
    ADDED,
    CHANGED,
    MISSING,
    StackFile,
    read_stack_file,
    structured,
)
from flux_tenancy.components.stack.files.tenant_files import MergedTenant, read_tenant
from flux_tenancy.components.stack.files.validation_errors import KEY, message, path_of, value_of


def load_stack(
    stack: str, values: Mapping[str, str], secret_keys: Collection[str], project: Path, file: StackFile | None = None
) -> StackConfig:
    """Read, merge and check the configuration of one stack as a whole.

    Args:
        values: the project's configuration as Pulumi has it: key without namespace -> text or JSON.
        secret_keys: those of `values` that are or contain a secret; no part of a secret is ever shown.
        project: folder of the Pulumi project, which contains `tenants/`.
        file: the file with the values, which errors name; None for the stack's own in that folder.

    Raises:
        ConfigurationError: with all errors of the stack, each with its file and path.
    """
    file = file or read_stack_file(stack, read_project_file(project))
    sections = {key: structured(value) for key, value in values.items()}
    differences = [difference(path, how, file.name) for path, how in file.differences(sections)]
    return load_sections(sections, secret_keys, project, file, differences=differences)


def load_offline(stack: str, project: Path, compare: bool = True) -> tuple[StackConfig, StackFile]:
    """As `load_stack`, without passphrase and credentials, for those who review it; returns the stack's file, too.

    Encrypted values stay encrypted; stand-ins take their places (`components.config.types`).

    Args:
        project: folder of the Pulumi project, which contains `tenants/`.
        compare: whether to check across sections; what was applied stays readable, e.g. after a grant has expired.

    Raises:
        ConfigurationError: as `load_stack`, or a value is encrypted that is not a secret.
    """
    file = read_stack_file(stack, read_project_file(project))
    problems = [*file.unreadable]
    seal = sealing(file.content)
    sections = {key: sealed(value, (key,), seal, file.name, problems) for key, value in file.merged.items()}
    if problems:
        raise ConfigurationError(problems)
    return load_sections(sections, file.sections.keys(), project, file, compare=compare), file


def load_sections(
    sections: dict[str, Any],
    secret_keys: Collection[str],
    project: Path,
    file: StackFile,
    differences: Iterable[Problem] = (),
    compare: bool = True,
) -> StackConfig:
    """Merge and check the configuration of one stack as a whole.

    Args:
        sections: its values by top-level key, as nested data.
        project: folder of the Pulumi project, which contains `tenants/`.
        compare: whether to check across sections.

    Raises:
        ConfigurationError: with all errors of the sections, each with its file and path; if every section is valid,
            with all errors between sections.
    """
    stack_file = file.name
    merged, problems = _tenants(sections.get("tenants"), stack_file, project)
    problems += [*file.problems, *differences]
    if isinstance(sections.get("tenants"), Mapping):
        sections["tenants"] = {name: tenant.value for name, tenant in merged.items()}
    origins = Origins(stack_file, merged)
    secrets = SecretValues(secret_keys, file)

    misplaced = _once(sops_values(sections, origins) + exposed(sections, secrets, origins))
    known_hosts, unreadable = read_known_hosts(sections.get("git"), stack_file, project)
    problems += misplaced + unreadable
    try:
        config = StackConfig.model_validate(sections)
    except ValidationError as error:
        found = [_problem(details, origins, secrets) for details in error.errors(include_url=False)]
        places = {(problem.file, problem.path) for problem in misplaced}
        problems += [each for each in found if each is not None and (each.file, each.path) not in places]
    if problems:
        raise ConfigurationError(problems)
    git = config.git.model_copy(update={"known_hosts": config.git.known_hosts + known_hosts})
    config = config.model_copy(update={"git": git}).with_shared_sources().with_counts()
    if compare and (problems := cross_check(config, origins)):
        raise ConfigurationError(problems)
    config.came_from_files(origins)
    return config


def difference(path: KeyPath, how: str, file: str) -> Problem:
    """A value that Pulumi passed and a review cannot know, or the other way round."""
    text = {
        ADDED: "is set by Pulumi, but in no file that a review reads",
        CHANGED: "does not match what Pulumi read",
        MISSING: "is written here, but Pulumi did not read it",
    }[how]
    return Problem(
        file,
        dotted(path),
        Message(
            "FT-CFG-620",
            f"{text}: another file, an older version of this one, or a value that YAML parsers read in different ways",
            "keep all values in this file and put quotes around texts, or run the command again, if necessary without "
            "`--config-file`",
        ),
    )


def _once(problems: Sequence[Problem]) -> list[Problem]:
    """The first problem of each value; one that has to be replaced needs no second remark."""
    return list({(problem.file, problem.path): problem for problem in reversed(problems)}.values())


def _tenants(entries: Any, stack_file: str, project: Path) -> tuple[dict[str, MergedTenant], list[Problem]]:
    """The tenants that the stack lists, each merged over its base, and what is wrong with others."""
    merged: dict[str, MergedTenant] = {}
    problems = []
    for name, entry in entries.items() if isinstance(entries, Mapping) else ():
        tenant = read_tenant(name, entry, stack_file, project)
        if isinstance(tenant, Problem):
            problems.append(tenant)
        else:
            merged[name] = tenant
    return merged, problems


def _problem(error: ErrorDetails, origins: Origins, secrets: SecretValues) -> Problem | None:
    """An error of the models as a problem of a file; None for one that only follows from others."""
    path = path_of(error)
    if error["type"] == "too_short" and error["input"]:
        return None  # The list counts as too short only because its items have errors.
    reason = error.get("ctx", {}).get("error")
    if isinstance(reason, MisplacedValueError):
        path += reason.path
    value = value_of(error)
    hidden = not origins.is_in_base(path) and secrets.hides(path, value)
    hidden = hidden or (isinstance(value, str) and holds_a_secret(path))
    written = tuple(part for part in path if part != KEY)
    return origins.problem(written, message(error, show_input=not hidden))


def stack_file(project: Path, read: ConfigFile | None = None) -> StackFile:
    """The file of the current stack.

    Args:
        read: the file that Pulumi has read; None finds out from the command that runs the program.

    Raises:
        ConfigurationError: `Pulumi.yaml` cannot be read.
    """
    read = read or config_file()
    return read_stack_file(pulumi.get_stack(), read_project_file(project), read.given, read.known)


def read_stack(project: Path, file: StackFile) -> StackConfig:
    """Read the configuration of the current stack.

    `pulumi.Config` only reads keys by name. Unknown keys are errors here, so all of them are read.

    Raises:
        ConfigurationError: with every problem of the stack.
    """
    prefix = f"{pulumi.get_project()}:"
    values = {key.removeprefix(prefix): value for key, value in CONFIG.get().items() if key.startswith(prefix)}
    secret_keys = {key for key in values if is_config_secret(prefix + key)}
    foreign = {key for key in CONFIG.get() if not key.startswith(prefix)} - file.others
    if foreign and not file.imports:
        raise ConfigurationError([difference((key,), ADDED, file.name) for key in sorted(foreign)])
    return load_stack(pulumi.get_stack(), values, secret_keys, project, file)
