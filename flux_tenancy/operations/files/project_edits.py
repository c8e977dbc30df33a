"""Changes to files of the project that are checked as a whole: all of them are made, or none."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from flux_tenancy.components.config.errors import ConfigurationError, Problem, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.types import NamespaceName, RepositoryPath, TenantName
from flux_tenancy.components.git.config import GitHubRepositoryName, GitReference, GitUrl
from flux_tenancy.components.stack.files.project import stack_file_name
from flux_tenancy.components.stack.files.stack_file import section_of
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.components.stack.loading import load_offline
from flux_tenancy.operations.files.yaml_edits import Keys, NotEditable, with_value, without
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig
from flux_tenancy.project.described_stack import described_file, described_project
from flux_tenancy.project.errors import OperationError, invalid, run_all, writing

# Entries of tenants stay, even if they are empty.
_TENANT_DEPTH = 3


class ProjectEdits:
    """Changes to stack files and to base files of tenants, which `apply` writes."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self._before: dict[Path, str | None] = {}
        self._after: dict[Path, str] = {}

    def create(self, name: str, text: str) -> None:
        """Add a file, relative to the project's folder."""
        path = self.project / name
        self._before[path], self._after[path] = None, text

    def set(self, stack: str, path: Keys, value: Any) -> None:
        """Set a value of a stack, at a path such as `("tenants", "shop", "state")`.

        Raises:
            OperationError: the stack does not exist, or its file cannot be changed in this place alone.
        """
        self._edit(stack, path, partial(with_value, value=value))

    def remove(self, stack: str, path: Keys) -> None:
        """Remove a tenant of a stack, or a value of one, if it is there.

        Raises:
            OperationError: the stack does not exist, or its file cannot be changed in this place alone.
        """
        self._edit(stack, path, partial(without, at_least=_TENANT_DEPTH))

    def set_secret(self, stack: str, path: Keys, value: str) -> None:
        """Encrypt a value and set it, with the keys of Pulumi that decrypt it.

        Raises:
            OperationError: the stack does not exist, its file cannot be changed in these places alone, or Pulumi cannot
                encrypt the value.
        """
        encrypted = PulumiConfig(stack, self.project).encrypted(value)
        self.set(stack, path, dict(encrypted.value))
        file, text = self._text(stack)
        for key, each in encrypted.provider.items():
            text = self._edited(stack, (key,), text, partial(with_value, value=each), (key,))
        self._after[file] = text

    def diff(self) -> str:
        """The changes as a unified diff; empty if there are none."""
        lines: list[str] = []
        for path, after in self._after.items():
            before, name = self._before[path], str(path.relative_to(self.project))
            old, new = (before or "").splitlines(keepends=True), after.splitlines(keepends=True)
            lines += difflib.unified_diff(old, new, "/dev/null" if before is None else f"a/{name}", f"b/{name}", n=1)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def apply(self, stacks: Iterable[str] = ()) -> None:
        """Write the files and check these stacks as a whole; if that fails, every file is as before.

        Args:
            stacks: names of the stacks; none by default, since a stack may lack what the change does not concern.

        Raises:
            OperationError: somebody else has written one of the files meanwhile, a stack would not be valid, or a file
                cannot be written.
        """
        run_all(partial(_check_unchanged, path, before) for path, before in self._before.items())
        try:
            for path, text in self._after.items():
                _write(path, text)
            run_all(partial(self._check, stack) for stack in stacks)
        except BaseException:
            for path, before in self._before.items():
                if before is None:
                    path.unlink(missing_ok=True)
                else:
                    _write(path, before)
            raise

    def _check(self, stack: str) -> None:
        try:
            load_offline(stack, self.project)
        except ConfigurationError as error:
            raise invalid(*error.problems) from None

    def _edit(self, stack: str, path: Keys, change: Any) -> None:
        file, text = self._text(stack)
        section, *below = path
        project = described_project(self.project).name
        try:
            keys = yaml.safe_load(text).get("config") or {}
        except (yaml.YAMLError, AttributeError):
            keys = {}
        # Keys may have the name of the project in front, in two spellings.
        key = next((key for key in keys if section_of(str(key), project) == section), f"{project}:{section}")
        self._after[file] = self._edited(stack, path, text, change, ("config", str(key), *below))

    def _edited(self, stack: str, shown: Keys, text: str, change: Any, path: Keys) -> str:
        try:
            edited: str = change(text, path)
        except NotEditable:
            raise OperationError(
                Message(
                    "FT-OPS-300",
                    f"{stack_file_name(stack)}: {dotted(shown)} cannot be changed without changing other lines",
                    "edit the file by hand, or write this part without anchors, aliases and mixed line ends",
                )
            ) from None
        return edited

    def _text(self, stack: str) -> tuple[Path, str]:
        described_file(stack, self.project)
        path = described_project(self.project).stack_folder / stack_file_name(stack)
        if path not in self._before:
            self._before[path] = self._after[path] = _read(path)
        return path, self._after[path]


def _check_unchanged(path: Path, before: str | None) -> None:
    """Check that a file is as it was read, or still missing: a command may take minutes until it writes."""
    is_unchanged = not path.exists() if before is None else _read(path) == before
    if not is_unchanged:
        raise OperationError(
            Message(
                "FT-OPS-317", f"somebody else has written {path.name} while the command ran", "run the command again"
            )
        )


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", newline="") as opened:
            return opened.read()
    except (OSError, UnicodeDecodeError) as error:
        raise OperationError(
            Message("FT-OPS-301", f"{path.name} cannot be read: {error}", "correct it and run the command again")
        ) from None


def _write(path: Path, text: str) -> None:
    """Write a file, which has the whole text or is as before: a full disk must not cut off a stack's secrets."""
    target = path.resolve()  # A symbolic link stays one.
    new = target.with_name(f".{target.name}.new")
    with writing(path, "correct it, and run the command again"):
        try:
            path.parent.mkdir(exist_ok=True)
            with new.open("w", encoding="utf-8", newline="") as opened:
                opened.write(text)
            if target.exists():
                shutil.copymode(target, new)
            new.replace(target)
        except OSError:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise


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


def _check(option: str, value: str) -> None:
    try:
        _TYPES[option].validate_python(value)
    except ValidationError as error:
        raise invalid(Problem(option, "", message(error.errors()[0], show_input=True))) from None
