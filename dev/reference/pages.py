"""Generated pages of `docs/`, written by `make generate`: commands, configuration, moving in and policies, and the
tables of lockdown.

Commands come from their help, keys, types, defaults and descriptions from the models, flags from their table, and what
moves in from tests/compatibility.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from dev.distribution import CONSTRAINTS, constraints
from dev.reference.commands import commands_page, pictures
from dev.reference.configuration import configuration_page
from dev.reference.moving_in import moving_in_page
from dev.reference.policies import policies_page
from dev.reference.tables import table
from flux_tenancy.components.installs.flux.lockdown_environment import LOCKDOWN_ENVIRONMENT
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS, LockdownFlag
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.vocabulary.names import Controller

DOCS = Path(__file__).parents[2] / "docs"
TEMPLATE = DOCS.parent / "flux_tenancy" / "template"

_LOCKDOWN_TABLE = (
    "<!-- `make generate` writes this table from flux_tenancy/components/installs/flux; change it there. -->"
)
"""Stands before each generated table of `docs/lockdown.md`."""


def lockdown_page() -> str:
    """`docs/lockdown.md` with the flags and variables of the multi-tenant profile. Its prose is written by hand."""
    flags = [
        (f"`{flag.argument}`", _controllers(flag.controllers), _flux_versions(flag), flag.purpose)
        for flag in LOCKDOWN_FLAGS
    ]
    refused = [(f"`--{name}`", reason) for name, reason in FORBIDDEN_FLAGS.items()]
    variables = [
        (f"`{each.name}={each.value}`", _controllers(each.controllers), each.hole) for each in LOCKDOWN_ENVIRONMENT
    ]
    tables = iter(
        [
            table(("Flag", "Controllers", "Flux", "Without it a tenant could"), flags),
            table(("Flag", "Why not"), refused),
            table(("Variable", "Controllers", "Without it a tenant could"), variables),
        ]
    )
    page = (DOCS / "lockdown.md").read_text(encoding="utf-8")
    return re.sub(rf"(?<={_LOCKDOWN_TABLE}\n\n)(?:\|.*\n)+", lambda _: f"{next(tables)}\n", page)


def _flux_versions(flag: LockdownFlag) -> str:
    """The versions of Flux whose controllers get a flag: an interval of the reviewed ones."""
    held = [each for each in sorted(FLUX.minors) if flag.holds_for(".".join(map(str, each)))]
    first, last = (".".join(map(str, each)) for each in (held[0], held[-1]))
    if held[-1] == max(FLUX.minors):
        return f"since {first}"
    return first if first == last else f"{first} to {last}"


def _controllers(controllers: Iterable[Controller]) -> str:
    return ", ".join(sorted(controller.value for controller in controllers))


def rendered() -> dict[Path, str]:
    """The content of each page, and of the template's constraints.txt."""
    return {
        DOCS / "commands.md": commands_page(),
        DOCS / "configuration.md": configuration_page(),
        DOCS / "lockdown.md": lockdown_page(),
        DOCS / "moving-in.md": moving_in_page(),
        DOCS / "policies.md": policies_page(),
        TEMPLATE / CONSTRAINTS: constraints(),
        **{DOCS / "images" / name: picture for name, picture in pictures().items()},
    }


if __name__ == "__main__":
    (DOCS / "images").mkdir(parents=True, exist_ok=True)
    for file, text in rendered().items():
        file.write_text(text, encoding="utf-8")
        print(file.relative_to(DOCS.parent))
