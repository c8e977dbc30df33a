"""Generated pages of `docs/`, written by `make generate`: commands, configuration, moving in, policies and errors, and
the tables of lockdown.

Commands come from their help, keys, types, defaults and descriptions from the models, flags from their table, errors
from messages, and what moves in from tests/compatibility.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from inspect import cleandoc
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, WithJsonSchema
from pydantic.fields import FieldInfo

from dev.distribution import CONSTRAINTS, constraints
from dev.reference.commands import commands_page, pictures
from dev.reference.moving_in import moving_in_page
from dev.reference.policies import policies_page
from flux_tenancy.components.config.passed import Passed
from flux_tenancy.components.config.section import Section, kind_of
from flux_tenancy.components.config.types import RESERVED_NAMES, RESERVED_PREFIXES
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.installs.flux.lockdown_environment import LOCKDOWN_ENVIRONMENT
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS, LockdownFlag
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.sources.config import Source
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.sync.decryption import Decryption
from flux_tenancy.components.sync.notifications import Notification
from flux_tenancy.components.sync.patches import Patch
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.namespaces import PROTECTED_LABEL_PREFIXES
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.operations.messages import read_messages

DOCS = Path(__file__).parents[2] / "docs"
TEMPLATE = DOCS.parent / "flux_tenancy" / "template"

_GENERATED = "<!-- Written by `make generate` from {source}; change it there. -->"
_LOCKDOWN_TABLE = (
    "<!-- `make generate` writes this table from flux_tenancy/components/installs/flux; change it there. -->"
)
"""Stands before each generated table of `docs/lockdown.md`."""
_SCALARS = {
    str: "string",
    bool: "true or false",
    int: "whole number",
    SecretStr: "secret string",
    Any: "any value",
}
_SYNC = "sync"
OF_SYNCS: Mapping[type[BaseModel], str] = {Patch: f"[a tenant's `{_SYNC}.patches`](#{_SYNC}patches)"}
"""Models that a tenant's `sync` shares with other syncs, with links to where they are described."""


def configuration_page() -> str:
    """`docs/configuration.md`: every key of the stack file and of the tenant file."""
    introduction = f"""
        {_GENERATED.format(source="flux_tenancy/components/stack/config.py")}

        # Configuration

        A stack is described by two kinds of files. Both are validated completely before anything is applied. Unknown
        keys are errors. Errors name their file and key: first all errors of the sections, then all errors between them.

        - `Pulumi.<stack>.yaml` describes one environment. The keys of [the first part](#the-stack-file) are below
          `config:`, and the first word of each has the project's name (`name` in `Pulumi.yaml`) as a prefix:
          `flux-tenancy:flux`. Any other key there is an error, except for Pulumi's own (`pulumi:…`).
          `pulumi config set --path` takes the keys as they are written here:
          `pulumi config set --path flux.profile single-tenant`. `--config-file` can name another file.
        - `tenants/<tenant>.yaml` is the base of a tenant, shared by all environments. It has the keys of
          [the second part](#the-tenant-file). A stack has the tenants that its `tenants` lists. Their entries
          there have the same keys and are merged over the base: mappings are merged key by key, and everything
          else, including lists, is replaced. `{{}}` uses the base unchanged. Required keys may be in either file.

        Values of the type secret belong only in the stack's file, encrypted by
        `pulumi config set --secret --path <key>`, which reads the value, or a file, from standard input. In plain text
        they are refused in both files, and no part of them is ever shown.

        Editors that support the first comment of these files complete and validate them with the schemas in
        `schemas/`. In the tables, `*` is a name, and `[]` is an entry of a list; on a command line, entries are counted
        from `[0]`.
        """
    names = f"""
        ## Names

        Names of tenants and namespaces are DNS labels. These names are reserved for the cluster's own components:
        {_listed(sorted(RESERVED_NAMES))} and all names that begin with {_listed(RESERVED_PREFIXES)}.

        Labels and annotations of a namespace are reserved for the platform if they begin with
        {_listed(PROTECTED_LABEL_PREFIXES)}.
        """
    stack = list(
        _sections(
            StackConfig,
            "",
            elsewhere={
                TenantConfig: "[the tenant file](#the-tenant-file)",
                GitSource: "[a tenant's `source`](#source)",
                **dict.fromkeys(get_args(get_args(Source)[0]), "[a tenant's `sources`](#the-tenant-file)"),
                Decryption: "[a tenant's `sync.decryption`](#syncdecryption)",
                Notification: "[a tenant's `notifications`](#notifications)",
                **OF_SYNCS,
            },
        )
    )
    parts = [
        cleandoc(introduction),
        "## The stack file",
        *stack,
        "## The tenant file",
        *_unlike(_sections(TenantConfig, "", elsewhere=OF_SYNCS), stack),
        cleandoc(names),
        "## Values",
        *_choices(),
    ]
    return "\n\n".join(parts) + "\n"


def _unlike(sections: Iterable[str], others: Iterable[str]) -> Iterator[str]:
    """Sections of the tenant file; those with the heading of a section of the stack file say whose they are."""
    taken = {section.partition("\n")[0] for section in others}
    for section in sections:
        heading, rest = section.split("\n", 1)
        yield f"{heading}{' of a tenant' if heading in taken else ''}\n{rest}"


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
            _table(("Flag", "Controllers", "Flux", "Without it a tenant could"), flags),
            _table(("Flag", "Why not"), refused),
            _table(("Variable", "Controllers", "Without it a tenant could"), variables),
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


_ERROR_TITLES = {
    "CAP": "Capsule",
    "CFG": "Configuration",
    "CMD": "Command line",
    "CLU": "Cluster",
    "ENG": "Pulumi",
    "FLX": "Flux",
    "GIT": "Git hosts",
    "ISO": "Isolation suite",
    "KYV": "Kyverno",
    "MSG": "Notifications",
    "OPS": "Commands",
    "POL": "Policies",
    "REV": "Reviews",
    "SRC": "Sources",
    "SYN": "Syncs",
    "TEN": "Tenants",
}


def errors_page() -> str:
    """`docs/errors.md`: the codes of all errors and warnings, by area."""
    introduction = f"""
        {_GENERATED.format(source="the messages in the source files")}

        # Errors

        Each error and warning says what is wrong and what to do, and ends with its code in parentheses, which does not
        change when the wording does. `flux-tenancy explain FT-CFG-602` prints the message of a code, and
        `flux-tenancy explain` those of all. [troubleshooting.md](troubleshooting.md) explains errors that take more
        than a line to solve.
        """
    areas: dict[str, list[str]] = {}
    for code in read_messages():
        areas.setdefault(code.split("-")[1], []).append(f'<a id="{code.lower()}"></a>{code}')
    parts = [cleandoc(introduction)]
    for area, codes in areas.items():
        parts += [f"## {_ERROR_TITLES.get(area, area)}", ",\n".join(codes)]
    return "\n\n".join(parts) + "\n"


def _controllers(controllers: Iterable[Controller]) -> str:
    return ", ".join(sorted(controller.value for controller in controllers))


def _sections(
    model: type[BaseModel], prefix: str, elsewhere: Mapping[type[BaseModel], str] = {}, of: str = ""
) -> Iterator[str]:
    """A table of the keys of `model`, then one for each nested model, except for those in `elsewhere`.

    Args:
        model: the model.
        prefix: key path of the model with a final dot, e.g. `flux.manifests.`; empty for a whole file.
        elsewhere: models that are described in another section, with a link to it.
        of: the kind of the source that the model belongs to, for its heading: kinds have sections of the same path.
    """
    of = f" of the kind {kind_of(model)}" if issubclass(model, Section) and kind_of(model) else of
    heading = f"### `{prefix.removesuffix('.')}`{of}\n\n" if prefix else ""
    rows = [_row(f"{prefix}{field.alias}", field, elsewhere) for field in model.model_fields.values()]
    yield f"{heading}{_meaning_of(model)}\n\n{_table(('Key', 'Type', 'Default', 'Meaning'), rows)}"
    for field in model.model_fields.values():
        for suffix, nested in _models_in(field.annotation):
            if nested not in elsewhere:
                path = f"{prefix}{field.alias}{suffix}"
                others = {model: link for model, link in elsewhere.items() if path != _SYNC or model not in OF_SYNCS}
                yield from _sections(nested, f"{path}.", others, of)


def _meaning_of(model: type[BaseModel]) -> str:
    """The docstring of a model, without the document that it follows, and what its further keys are."""
    meaning = re.sub(r"\s*Source: https:\S+", "", cleandoc(model.__doc__ or ""))
    return f"{meaning} {model.further_keys()}." if issubclass(model, Passed) else meaning


def _row(key: str, field: FieldInfo, elsewhere: Mapping[type[BaseModel], str]) -> tuple[str, ...]:
    links = [f" Keys: {elsewhere[model]}." for _, model in _models_in(field.annotation) if model in elsewhere]
    meaning = "".join([field.description or "", *dict.fromkeys(links)])
    return f"`{key}`", _type(field.rebuild_annotation()), _default(field), meaning


def _type(annotation: Any) -> str:
    """A type as users of YAML know it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        rules = [(rule.json_schema or {})["description"] for rule in arguments if isinstance(rule, WithJsonSchema)]
        return rules[-1] if rules else _type(arguments[0])
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(argument) for argument in arguments if argument is not NoneType))
    if origin is Literal:
        return " or ".join(f"`{argument}`" for argument in arguments)
    if origin is tuple:
        return f"list of {_type(_bare(arguments[0]))}"
    if origin is dict:
        return f"mapping of {_type(_bare(arguments[0]))} to {_type(_bare(arguments[1]))}"
    if issubclass(annotation, Enum):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    return _SCALARS.get(annotation, "mapping")


def _bare(annotation: Any) -> Any:
    """A type without the description of its format, which is too long inside another type."""
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value == () or value == {} or isinstance(value, BaseModel):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return _listed(value) if isinstance(value, tuple) else f"`{value}`"


def _models_in(annotation: Any) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models inside an annotation, each with the suffix of its key path after the field's name."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        yield from ((f"[]{suffix}", model) for suffix, model in _models_in(arguments[0]))
    elif origin is dict:
        yield from ((f".*{suffix}", model) for suffix, model in _models_in(arguments[1]))
    elif origin is Annotated:
        yield from _models_in(arguments[0])
    elif origin in (Union, UnionType):
        yield from (found for argument in arguments for found in _models_in(argument))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield "", annotation


def _choices() -> Iterator[str]:
    """A section for each enumeration of the models, in the order of their first use."""
    for choice in dict.fromkeys(_enums_in(StackConfig)):
        yield f"### {choice.__name__}\n\n{cleandoc(choice.__doc__ or '')}\n\n{_listed(choice)}"


def _enums_in(annotation: Any) -> Iterator[type[Enum]]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield annotation
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from _enums_in(field.annotation)
    else:
        for argument in get_args(annotation):
            yield from _enums_in(argument)


def _listed(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table. A bar in a cell is escaped, since it would begin the next cell."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rendered() -> dict[Path, str]:
    """The content of each page, and of the template's constraints.txt."""
    return {
        DOCS / "commands.md": commands_page(),
        DOCS / "configuration.md": configuration_page(),
        DOCS / "errors.md": errors_page(),
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
