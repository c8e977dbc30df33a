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

LONGEST_MESSAGE, MOST_ACTIONS = 1024, 20

# What an expression may call. Flux offers more, and bounds the cost of none: some multiply what they are given, or take
# the square of its size.
# Source: https://github.com/google/cel-go/tree/master/ext and runtime/cel of github.com/fluxcd/pkg
_CALLS = (
    *("contains", "duration", "endsWith", "first", "has", "hasValue", "int", "last", "lowerAscii", "orValue", "size"),
    *("split", "startsWith", "string", "substring", "timestamp", "trim", "type", "upperAscii", "value"),
)
_LOOPS = ("all", "exists", "exists_one", "filter")
_MOST_LOOPS, _MOST_SPLITS, _MOST_SUMS = 4, 2, 8
_QUOTED = r"""(?:'[^'\\()]*'|"[^"\\()]*")"""
# Without comments, escapes and parentheses in strings, each parenthesis is one of the expression's own.
_TEXT = rf"""^(?:[^'"\\/]|/[^'"\\/]|{_QUOTED})*$"""
# Strings of several lines, a function with the name of another, and messages, which are called without parentheses.
_OTHERWISE_READ = r"""'{3}|"{3}|\bsets\s*[.]|\w\s*[{]"""
_CALLED = r"\w\s*[(]"
# Of each entry `e` only the entry itself is read: anything else would be read as often as there are entries.
_OF_ENTRY = (
    r"\be\b(?:[.]\w+)*",
    rf"[.](?:contains|endsWith|startsWith)[(]{_QUOTED}[)]",
    r"\bhas[(]e(?:[.]\w+)*[)]",
    r"\](?:[.]\w+)*",
    r"\b(?:(?:dep|self)[.])?metadata[.]generation\b",
    r"\b(?:true|false|null|in|\d+)\b",
    _QUOTED,
    r"[^\w'\"().\]]",
)
_LOOP = rf"\b(?:{'|'.join(_LOOPS)})[(]e,(?:{'|'.join(_OF_ENTRY)})*[)]"

# A template of Go: values below the dot or a variable, and loops over such values that are not inside one another.
_OPEN, _CLOSE, _DOT = r"[{]{2}(?:-\s)?\s*", r"\s*-?[}]{2}", r"(?:(?:[.]\w+)+|[.])"
_PLAIN = rf"[^{{]|[{{][^{{]|{_OPEN}(?:print(?:ln)?\s+)?(?:{_DOT}|[$]\w+(?:[.]\w+)*){_CLOSE}"
_RANGE = rf"{_OPEN}range\s+(?:[$]\w+\s*(?:,\s*[$]\w+\s*)?:=\s*)?{_DOT}{_CLOSE}(?:{_PLAIN})*{_OPEN}end{_CLOSE}"
_TEMPLATE = rf"^(?:{_PLAIN}|{_RANGE})*$"


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
        f"object, expressions that are longer than {LONGEST_EXPRESSION} characters or have what is not listed, and "
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
    value = f"{field_of('object.spec', path)}.orValue('')"
    return Validation(
        f"size({value}) <= {LONGEST_MESSAGE} && {_times(value, '[{]{2}')} <= {MOST_ACTIONS} && "
        f"{value}.matches({text(_TEMPLATE)})",
        text(
            f"spec.{path} must have at most {LONGEST_MESSAGE} characters and {MOST_ACTIONS} actions, and none but "
            "fields and loops over them, such as {{ range .Changed.Changes }}{{ .NewValue }}{{ end }}, not inside one "
            "another: else it can exhaust the controller's memory"
        ),
    )


def _is_plain(expression: str) -> str:
    loops = _times(expression, _call(*_LOOPS))
    return (
        f"(size({expression}) <= {LONGEST_EXPRESSION} && {expression}.matches({text(_TEXT)}) && "
        f"!{expression}.matches({text(_OTHERWISE_READ)}) && "
        f"{_times(expression, _CALLED)} == {_times(expression, _call(*_CALLS, *_LOOPS))} && "
        f"{loops} <= {_MOST_LOOPS} && {loops} == {_times(expression, _LOOP)} && "
        f"{_times(expression, _call('split'))} <= ({expression}.contains('+') ? 0 : {_MOST_SPLITS}) && "
        f"{_times(expression, '[+]')} <= ({loops} > 0 ? 0 : {_MOST_SUMS}))"
    )


def _call(*names: str) -> str:
    return rf"\b(?:{'|'.join(names)})\s*[(]"


def _times(expression: str, pattern: str) -> str:
    return f"size({expression}.findAll({text(pattern)}))"


def _not_plain(field: str) -> str:
    return text(
        f"{field} must have at most {LONGEST_EXPRESSION} characters, without comments, escapes, and parentheses in "
        f"strings; call nothing but {', '.join(_CALLS)} ({_MOST_SPLITS} split, and none beside +); have at most "
        f"{_MOST_SUMS} +, or {_MOST_LOOPS} of {', '.join(_LOOPS)}, each of which reads only its entry e, as in "
        "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True'): else it can exhaust the "
        "controller's memory or processor"
    )
