"""The page for a team that moves in, from the shapes of tests/compatibility, which a test of the engine evaluates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import FastLoader

SHAPES = Path(__file__).parents[2] / "tests" / "compatibility"

_OPENING = "opening.yaml"
_SHORTENED = (
    ('(cannot patch resource) "[^"]*"', r"\1 …"),
    (r"(spec\.url) \S+ (is not an allowed source) .*", r"\1 … \2"),
    (r"\w+ (objects are not open to tenant team) .*", r"… \1"),
)
"""Messages of many objects, and how the page has them."""
_TEAMS = {
    "application": "Applications with kinds of Kubernetes and Helm charts",
    "flux": "Further kinds of Flux",
    "operators": "Kinds of operators",
    "platform": "Repositories of a platform",
    "team": "Whole repositories of teams",
}


@dataclass(frozen=True)
class Change:
    """What a team changes in an object that stays refused.

    Attributes:
        message: a part of the message that it reads.
        instead: what to write, or who does it.
    """

    message: str
    instead: str


@dataclass(frozen=True)
class Shape:
    """The objects of one kind of repository, and what becomes of them.

    Attributes:
        name: its folder.
        title: what such a repository has.
        team: a key of `_TEAMS`.
        source: the public project whose form it has.
        seen: when that was read.
        objects: its objects.
        opening: sections of the stack (`stack`) and keys of the tenant (`tenant`) that accept more of them.
        opened: a part of the message by the object that the opening accepts.
        fails: the message by the object whose Pods start only with the opening.
        refused: what to change, by the object that stays refused.
        configured: the objects of `opened` that a configured platform accepts.
        narrowed: what to change, by the object that a new project accepts and a configured platform refuses.
        note: why a new project does not have the opening, or another way.
    """

    name: str
    title: str
    team: str
    source: str
    seen: str
    objects: Mapping[str, dict[str, Any]]
    opening: Mapping[str, Any]
    opened: Mapping[str, str]
    fails: Mapping[str, str]
    refused: Mapping[str, Change]
    configured: tuple[str, ...]
    narrowed: Mapping[str, Change]
    note: str

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """How many objects are accepted at once by a new project and by a configured platform.

        Then how many a new project accepts with the opening, and after a change.
        """
        opened, refused = len(self.opened) + len(self.fails), len(self.refused)
        at_once = len(self.objects) - opened - refused
        return at_once, at_once + len(self.configured) - len(self.narrowed), opened, refused


def read_shapes() -> list[Shape]:
    """All shapes, in the order of their list."""
    return [_shape(entry) for entry in _read(SHAPES / "shapes.yaml")]


def platform_settings() -> dict[str, Any]:
    """The sections of the stack of a configured platform, in addition to those of a new project."""
    found: dict[str, Any] = _read(SHAPES / "platform.yaml")
    return found


def table(shapes: Sequence[Shape]) -> list[str]:
    """How many objects are accepted at once, with a setting, and after a change: by shape, and in sum by team."""
    head = [
        "| | At once | Configured platform | With a setting | Refused on purpose |",
        "| --- | --- | --- | --- | --- |",
    ]
    rows = [_row(_title(each), [each]) for each in shapes]
    teams = [_row(f"**{title}**", [each for each in shapes if each.team == team]) for team, title in _TEAMS.items()]
    return [*head, *rows, *teams]


def moving_in_page() -> str:
    """`docs/moving-in.md`."""
    introduction = """
        <!-- Written by `make generate` from tests/compatibility/; change it there. -->

        # Before you move in

        This page shows what a team must change in its repository before a platform applies it, for {number} shapes of
        repositories. Most have the form of public projects, which `tests/compatibility/shapes.yaml` lists. A test
        evaluates each object for a new tenant `team` of a [new project](install.md#the-files), with its role, its
        quotas, and Pod Security `restricted`.

        - *At once*: the object is accepted as it is.
        - *Configured platform*: the same, once the platform team has listed the data of its cluster [for all
          tenants](#a-configured-platform), before the first team moves in.
        - *With a setting*: the object is accepted with the lines that follow its message. The platform team adds them;
          the keys of the tenant may also be in [its file](configuration.md#the-tenant-file).
        - *Refused on purpose*: no setting accepts the object. Its message is followed by the reason, and by what to
          write instead.

        Messages are shortened; [the tenant guide](tenant-guide.md#why-was-i-refused) explains them.

        What Pod Security requires and a Pod leaves out, a new project fills in (`policies.podDefaults`). An image that
        runs as root, or names its user without a number, then does not start: set `runAsUser` to a user that it can run
        as, or ask for `podSecurity: baseline` of the namespace. In a project without the setting, add [the
        fields](tenant-guide.md#deploy-something).

        The table counts objects. Shapes without a link need no change.
        """
    shapes = read_shapes()
    parts = [cleandoc(introduction).format(number=len(shapes)), "\n".join(table(shapes)), _configured_platform()]
    return "\n\n".join([*parts, *(_section(each) for each in shapes if _has_section(each))]) + "\n"


def _configured_platform() -> str:
    meaning = """
        ## A configured platform

        A platform team writes these lines once, with its own values. They allow the chart repositories, the CSI driver
        and the priority class of the platform, and routes, whose hosts are checked. The lists of hosts, images and
        storage classes accept less than a new project, which has none.
        """
    return f"{cleandoc(meaning)}\n\n{_yaml({'stack': platform_settings()})}"


def _has_section(shape: Shape) -> bool:
    """Whether a team or its platform has to change anything."""
    return bool(shape.opening or shape.refused or shape.narrowed)


def _title(shape: Shape) -> str:
    return f"[{shape.title}](#{_anchor(shape.title)})" if _has_section(shape) else shape.title


def _section(shape: Shape) -> str:
    parts = [f"## {shape.title}"]
    if shape.opening:
        entries = _entries((name, message, "") for name, message in {**shape.opened, **shape.fails}.items())
        parts += ["With a setting:", entries, _yaml(shape.opening)]
    if shape.note:
        parts.append(shape.note)
    for title, changes in (
        ("Refused on purpose", shape.refused),
        ("Refused on a configured platform", shape.narrowed),
    ):
        if changes:
            parts += [f"{title}:", _entries((name, each.message, each.instead) for name, each in changes.items())]
    return "\n\n".join(parts)


def _yaml(opening: Mapping[str, Any]) -> str:
    settings = yaml.dump(_settings(opening), sort_keys=False, width=110, default_flow_style=None).strip()
    return f"```yaml\n{settings}\n```"


def _entries(changes: Iterable[tuple[str, str, str]]) -> str:
    """A list of objects, their message and what to write instead; one entry for all that have the same."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, message, instead in changes:
        alike.setdefault((_shown(message), instead[:1].upper() + instead[1:]), []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(names)}: {'. '.join(filter(None, ends))}" for ends, names in alike.items())


def _shown(message: str) -> str:
    """A message without what differs between objects of one cause, and without the setting that follows it."""
    for pattern, shown in _SHORTENED:
        message = re.sub(pattern, shown, message)
    return f"`{message}`"


def _settings(opening: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{f"flux-tenancy:{section}": value for section, value in opening.get("stack", {}).items()},
        **({"flux-tenancy:tenants": {"team": opening["tenant"]}} if "tenant" in opening else {}),
    }


def _row(title: str, shapes: Sequence[Shape]) -> str:
    sums = (str(sum(column)) for column in zip(*(each.counts for each in shapes), strict=True))
    return f"| {title} | {' | '.join(sums)} |"


def _anchor(title: str) -> str:
    return "".join(each for each in title.lower().replace(" ", "-") if each.isalnum() or each == "-")


def _shape(entry: dict[str, Any]) -> Shape:
    folder = SHAPES / entry["name"]
    manifests = list(yaml.load_all((folder / "objects.yaml").read_text(), FastLoader))
    objects = dict(_named(manifests))
    if len(objects) != len(manifests):
        raise ValueError(f"{folder.name}: two objects have one name")
    opening = _read(folder / _OPENING) if (folder / _OPENING).exists() else {}
    refused, narrowed = (
        {name: Change(**change) for name, change in entry.pop(key, {}).items()} for key in ("refused", "narrowed")
    )
    defaults = {"opened": {}, "fails": {}, "configured": (), "note": ""}
    return Shape(**defaults | entry, objects=objects, opening=opening, refused=refused, narrowed=narrowed)


def _named(manifests: Sequence[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for each in manifests:
        namespace = each["metadata"].get("namespace", "team")
        name = "/".join([each["kind"], *([namespace] if namespace != "team" else []), each["metadata"]["name"]])
        yield name, each


def _read(file: Path) -> Any:
    return yaml.load(file.read_text(), FastLoader)
