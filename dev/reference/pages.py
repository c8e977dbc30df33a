"""Generated pages of `docs/`, written by `make generate`: commands, configuration, moving in and policies, and the
tables of lockdown.

Commands come from their help, keys, types, defaults and descriptions from the models, flags from their table, and what
moves in from tests/compatibility.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import yaml

from dev.distribution import CONSTRAINTS, constraints
from dev.reference.commands import commands_page, pictures
from dev.reference.configuration import configuration_page
from dev.reference.dashboards import dashboards
from dev.reference.moving_in import moving_in_page
from dev.reference.policies import policies_page
from dev.reference.tables import listed, table
from flux_tenancy.components.installs.flux.lockdown_flags import (
    FORBIDDEN_FLAGS,
    LOCKDOWN_ENVIRONMENT,
    LOCKDOWN_FLAGS,
    LockdownFlag,
)
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.vocabulary.names import Controller

DOCS = Path(__file__).parents[2] / "docs"
TEMPLATE = DOCS.parent / "flux_tenancy" / "template"
MONITORING = DOCS.parent / "flux_tenancy" / "extensions" / "monitoring"

_LOCKDOWN_TABLE = (
    "<!-- `make generate` writes this table from flux_tenancy/components/installs/flux; change it there. -->"
)
"""Stands before each generated table of `docs/lockdown.md`."""
_RECORDED_TABLE = (
    "<!-- `make generate` writes this table from flux_tenancy/extensions/monitoring/rules.yaml; change it there. -->"
)


def lockdown_page() -> str:
    """`docs/lockdown.md` with the flags and variables of the multi-tenant profile. Its prose is written by hand."""
    flags = [
        (f"`{flag.argument}`{_flux_versions(flag)}", _controllers(flag.controllers), flag.purpose)
        for flag in LOCKDOWN_FLAGS
    ]
    refused = [(f"`--{name}`", reason) for name, reason in FORBIDDEN_FLAGS.items()]
    alike: dict[tuple[str, str], list[str]] = {}
    for each in LOCKDOWN_ENVIRONMENT:
        alike.setdefault((_controllers(each.controllers), each.hole), []).append(f"{each.name}={each.value}")
    variables = [(listed(names), controllers, hole) for (controllers, hole), names in alike.items()]
    tables = iter(
        [
            table(("Flag", "Controllers", "Without it a tenant could"), flags),
            table(("Flag", "Why not"), refused),
            table(("Variable", "Controllers", "Without it a tenant could"), variables),
        ]
    )
    page = (DOCS / "lockdown.md").read_text(encoding="utf-8")
    return re.sub(rf"(?<={_LOCKDOWN_TABLE}\n\n)(?:\|.*\n)+", lambda _: f"{next(tables)}\n", page)


def monitoring_page() -> str:
    """`docs/monitoring.md` with the series that the rules record. Its prose is written by hand."""
    rules = yaml.safe_load((MONITORING / "rules.yaml").read_text(encoding="utf-8"))
    rows = [(f"`{each['record']}`", each["series"], each["means"]) for each in rules["record"]]
    page = (DOCS / "monitoring.md").read_text(encoding="utf-8")
    written = table(("Recorded", "One series for each", "Value"), rows)
    return re.sub(rf"(?<={_RECORDED_TABLE}\n\n)(?:\|.*\n)+", lambda _: f"{written}\n", page)


def _flux_versions(flag: LockdownFlag) -> str:
    """The versions of Flux whose controllers get a flag, unless it is all reviewed ones."""
    held = [each for each in sorted(FLUX.minors) if flag.holds_for(".".join(map(str, each)))]
    first, last = (".".join(map(str, each)) for each in (held[0], held[-1]))
    if held[-1] == max(FLUX.minors):
        return "" if held[0] == min(FLUX.minors) else f" since Flux {first}"
    return f" in Flux {first}" if first == last else f" in Flux {first} to {last}"


def _controllers(controllers: Iterable[Controller]) -> str:
    missing = [controller.value for controller in Controller if controller not in set(controllers)]
    if len(missing) <= 1:
        return " but ".join(["all", *missing])
    return ", ".join(sorted(controller.value for controller in controllers))


def rendered() -> dict[Path, str]:
    """The content of each page, and of the template's constraints.txt."""
    return {
        DOCS / "commands.md": commands_page(),
        DOCS / "configuration.md": configuration_page(),
        DOCS / "lockdown.md": lockdown_page(),
        DOCS / "monitoring.md": monitoring_page(),
        DOCS / "moving-in.md": moving_in_page(),
        DOCS / "policies.md": policies_page(),
        TEMPLATE / CONSTRAINTS: constraints(),
        **{MONITORING / f"dashboard-{name}.json": text for name, text in dashboards().items()},
        **{DOCS / "images" / name: picture for name, picture in pictures().items()},
    }


if __name__ == "__main__":
    (DOCS / "images").mkdir(parents=True, exist_ok=True)
    for file, text in rendered().items():
        file.write_text(text, encoding="utf-8")
        print(file.relative_to(DOCS.parent))
