"""Golden files: what users, reviewers and clusters get, word for word. `make generate` writes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import yaml

GOLDEN = Path(__file__).parents[1] / "golden"


def assert_golden(name: str, found: Any) -> None:
    """Compare with a golden file; with GOLDEN=write in the environment, write it first.

    Args:
        name: name of the file in `tests/golden`.
        found: text, or data in YAML, where a list is one document for each item. The comment at the top stays.
    """
    path = GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(found if isinstance(found, str) else _comment(path) + _as_yaml(found), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    if isinstance(found, str):
        differing = unified_diff(text.splitlines(), found.splitlines(), name, "now", lineterm="", n=1)
        assert found == text, "\n".join(["run `make generate` and review the difference:", *differing])
    elif isinstance(found, list):
        assert found == list(yaml.safe_load_all(text)), f"{name}: run `make generate` and review the difference"
    else:
        assert found == yaml.safe_load(text), f"{name}: run `make generate` and review the difference"


def differing(found: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from the usual, for a golden file of several configurations; None is what only the usual has."""
    return {key: found.get(key) for key in {**usual, **found} if found.get(key) != usual.get(key)}


def _comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    first = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(lines[:first])


def _as_yaml(found: Any) -> str:
    if isinstance(found, list):
        return yaml.safe_dump_all(found, width=120, sort_keys=False)
    return yaml.safe_dump(found, width=120, sort_keys=False)
