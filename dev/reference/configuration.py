"""`docs/configuration.md`, from the models of the stack file and of the tenant file.

A model is described once; every other key of the model leads there. A model with few keys is part of the table of the
key that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr, WithJsonSchema
from pydantic.fields import FieldInfo

from dev.reference.tables import listed, table
from flux_tenancy.components.config.section import Passed, Section, kind_of
from flux_tenancy.components.config.types import RESERVED_NAMES, RESERVED_PREFIXES
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.sources.config import Source
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.tenant.config import TenantConfig
from flux_tenancy.components.tenant.namespaces import PROTECTED_LABEL_PREFIXES

_SCALARS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    SecretStr: "secret string",
    Any: "any value",
}
_FEW = 5
"""A model with at most so many keys has no section of its own, nor has an enumeration with so many values."""
_TELLING = 18
"""A docstring with more words says more than the description of the key that has the model."""
_ALIKE = 3
"""Sections that share so many keys do not repeat them."""


class _Row(NamedTuple):
    kind: str
    meaning: str
    models: tuple[type[BaseModel], ...]


class _Reference:
    """The sections of both files, in the order in which they are described."""

    def __init__(self) -> None:
        sources = "[a tenant's `sources`](#the-tenant-file)"
        self._links: dict[type[BaseModel], str] = {}
        self._of_stack: dict[type[BaseModel], str] = {
            TenantConfig: "[the tenant file](#the-tenant-file)",
            **dict.fromkeys(get_args(get_args(Source)[0]), sources),
        }
        self._described: list[tuple[str, dict[str, _Row]]] = []
        self.formats: dict[str, str] = {}
        self.tenant = list(self._sections(TenantConfig, "", owner="a tenant's "))
        self._links |= self._of_stack
        self.stack = list(self._sections(StackConfig, "", owner=""))

    def _sections(self, model: type[BaseModel], prefix: str, owner: str, of: str = "") -> Iterator[str]:
        """A list of the keys of `model`, then one for each nested model with many keys.

        Args:
            model: the model.
            prefix: key path of the model with a final dot, e.g. `flux.manifests.`; empty for a whole file.
            owner: whose file it is, in the words of a link.
            of: the kind of the source that the model belongs to, for its heading: kinds have sections of the same path.
        """
        title, link = self._named(model, prefix, owner, of)
        self._links[model] = link
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        own = {name: self._row(field) for name, field in fields.items()}
        like, shared = self._alike(own)
        self._described.append((link, own))
        rows: list[tuple[str, ...]] = []
        below: list[tuple[type[BaseModel], str]] = []
        for name, field in fields.items():
            if name not in shared:
                self._add(rows, below, f"{prefix}{name}", field, link, owner, of)
        heading = f"### {title}" if prefix else ""
        also = f"Also, as in {like}: {listed(shared)}." if shared else ""
        yield "\n\n".join(filter(None, (heading, _further(model), also, _list(rows))))
        for nested, where in below:
            yield from self._sections(nested, f"{where}.", owner, of)

    def _named(self, model: type[BaseModel], prefix: str, owner: str, of: str) -> tuple[str, str]:
        """The title of the section of a model, and a link to it."""
        if not prefix:
            return "", "[the tenant file](#the-tenant-file)" if owner else "[the stack file](#the-stack-file)"
        of = _kind_of(model) or of
        clashes = owner and re.split(r"\W", prefix)[0] in {each.alias for each in StackConfig.model_fields.values()}
        title = f"`{prefix.removesuffix('.')}`{of}{' of a tenant' if clashes else ''}"
        anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        return title, f"[{owner}{title.removesuffix(' of a tenant')}](#{anchor})"

    def _add(
        self,
        rows: list[tuple[str, ...]],
        below: list[tuple[type[BaseModel], str]],
        key: str,
        field: FieldInfo,
        link: str,
        owner: str,
        of: str,
    ) -> None:
        """Append the row of a key, and those of the keys below it if they are few."""
        nested = list(_models_in(field.annotation))
        known = dict.fromkeys(f" Keys: {self._links[each]}." for _, each in nested if each in self._links)
        row = self._row(field)
        rows.append((f"`{key}`", row.kind, "".join([row.meaning, *known])))
        for suffix, model in nested:
            if model in self._links:
                continue
            if len(model.model_fields) > _FEW or issubclass(model, Passed) or _kind_of(model):
                self._links[model] = self._named(model, f"{key}{suffix}.", owner, of)[1]
                below.append((model, f"{key}{suffix}"))
                continue
            self._links[model] = _link_to_key(key, link)
            if meaning := _further(model):
                rows[-1] = (*rows[-1][:-1], f"{rows[-1][-1]} {' '.join(meaning.split())}")
            for each in model.model_fields.values():
                self._add(rows, below, f"{key}{suffix}.{each.alias}", each, link, owner, of)

    def _alike(self, own: dict[str, _Row]) -> tuple[str, list[str]]:
        """The link of the section that shares the most keys with these, and those keys."""
        shares = [
            (link, [name for name, row in own.items() if other.get(name) == row]) for link, other in self._described
        ]
        link, shared = max(shares, key=lambda each: len(each[1]), default=("", []))
        return (link, shared) if len(shared) >= _ALIKE else ("", [])

    def _row(self, field: FieldInfo) -> _Row:
        type_, _, rule = _type(field.rebuild_annotation()).partition("; ")
        if rule:
            self.formats[type_] = rule
        models = tuple(model for _, model in _models_in(field.annotation))
        default = _default(field)
        return _Row(f"{type_}, {default}" if default else type_, field.description or "", models)


def configuration_page() -> str:
    """`docs/configuration.md`: every key of the stack file and of the tenant file."""
    introduction = """
        <!-- Written by `make generate` from flux_tenancy/components/stack/config.py; change it there. -->

        # Configuration

        Two kinds of files describe a stack. Both are validated completely before anything is applied; unknown keys are
        errors.

        - `Pulumi.<stack>.yaml` describes one environment. Below `config:` it has [these keys](#the-stack-file), the
          first word of each with the project's name (`name` in `Pulumi.yaml`) as a prefix: `flux-tenancy:flux`.
          `pulumi config set --path flux.profile single-tenant` takes keys as they are written here. `--config-file`
          names another file.
        - `tenants/<tenant>.yaml` is the base of a tenant for all environments, with [these keys](#the-tenant-file). A
          stack has the tenants that its `tenants` lists. Their entries there have the same keys and are merged over
          the base: mappings key by key; everything else, including lists, is replaced. `{}` uses the base unchanged.
          Required keys may be in either file.

        Secret values belong only in the stack's file, encrypted by `pulumi config set --secret --path <key>`, which
        reads the value, or a file, from standard input. In plain text they are refused, and never shown.

        Editors complete and validate these files with the schemas in `schemas/`, which their first comment names. `*`
        is a name below, and `[]` an entry of a list; on a command line, the first entry is `[0]`.
        """
    names = f"""
        ## Names

        Names of tenants and namespaces are DNS labels. Reserved are {listed(sorted(RESERVED_NAMES))} and all names that
        begin with {listed(RESERVED_PREFIXES)}; of a namespace's labels and annotations, those that begin with
        {listed(PROTECTED_LABEL_PREFIXES)}.
        """
    reference = _Reference()
    formats = [(format_, rule) for format_, rule in sorted(reference.formats.items())]
    parts = [
        cleandoc(introduction),
        "## The stack file",
        *reference.stack,
        "## The tenant file",
        *reference.tenant,
        cleandoc(names),
        "## Values",
        table(("Type", "Rule"), formats),
    ]
    text = "\n\n".join(parts)
    text = "\n\n".join([text, *_choices(text)]) + "\n"
    # Messages, editors and schemas name pages by their paths.
    return re.sub(r"\bdocs/([\w-]+)\.md(#[\w-]+)?", r"[\1](\1.md\2)", text)


def every_key() -> Iterator[tuple[str, str]]:
    """Each key of both files with its type; `*` is a name, and `[]` is an entry of a list."""
    yield from keys_of(TenantConfig)
    yield from keys_of(StackConfig)


def keys_of(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each key of a model, in the same way."""
    for field in model.model_fields.values():
        yield f"{prefix}{field.alias}", _type(field.rebuild_annotation())
        for suffix, nested in _models_in(field.annotation):
            yield from keys_of(nested, f"{prefix}{field.alias}{suffix}.")


def _link_to_key(key: str, section: str) -> str:
    """A link to the section of a key, in the words of the key.

    Args:
        key: path of the key, with those of the sections above it.
        section: the section's own link.
    """
    owner = "a tenant's " if section.startswith("[a tenant's ") else ""
    return f"[{owner}`{key}`]{section[section.rindex('(') :]}"


def _kind_of(model: type[BaseModel]) -> str:
    """The kind of a source, as the headings of its sections have it; empty for any other model."""
    kind = kind_of(model) if issubclass(model, Section) else ""
    return f" of the kind {kind}" if kind else ""


def _meaning_of(model: type[BaseModel]) -> str:
    """The docstring of a model, without the document that it follows, and what its further keys are."""
    meaning = re.sub(r"\s*Source: https:\S+", "", cleandoc(model.__doc__ or ""))
    return f"{meaning} {model.further_keys()}." if issubclass(model, Passed) else meaning


def _further(model: type[BaseModel]) -> str:
    """The meaning of a model, if it says more than the key that has the model."""
    meaning = _meaning_of(model)
    return meaning if len(meaning.split()) > _TELLING or issubclass(model, Passed) or _kind_of(model) else ""


def _type(annotation: Any) -> str:
    """A type as users of YAML know it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        rules = [(rule.json_schema or {})["description"] for rule in arguments if isinstance(rule, WithJsonSchema)]
        return rules[-1] if rules else _type(arguments[0])
    if origin in (Union, UnionType):
        return _either(dict.fromkeys(_type(argument) for argument in arguments if argument is not NoneType))
    if origin is Literal:
        return _either(f"`{argument}`" for argument in arguments)
    if origin is tuple:
        of = _type(_bare(arguments[0]))
        return {"string": "strings", "mapping": "list"}.get(of, f"list of {of}")
    if origin is dict:
        key, value = (_type(_bare(each)) for each in arguments)
        to = "" if value in ("mapping", "any value") else f" to {value}"
        return f"mapping{to}" if key == "string" else f"mapping of {key}{to}"
    if issubclass(annotation, Enum):
        return _linked(annotation) if _is_explained(annotation) else _either(f"`{each}`" for each in annotation)
    return _SCALARS.get(annotation, "mapping")


def _list(rows: Iterable[tuple[str, ...]]) -> str:
    """The rows as a list, which has more room for the meaning than a table with long keys."""
    return "\n".join(f"- {key} ({kind}): {meaning}" for key, kind, meaning in rows)


def _either(choices: Iterable[str]) -> str:
    *others, last = choices
    return f"{', '.join(others)} or {last}" if others else last


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
        return f"default `{str(value).lower()}`"
    return f"default {listed(value)}" if isinstance(value, tuple) else f"default `{value}`"


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


def _choices(text: str) -> Iterator[str]:
    """A section for each enumeration that the tables link to, in the order of their first use."""
    for choice in dict.fromkeys(_enums_in(StackConfig)):
        if _linked(choice) in text and choice is not PolicyName:
            yield f"### {choice.__name__}\n\n{cleandoc(choice.__doc__ or '')}\n\n{listed(choice)}"


def _is_explained(choice: type[Enum]) -> bool:
    """Whether an enumeration has too many values for a table, or more to say than the key that has it."""
    return len(choice) > _FEW or "\n\n" in cleandoc(choice.__doc__ or "")


def _linked(choice: type[Enum]) -> str:
    return f"[{choice.__name__}]({'policies.md' if choice is PolicyName else f'#{choice.__name__.lower()}'})"


def _enums_in(annotation: Any) -> Iterator[type[Enum]]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield annotation
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from _enums_in(field.annotation)
    else:
        for argument in get_args(annotation):
            yield from _enums_in(argument)
