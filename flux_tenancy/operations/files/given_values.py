"""Values of options, checked by the types that they have in the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pydantic import TypeAdapter, ValidationError

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.types import NamespaceName, RepositoryPath, TenantName
from flux_tenancy.components.git.config import GitHubRepositoryName, GitReference, GitUrl
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.project.errors import invalid

_TYPES: Mapping[str, TypeAdapter[str]] = {
    "TENANT": TypeAdapter(TenantName),
    "--repo": TypeAdapter(GitUrl),
    "--namespace": TypeAdapter(NamespaceName),
    "--github": TypeAdapter(GitHubRepositoryName),
    "--branch": TypeAdapter(GitReference),
    "--folder": TypeAdapter(RepositoryPath),
}


def value_checks(given: Mapping[str, str | Sequence[str]]) -> Iterator[Callable[[], None]]:
    """A check of each value for `run_all`; empty ones have not been given.

    Args:
        given: by option, its value, or several.
    """
    for option, values in given.items():
        for value in (values,) if isinstance(values, str) else values:
            if value:
                yield partial(_check, option, value)


def canonical(option: str, value: object) -> object:
    """A value as the program writes it to the cluster; one that it would refuse stays as it is."""
    try:
        return _TYPES[option].validate_python(value)
    except ValidationError:
        return value


def _check(option: str, value: str) -> None:
    try:
        _TYPES[option].validate_python(value)
    except ValidationError as error:
        raise invalid(Problem(option, "", message(error.errors()[0], show_input=True))) from None
