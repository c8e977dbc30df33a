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

# A chain of these multiplies its input at each step, and no controller limits the cost of an expression.
_MULTIPLYING = r"\b(?:replace|quote|join|format)\b"
# A value that is added to itself under a bound name.
_ADDING = "[+]"
_NAMING = r"\b(?:all|exists|exists_one|map|filter|optMap|optFlatMap)\b"


def reconciliation_timeout(config: PoliciesConfig) -> Policy:
    """No object occupies a controller's worker for longer than the platform allows."""
    return Policy(
        name=PolicyName.RECONCILIATION_TIMEOUT,
        refuses="timeouts of Flux's objects that are too long, including a missing timeout that defaults to the "
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
    """No object makes a controller check too many objects, or evaluate expressions that exhaust its memory."""
    return Policy(
        name=PolicyName.CONTROLLER_LOAD,
        refuses=f"more than {MOST_HEALTH_CHECKS} health checks or {MOST_EXPRESSIONS} expressions of one kind in a Flux "
        f"object, and expressions that are longer than {LONGEST_EXPRESSION} characters or can multiply strings",
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
        ),
    )


def _short_enough(path: str, longest: str) -> Validation:
    value = field_of("object.spec", path)
    return Validation(
        f"duration({value}.orValue('0s')) <= duration({text(longest)})",
        concatenated(text(f"spec.{path} is "), f"{value}.orValue('')", text(f"; the maximum is {longest}")),
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


def _is_plain(expression: str) -> str:
    return (
        f"(size({expression}) <= {LONGEST_EXPRESSION} && !{expression}.matches({text(_MULTIPLYING)}) && "
        f"!({expression}.matches({text(_ADDING)}) && {expression}.matches({text(_NAMING)})))"
    )


def _not_plain(field: str) -> str:
    return text(
        f"{field} must have at most {LONGEST_EXPRESSION} characters, no replace, quote, join or format, and no + "
        "next to all, exists, map or filter: such an expression can exhaust the controller's memory; compare "
        "fields instead"
    )
