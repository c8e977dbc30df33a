"""Renders stacks by the program of any version of the project, and writes them as JSON; `rendering.py` runs it.

    python -P …/review/versions/render_process.py <program's folder> <project's folder> <file to write> <stack>…

It imports nothing before it knows which program to import from; an empty folder stands for the installed one.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path


def main(program: str, project: str, file: str, *stacks: str) -> None:
    """Render the stacks; what is wrong with one is written in its place."""
    if program:
        sys.path.insert(0, program)
    errors = import_module("flux_tenancy.components.config.errors")
    module = import_module("flux_tenancy.review.render.stack")
    # What is installed is for the working tree, so it is not compared with what the earlier files require.
    render_stack = getattr(module, "rendered_files", module.render_stack)

    found: dict[str, object] = {}
    for stack in stacks:
        try:
            rendered = render_stack(Path(project), stack)
        except errors.ConfigurationError as error:
            found[stack] = {"problems": [str(problem) for problem in error.problems]}
        else:
            found[stack] = {
                "objects": [
                    [each.owner, each.type, each.resource, each.manifest, each.protected] for each in rendered.objects
                ],
                "facts": getattr(rendered, "facts", None),
            }
    Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
