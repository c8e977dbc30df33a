"""Policies that limit the load on Flux's controllers, which all tenants share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, field_of, text, texts
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Subject, Validation
from flux_tenancy.components.policies.references import FLUX

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import PoliciesConfig

# Fields below `spec` of all of Flux's kinds; in a HelmRelease the limit of each operation of an action.
TIMEOUTS = (
    "timeout",
    "install.timeout",
    "upgrade.timeout",
    "rollback.timeout",
    "test.timeout",
    "uninstall.timeout",
)
# Their default timeout is the interval minus this. Source: `GetTimeout` in the Go API of both.
_TIMEOUT_BY_INTERVAL = ("Kustomization", "ImageRepository")
_LESS_THAN_INTERVAL = "30s"

MOST_HEALTH_CHECKS = 100
MOST_EXPRESSIONS = 20
LONGEST_EXPRESSION = 512
"""In characters; the expressions of Flux's own library of health checks have fewer than 300."""

# What an expression may call. Flux offers more, some of which multiplies what it is given, and bounds the cost of none.
# Source: https://github.com/google/cel-go/tree/master/ext and runtime/cel of github.com/fluxcd/pkg
_OF_EACH = ("all", "exists", "exists_one", "filter")
_CALLS = (
    *("contains", "duration", "endsWith", "first", "has", "hasValue", "int", "last", "orValue", "size", "startsWith"),
    *("string", "timestamp", "type", "value"),
)
# Each reads a whole text, so none may be called for each of many entries.
_OF_ONE = ("indexOf", "lastIndexOf", "lowerAscii", "matches", "split", "substring", "trim", "upperAscii")
# Without comments, escapes and parentheses in strings, each parenthesis is one of the expression's own.
_TEXT = r"""^(?:[^'"\\/]|/[^'"\\/]|'[^'\\()]*'|"[^"\\()]*")*$"""
_OTHERWISE_READ = r"""'{3}|"{3}|\bsets\s*[.]"""
_CALLED = r"\w\s*[(]"
_FLAT = r"(?:[^()]|[(](?:[^()]|[(][^()]*[)])*[)])*[)]"
# Templates of Go: values below the dot or a variable, but not the root `$`, over which loops could be nested.
_PATH = r"(?:[$]\w+(?:[.]\w+)*|(?:[.]\w+)+|[.])"
_ACTION = rf"[{{]{{2}}(?:-\s)?\s*(?:end|(?:range\s+(?:[$]\w+\s*(?:,\s*[$]\w+\s*)?:=\s*)?)?{_PATH})\s*-?[}}]{{2}}"
_TEMPLATE = rf"^(?:[^{{]|[{{][^{{]|{_ACTION})*$"


def reconciliation_timeout(config: PoliciesConfig) -> Policy:
    """No object occupies a controller's worker for longer than the platform allows."""
    return Policy(
        name=PolicyName.RECONCILIATION_TIMEOUT,
        refuses="timeouts of Flux's objects that are too long or zero, and a missing timeout that defaults to a long "
        "interval",
        settings=("policies.maximumTimeout",),
        threats=(31,),
        subject=Subject.CONTENT,
        resources=FLUX,
        validations=(
            *(_short_enough(path, config.maximum_timeout) for path in TIMEOUTS),
            _short_by_default(config.maximum_timeout),
        ),
    )


def controller_load() -> Policy:
    """No object makes a controller check too many objects, or evaluate expressions that exhaust it."""
    return Policy(
        name=PolicyName.CONTROLLER_LOAD,
        refuses=f"more than {MOST_HEALTH_CHECKS} health checks or {MOST_EXPRESSIONS} expressions of one kind in a Flux "
        f"object, expressions that are longer than {LONGEST_EXPRESSION} characters or call what is not listed, and "
        "templates of commit messages with anything but fields and loops over them",
        threats=(31,),
        subject=Subject.CONTENT,
        resources=FLUX,
        validations=(
            _at_most("healthChecks", MOST_HEALTH_CHECKS),
            *(_at_most(path, MOST_EXPRESSIONS) for path in ("healthCheckExprs", "oidcProviders")),
            _plain_items("healthCheckExprs", ("current", "inProgress", "failed")),
            _plain_items("dependsOn", ("readyExpr",)),
            _plain_items("resources", ("filter",)),
            *(_plain(path) for path in ("resourceFilter", "commitStatusExpr")),
            *(_plain_of_providers(path) for path in ("variables", "validations")),
            _plain_template("git.commit.messageTemplate"),
        ),
    )


def _short_enough(path: str, longest: str) -> Validation:
    value = field_of("object.spec", path)
    return Validation(
        # helm-controller waits without end for 0s.
        f"!{value}.hasValue() || (duration({value}.value()) > duration('0s') && "
        f"duration({value}.value()) <= duration({text(longest)}))",
        concatenated(
            text(f"spec.{path} is "), f"{value}.orValue('')", text(f"; set more than 0s, and {longest} at most")
        ),
    )


def _short_by_default(longest: str) -> Validation:
    interval = field_of("object.spec", "interval")
    return Validation(
        f"!(object.kind in {texts(_TIMEOUT_BY_INTERVAL)}) || has(object.spec.timeout) || "
        f"duration({interval}.orValue('0s')) - duration({text(_LESS_THAN_INTERVAL)}) <= duration({text(longest)})",
        concatenated(
            text(f"spec.timeout is missing and defaults to spec.interval minus {_LESS_THAN_INTERVAL}, which is more "),
            text(f"than {longest}; set spec.timeout to {longest} or less"),
        ),
    )


def _at_most(path: str, most: int) -> Validation:
    count = f"size({field_of('object.spec', path)}.orValue([]))"
    return Validation(
        f"{count} <= {most}",
        concatenated(
            text(f"spec.{path} has "),
            f"string({count})",
            text(f" entries; the maximum is {most}: split them across several objects"),
        ),
    )


def _plain(path: str) -> Validation:
    return Validation(_is_plain(f"{field_of('object.spec', path)}.orValue('')"), _not_plain(f"spec.{path}"))


def _plain_items(path: str, names: tuple[str, ...]) -> Validation:
    """Entries of a list that have expressions in several fields."""
    checks = " && ".join(_is_plain(f"each.?{name}.orValue('')") for name in names)
    shown = names[0] if len(names) == 1 else f"{{{','.join(names)}}}"
    return Validation(
        f"{field_of('object.spec', path)}.orValue([]).all(each, {checks})", _not_plain(f"spec.{path}[].{shown}")
    )


def _plain_of_providers(path: str) -> Validation:
    """Expressions about the claims of a token, in the entries of a Receiver's providers."""
    entries, checks = f"provider.?{path}.orValue([])", _is_plain("each.?expression.orValue('')")
    return Validation(
        f"{field_of('object.spec', 'oidcProviders')}.orValue([]).all(provider, "
        f"size({entries}) <= {MOST_EXPRESSIONS} && {entries}.all(each, {checks}))",
        _not_plain(f"spec.oidcProviders[].{path}[].expression"),
    )


def _plain_template(path: str) -> Validation:
    return Validation(
        f"{field_of('object.spec', path)}.orValue('').matches({text(_TEMPLATE)})",
        text(
            f"spec.{path} may have no actions but fields, range and end, such as "
            "{{ range $path, $_ := .Changed.FileChanges }}: another can exhaust the controller's memory; remove it"
        ),
    )


def _is_plain(expression: str) -> str:
    of_each = _times(expression, _call(*_OF_EACH))
    return (
        f"(size({expression}) <= {LONGEST_EXPRESSION} && {expression}.matches({text(_TEXT)}) && "
        f"!{expression}.matches({text(_OTHERWISE_READ)}) && ({of_each} == 0 "
        f"? {_times(expression, _CALLED)} == {_times(expression, _call(*_CALLS, *_OF_ONE))} "
        f": {_times(expression, _CALLED)} == {_times(expression, _call(*_CALLS, *_OF_EACH))} && "
        f"{of_each} == {_times(expression, _call(*_OF_EACH) + _FLAT)} && !{expression}.contains('+')))"
    )


def _call(*names: str) -> str:
    return rf"\b(?:{'|'.join(names)})\s*[(]"


def _times(expression: str, pattern: str) -> str:
    return f"size({expression}.findAll({text(pattern)}))"


def _not_plain(field: str) -> str:
    return text(
        f"{field} must have at most {LONGEST_EXPRESSION} characters, without comments, escapes, and parentheses in "
        f"strings, and call nothing but {', '.join(_CALLS)}, and either {', '.join(_OF_ONE)} or {', '.join(_OF_EACH)}: "
        "these without + and not inside one another; else it can exhaust the controller's memory or processor"
    )
