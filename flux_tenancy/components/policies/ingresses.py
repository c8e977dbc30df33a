"""Policies about Ingresses: the host names that a tenant publishes, and snippets of proxy configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import boolean, concatenated, joined, text, texts
from flux_tenancy.components.allowlists.host_patterns import is_allowed
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import SPEC, Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.rendering import changes
from flux_tenancy.components.policies.request import ASK, ENTRIES_OR_NONE, TENANT, listed, unrestricted
from flux_tenancy.components.tenant.annotations import HOSTS

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import IngressRules

_INGRESSES = Resources("networking.k8s.io", ("ingresses",))
# Annotations that publish further names: of ingress-nginx, haproxy-ingress, Kong, Azure's gateway, cert-manager and
# external-dns, and of any controller that calls them alike.
_NAMING = r"[./-](server-alias|host-aliases|hostnames?|hostname-extension|alt-names|common-name|redirect-from)$"
# Those whose names cannot be compared with a list: regular expressions, routes and rules of the controller's own.
_UNREADABLE = (
    r"[./-]((server-alias|redirect-from)-regex|from-to-www-redirect|skipper-routes|skipper-predicate)$|"
    r"^alb\.ingress\.kubernetes\.io/conditions\.|/router\.tls\.domains\."
)
_NAME = r"^(\*\.)?[a-z0-9.-]+$"
# The first form is ingress-nginx's and haproxytech's; haproxy-ingress has a key for each section of the configuration.
_SNIPPET = r"-snippets?$|/config-(backend|defaults|frontend|global|proxy|sections|tcp|tcp-service)$"


def allowed_hosts(config: IngressRules) -> Policy:
    """A tenant publishes only its own host names."""
    naming, unreadable = _keys(_NAMING), _keys(_UNREADABLE)
    published = " + ".join(
        (
            "object.spec.?rules.orValue([]).map(rule, rule.?host.orValue('') == '' ? '*' : rule.host)",
            "(has(object.spec.defaultBackend) ? ['*'] : [])",
            "object.spec.?tls.orValue([]).map(each, each.?hosts.orValue([]).join(' '))",
            f"{naming}.map(key, object.metadata.annotations[key])",
        )
    )
    return Policy(
        name=PolicyName.ALLOWED_HOSTS,
        refuses="host names, in Ingresses and in annotations that publish more of them, that are on neither the "
        "stack's nor the tenant's allow-list or cannot be compared with it; an Ingress without a host matches every "
        "host",
        settings=("policies.ingress.hosts", "tenant: policies.hosts"),
        threats=(41,),
        subject=Subject.CONTENT,
        resources=(_INGRESSES, Resources("", ("services",))),
        conditions={"changes-content": f"{changes(SPEC)} || {_changed(naming)} || {_changed(unreadable)}"},
        variables={
            "anywhere": unrestricted(HOSTS, config.hosts),
            "unreadable": unreadable,
            "published": f"({published}).join(' ').replace(',', ' ').lowerAscii().split(' ').filter(name, name != '')",
            "entries": f"({texts(config.hosts or ())} + {listed(HOSTS)})",
            "foreign": f"variables.published.filter(name, !name.matches({text(_NAME)}) || "
            f"!{is_allowed('name', 'variables.entries')})",
        },
        validations=(
            Validation(
                "variables.anywhere || size(variables.foreign) == 0",
                concatenated(
                    text("host "),
                    joined("variables.foreign.map(name, name == '*' ? '* (an Ingress without a host)' : name)"),
                    text(" is not an allowed host for tenant "),
                    TENANT,
                    text("; allowed: "),
                    ENTRIES_OR_NONE,
                    ASK,
                ),
            ),
            Validation(
                "variables.anywhere || size(variables.unreadable) == 0",
                concatenated(
                    text("metadata.annotations: "),
                    joined("variables.unreadable"),
                    text(
                        " may publish hosts that cannot be compared with the allowed hosts; list the hosts in "
                        "spec.rules"
                    ),
                    ASK,
                ),
            ),
        ),
    )


def ingress_snippets(config: IngressRules) -> Policy:
    """A tenant writes no configuration of the proxy that all tenants share."""
    snippets = _keys(_SNIPPET)
    return Policy(
        name=PolicyName.INGRESS_SNIPPETS,
        refuses="annotations of Ingresses that contain proxy configuration",
        settings=("policies.ingress.snippets",),
        threats=(41,),
        subject=Subject.CONTENT,
        resources=(_INGRESSES,),
        conditions={"changes-content": f"request.operation == 'CREATE' || {_changed(snippets)}"},
        variables={"snippets": snippets},
        validations=(
            Validation(
                f"{boolean(config.snippets)} || size(variables.snippets) == 0",
                concatenated(
                    text("metadata.annotations: "),
                    joined("variables.snippets"),
                    text(" changes the configuration of the proxy that all tenants share; use other annotations"),
                    ASK,
                ),
            ),
        ),
    )


def _keys(pattern: str) -> str:
    """CEL for the keys of an object's annotations that match a pattern."""
    return f"object.metadata.?annotations.orValue({{}}).filter(key, key.matches({text(pattern)}))"


def _changed(keys: str) -> str:
    """CEL for whether one of these annotations is new or has changed; controllers write others.

    Removing one is no change. A filtered map cannot be compared.
    """
    return f"{keys}.exists(key, object.metadata.annotations[key] != oldObject.metadata.?annotations[?key].orValue(''))"
