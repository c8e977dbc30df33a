"""Policies that limit the load on Flux's controllers, which all tenants share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import concatenated, field_of, text, texts
from flux_tenancy.components.policies.expressions import LONGEST_EXPRESSION, SAID, SAID_OF_FEEDING, is_cheap
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
LONGEST_MESSAGE, MOST_ACTIONS = 1024, 20

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
            _at_most("dependsOn", MOST_EXPRESSIONS, "readyExpr"),
            _at_most("resources", MOST_EXPRESSIONS, "filter"),
            # One at a time: the API server limits what each of a policy's conditions costs.
            *(_cheap_items("healthCheckExprs", name) for name in ("current", "inProgress", "failed")),
            _cheap_items("dependsOn", "readyExpr"),
            _cheap_items("resources", "filter"),
            *(_cheap(path) for path in ("resourceFilter", "commitStatusExpr")),
            *(_cheap_of_providers(path) for path in ("variables", "validations")),
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


def _at_most(path: str, most: int, name: str = "") -> Validation:
    """The entries of a list; with a name, those that have this field."""
    entries = f"{field_of('object.spec', path)}.orValue([])"
    count = f"size({f'{entries}.filter(each, has(each.{name}))' if name else entries})"
    counted = f" entries with {name}" if name else " entries"
    return Validation(
        f"{count} <= {most}",
        concatenated(
            text(f"spec.{path} has "),
            f"string({count})",
            text(f"{counted}; the maximum is {most}: split them across several objects"),
        ),
    )


def _cheap(path: str) -> Validation:
    return Validation(is_cheap(f"{field_of('object.spec', path)}.orValue('')"), text(f"spec.{path} {SAID}"))


def _cheap_items(path: str, name: str) -> Validation:
    """Entries of a list that have an expression in a field."""
    cheap = is_cheap(f"each.?{name}.orValue('')")
    return Validation(
        f"{field_of('object.spec', path)}.orValue([]).all(each, {cheap})",
        text(f"spec.{path}[].{name} {SAID}"),
    )


def _cheap_of_providers(path: str) -> Validation:
    """Expressions about the claims of a token, in the entries of a Receiver's providers."""
    entries, cheap = f"provider.?{path}.orValue([])", is_cheap("each.?expression.orValue('')", feeds_others=True)
    return Validation(
        f"{field_of('object.spec', 'oidcProviders')}.orValue([]).all(provider, size({entries}) <= {MOST_EXPRESSIONS} "
        f"&& {entries}.all(each, {cheap}))",
        text(f"spec.oidcProviders[].{path}[].expression {SAID_OF_FEEDING}"),
    )


def _plain_template(path: str) -> Validation:
    value = f"{field_of('object.spec', path)}.orValue('')"
    return Validation(
        f"size({value}) <= {LONGEST_MESSAGE} && size({value}.findAll('[{{]{{2}}')) <= {MOST_ACTIONS} && "
        f"{value}.matches({text(_TEMPLATE)})",
        text(
            f"spec.{path} must have at most {LONGEST_MESSAGE} characters and {MOST_ACTIONS} actions, and none but "
            "fields and loops over them, such as {{ range .Changed.Changes }}{{ .NewValue }}{{ end }}, not inside one "
            "another: else it can exhaust the controller's memory"
        ),
    )
