"""Values of variables of `make`, checked by the types that they have in the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from pydantic import TypeAdapter, ValidationError

from components.config.errors import Problem
from components.config.types import NamespaceName, RepositoryPath, TenantName
from components.git.config import GitHubRepositoryName, GitReference, GitUrl
from components.stack.files.validation_errors import message
from operations.errors import invalid

_TYPES: Mapping[str, TypeAdapter[str]] = {
    "NEW": TypeAdapter(TenantName),
    "REPO": TypeAdapter(GitUrl),
    "NAMESPACE": TypeAdapter(NamespaceName),
    "GITHUB": TypeAdapter(GitHubRepositoryName),
    "BRANCH": TypeAdapter(GitReference),
    "FOLDER": TypeAdapter(RepositoryPath),
}


def value_checks(given: Mapping[str, str | Sequence[str]]) -> Iterator[Callable[[], None]]:
    """A check of each value for `run_all`; empty ones have not been given.

    Args:
        given: by variable, its value, or several.
    """
    for variable, values in given.items():
        for value in (values,) if isinstance(values, str) else values:
            if value:
                yield partial(_check, variable, value)


def canonical(variable: str, value: object) -> object:
    """A value as the program writes it to the cluster; one that it would refuse stays as it is."""
    try:
        return _TYPES[variable].validate_python(value)
    except ValidationError:
        return value


def _check(variable: str, value: str) -> None:
    try:
        _TYPES[variable].validate_python(value)
    except ValidationError as error:
        raise invalid(Problem(variable, "", message(error.errors()[0], show_input=True))) from None
