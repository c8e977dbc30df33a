"""The Pulumi project that a command works on: the folder in which it runs, or one above it."""

from __future__ import annotations

from pathlib import Path

from flux_tenancy.components.engine.project import PROJECT_FILE


def find_project(folder: Path | None = None) -> Path | None:
    """The nearest folder with a project's file, upwards from a folder, as `pulumi` looks for it; None if there is none.

    Args:
        folder: where to begin; the current folder by default.
    """
    start = (folder or Path.cwd()).absolute()
    return next((each for each in (start, *start.parents) if (each / PROJECT_FILE).is_file()), None)


def project_folder() -> Path:
    """The folder of the project.

    Raises:
        OperationError: the current folder is not in a project.
    """
    if (found := find_project()) is not None:
        return found
    from flux_tenancy.components.config.messages import Message
    from flux_tenancy.project.errors import OperationError

    raise OperationError(
        Message(
            "FT-CMD-001",
            f"there is no {PROJECT_FILE} in {Path.cwd()} or above it",
            "run the command in the folder of the project, or name that with `--cwd`",
        )
    )
