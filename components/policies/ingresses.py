"""Policies about Ingresses: the host names that a tenant publishes, and snippets of proxy configuration."""

from __future__ import annotations

from components.allowlists.cel import boolean, concatenated, joined, text, texts
from components.allowlists.host_patterns import is_allowed
from components.policies.config import IngressRules
from components.policies.names import PolicyName
from components.policies.parameters import ENTRIES_OR_NONE, listed, unrestricted
from components.policies.policy import SPEC, Policy, Resources, Subject, Validation
from components.policies.request import ASK, TENANT
from components.tenant.annotations import HOSTS

_INGRESSES = Resources("networking.k8s.io", ("ingresses",))
# Annotations of ingress-nginx, haproxy-ingress and external-dns that publish further names.
_NAMING = (
    "nginx.ingress.kubernetes.io/server-alias",
    "haproxy-ingress.github.io/server-alias",
    "haproxy-ingress.github.io/server-alias-regex",
    "external-dns.alpha.kubernetes.io/hostname",
    "external-dns.alpha.kubernetes.io/internal-hostname",
)
_NAME = r"^(\*\.)?[a-z0-9.-]+$"
# The first form is ingress-nginx's and haproxytech's; haproxy-ingress has a key for each section of the configuration.
_SNIPPET = r"-snippets?$|/config-(backend|defaults|frontend|global|proxy|sections|tcp|tcp-service)$"


def allowed_hosts(config: IngressRules) -> Policy:
    """A tenant publishes only its own host names."""
    anywhere = unrestricted(HOSTS, config.hosts)
    annotations = [f"{{object}}.metadata.?annotations[?{text(key)}].orValue('')" for key in _NAMING]
    published = " + ".join(
        (
            "object.spec.?rules.orValue([]).map(rule, rule.?host.orValue('') == '' ? '*' : rule.host)",
            "(has(object.spec.defaultBackend) ? ['*'] : [])",
            "object.spec.?tls.orValue([]).map(each, each.?hosts.orValue([]).join(' '))",
            f"[{', '.join(each.format(object='object') for each in annotations)}]",
        )
    )
    return Policy(
        name=PolicyName.ALLOWED_HOSTS,
        refuses="host names of Ingresses, and in annotations for external-dns, that are on neither the stack's nor the "
        "tenant's list; an Ingress without a host is for every one",
        settings=("policies.ingress.hosts", "tenant: policies.hosts"),
        threats=(41,),
        subject=Subject.CONTENT,
        resources=(_INGRESSES, Resources("", ("services",))),
        reads=f"[{', '.join(f'dyn({each})' for each in (SPEC + '.orValue({{}})', *annotations))}]",
        variables={
            "published": f"({published}).join(' ').replace(',', ' ').lowerAscii().split(' ').filter(name, name != '')",
            "entries": f"({texts(config.hosts or ())} + {listed(HOSTS)})",
            "foreign": f"variables.published.filter(name, !name.matches({text(_NAME)}) || "
            f"!{is_allowed('name', 'variables.entries')})",
        },
        validations=(
            Validation(
                f"{anywhere} || size(variables.foreign) == 0",
                concatenated(
                    text("host "),
                    joined("variables.foreign.map(name, name == '*' ? 'left out, which means every one,' : name)"),
                    text(" is not an allowed host of the tenant "),
                    TENANT,
                    text("; allowed are: "),
                    ENTRIES_OR_NONE,
                    ASK,
                ),
            ),
        ),
    )


def ingress_snippets(config: IngressRules) -> Policy:
    """A tenant writes no configuration of the proxy that all tenants share."""
    keys = f"{{part}}.metadata.?annotations.orValue({{{{}}}}).filter(key, key.matches({text(_SNIPPET)}))"
    snippets = keys.format(part="object")
    before = "oldObject.metadata.?annotations[?key].orValue('')"
    return Policy(
        name=PolicyName.INGRESS_SNIPPETS,
        refuses="annotations of Ingresses that hold pieces of the proxy's own configuration",
        settings=("policies.ingress.snippets",),
        threats=(41,),
        subject=Subject.CONTENT,
        resources=(_INGRESSES,),
        # Controllers write other annotations of an Ingress, and a filtered map cannot be compared.
        conditions={
            "changes-content": f"request.operation == 'CREATE' || {snippets}"
            f".exists(key, object.metadata.annotations[key] != {before})"
        },
        variables={"snippets": snippets},
        validations=(
            Validation(
                f"{boolean(config.snippets)} || size(variables.snippets) == 0",
                concatenated(
                    text("metadata.annotations: "),
                    joined("variables.snippets"),
                    text(" writes configuration of the proxy that all tenants share; use its other annotations"),
                    ASK,
                ),
            ),
        ),
    )
