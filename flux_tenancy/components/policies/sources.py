"""Policies about the sources of a tenant's manifests, charts and images, and how Flux fetches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flux_tenancy.components.allowlists.cel import boolean, concatenated, joined, text, texts
from flux_tenancy.components.allowlists.image_patterns import COMPARABLE_IMAGE, repository_expression
from flux_tenancy.components.allowlists.source_patterns import (
    ANYTHING,
    COMPARABLE_URL,
    EXAMPLE,
    URL_PATTERN,
    canonical_expression,
)
from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.policies.policy import Policy, Resources, Subject, Validation
from flux_tenancy.components.policies.request import ASK, ENTRIES_OR_NONE, STARTS, TENANT, listed, unrestricted
from flux_tenancy.components.tenant.annotations import IMAGES, SOURCES, VERIFIED

if TYPE_CHECKING:
    from flux_tenancy.components.policies.config import AllowedSources, PoliciesConfig

_HTTP = (
    "(variables.url.startsWith('http://') || (object.kind == 'Bucket' && object.spec.endpoint.startsWith('http://')))"
)
# The charts of an OCI registry are below its URL, and an OCIRepository may name one of them.
_BELOW = "(object.kind == 'HelmRepository' && variables.url.startsWith('oci://') ? '/*' : '')"

_LISTED = text(" in the tenant's policies.sources")
_PLAIN_HTTP = text("policies.sources.plainHttp: true in the stack")
_IMAGES = text("the images of its charts in the tenant's policies.images")

_FOREIGN = concatenated(
    text(" is not an allowed source for tenant "),
    TENANT,
    text("; allowed: "),
    ENTRIES_OR_NONE,
)
_PLAIN = concatenated(
    f"(variables.listed ? {text(' is not encrypted')} : {text('; it is not encrypted')})",
    f"({_HTTP} ? '' : {text(' (spec.insecure is true)')})",
)
_REMEDY = (
    f"(variables.listed ? {text('; use TLS, or ')} : size(variables.entries) == 0 ? '; ' : variables.encrypted "
    f"? {text('; use one of these, or ')} : {text('; use one of these with TLS, or ')})"
)


def refusal_variables(config: PoliciesConfig) -> dict[str, str]:
    """CEL variables that follow `url`, `compared` and `listed`: whether it is encrypted, and what must be allowed.

    The URL of a HelmRepository does not show the images of its charts, so the message mentions them if images are
    restricted.
    """
    any_image = unrestricted(IMAGES, config.images.allowed)
    return {
        "encrypted": f"{boolean(config.sources.plain_http)} || !({_HTTP} || object.spec.?insecure.orValue(false))",
        "wanted": f"(variables.listed ? [] : [variables.compared + {_BELOW} + {_LISTED}]) + "
        f"(variables.encrypted ? [] : [{_PLAIN_HTTP}]) + "
        f"(object.kind != 'HelmRepository' || {any_image} ? [] : [{_IMAGES}])",
    }


REFUSAL = concatenated(
    "variables.field",
    "' '",
    "variables.url",
    f"(variables.listed ? '' : {_FOREIGN})",
    f"(variables.encrypted ? '' : {_PLAIN})",
    _REMEDY,
    text("ask the platform team for: "),
    joined("variables.wanted"),
)
"""CEL for the message, from the variables `field`, `url`, `entries`, `listed` and those above."""


_FETCHED = (
    Resources("source.toolkit.fluxcd.io", ("buckets", "gitrepositories", "helmrepositories", "ocirepositories")),
    Resources("image.toolkit.fluxcd.io", ("imagerepositories",)),
)
_CLOUDS = ("aws", "azure", "gcp")
_HTTPS = "https://"
# Charts: a HelmChart, or its template in a HelmRelease.
_CHARTS = (
    Resources("source.toolkit.fluxcd.io", ("helmcharts",)),
    Resources("helm.toolkit.fluxcd.io", ("helmreleases",)),
)
_CHART = (
    "object.kind == 'HelmChart' ? [object.spec] : "
    "object.kind == 'HelmRelease' && has(object.spec.chart) ? [object.spec.chart.spec] : []"
)

# Google's client ignores a Bucket's endpoint. Azure's endpoint has a scheme, all others have none. The image of an
# ImageRepository is normalized as container runtimes do; an invalid one stays as it is and fails the check of the URL.
_GOOGLE_STORAGE = "storage.googleapis.com"
_URL = (
    "object.kind == 'Bucket' ? 'bucket://' + "
    f"(object.spec.?provider.orValue('generic') == 'gcp' ? {text(_GOOGLE_STORAGE)} "
    f": object.spec.endpoint.startsWith({text(_HTTPS)}) "
    f"? object.spec.endpoint.substring({len(_HTTPS)}) : object.spec.endpoint) + '/' + object.spec.bucketName : "
    f"object.kind == 'ImageRepository' ? 'oci://' + (object.spec.image.matches({text(COMPARABLE_IMAGE)}) "
    f"? [object.spec.image]{repository_expression()}[0] : object.spec.image) : object.spec.url"
)
_FIELD = (
    "object.kind == 'Bucket' ? 'spec.endpoint and spec.bucketName' : "
    "object.kind == 'ImageRepository' ? 'spec.image' : 'spec.url'"
)


def allowed_sources(config: PoliciesConfig) -> Policy:
    """Every source is on the stack's or the tenant's list, and is fetched over TLS.

    A URL in canonical form matches an entry if and only if it begins with the entry, with a slash appended to both: an
    entry has a whole host and whole path segments, so a look-alike does not match.

    Without a list, nothing is allowed. Sources that the stack declares need no entry: its configuration is checked.

    The message names everything that the platform would have to allow, so that a tenant is refused only once.
    """
    sources = config.sources
    return Policy(
        name=PolicyName.ALLOWED_SOURCES,
        refuses="sources that are on neither the stack's nor the tenant's allow-list, whose URL cannot be compared "
        "with it, or that are fetched without TLS",
        settings=(
            "policies.sources.allowed",
            "policies.sources.plainHttp",
            "tenant: policies.sources",
        ),
        threats=(13, 14, 35),
        subject=Subject.CONTENT,
        resources=_FETCHED,
        variables={
            "field": _FIELD,
            "url": _URL,
            "compared": f"[variables.url]{canonical_expression()}[0]",
            "entries": f"({texts(sources.allowed)} + {listed(SOURCES)}){canonical_expression()}"
            f".filter(entry, entry.matches({text(URL_PATTERN)}))",
            "below": f"variables.entries{STARTS}",
            "listed": f"{text(ANYTHING)} in variables.entries || variables.compared in variables.entries || "
            "variables.below.exists(start, (variables.compared + '/').startsWith(start))",
            **refusal_variables(config),
        },
        validations=(
            Validation(
                f"variables.compared.matches({text(COMPARABLE_URL)})",
                # The part before an `@` may be a password.
                concatenated(
                    "variables.field",
                    "(variables.url.contains('@') ? '' : ' ' + variables.url)",
                    text(
                        " cannot be compared with the allowed sources: use no user except SSH's, no capital "
                        "letters in the host, no percent signs except %20, no empty, '.' or '..' parts, and no "
                        f"query or tag; {EXAMPLE}"
                    ),
                ),
            ),
            Validation("variables.listed && variables.encrypted", REFUSAL, exempts_platform_objects=True),
        ),
    )


def source_options(config: AllowedSources, *, with_certificates: bool = False) -> Policy:
    """Flux fetches a source over verified TLS, without a proxy, and with the tenant's own identity.

    Args:
        config: the stack's settings for sources.
        with_certificates: whether sources that the stack itself declares have certificates.
    """
    return Policy(
        name=PolicyName.SOURCE_OPTIONS,
        refuses="sources that use a proxy, trust a private certificate authority, log in to a cloud that is not "
        "allowed or as the controller, or are in a region that is not allowed; Git submodules, and charts outside of "
        "the repository that they name",
        settings=(
            "policies.sources.providers",
            "policies.sources.bucketRegions",
            "policies.sources.plainHttp",
            "policies.sources.clientCertificates",
            "policies.sources.submodules",
        ),
        threats=(14, 17, 35),
        subject=Subject.CONTENT,
        resources=(*_FETCHED, *_CHARTS),
        variables={
            "charts": _CHART,
            "provider": "object.spec.?provider.orValue('generic')",
            "cloud": f"variables.provider in {texts(_CLOUDS)}",
        },
        validations=(
            Validation(
                "!has(object.spec.proxySecretRef)",
                concatenated(
                    text("spec.proxySecretRef sends requests through a proxy that the tenant chooses; remove it"), ASK
                ),
            ),
            Validation(
                f"{boolean(config.client_certificates)} || "
                "(!has(object.spec.certSecretRef) && !object.spec.?sts.?certSecretRef.hasValue())",
                concatenated(
                    text("spec.certSecretRef trusts a certificate authority that the tenant chooses; remove it"), ASK
                ),
                exempts_platform_objects=with_certificates,
            ),
            Validation(
                f"{boolean(config.submodules)} || !object.spec.?recurseSubmodules.orValue(false)",
                concatenated(
                    text("spec.recurseSubmodules fetches every URL in the repository's .gitmodules; remove it"),
                    ASK,
                ),
            ),
            # Flux joins URL and chart name as paths, so a name could lead elsewhere in the same registry.
            Validation(
                "variables.charts.all(chart, chart.?sourceRef.?kind.orValue('') != 'HelmRepository' || "
                "!chart.chart.split('/').exists(part, part == '..'))",
                concatenated(
                    "(object.kind == 'HelmChart' ? 'spec.chart ' : 'spec.chart.spec.chart ')",
                    "variables.charts[0].chart",
                    text(" leads out of its HelmRepository; name a chart of that repository"),
                ),
            ),
            Validation(
                f"!variables.cloud || variables.provider in {texts(config.providers)}",
                concatenated(
                    text("spec.provider "),
                    "variables.provider",
                    text(f" is not allowed; allowed: {', '.join(('generic', 'github', *config.providers))}"),
                    ASK,
                ),
            ),
            Validation(
                "!variables.cloud || object.spec.?serviceAccountName.orValue('') != ''",
                concatenated(
                    text("spec.serviceAccountName is missing: with spec.provider "),
                    "variables.provider",
                    text(" a source logs in as a service account of its namespace; set the account's name"),
                ),
            ),
            Validation(
                "!has(object.spec.sts) || object.kind != 'Bucket' || "
                f"(object.spec.sts.provider in {texts(config.providers)} && "
                f"({boolean(config.plain_http)} || object.spec.sts.endpoint.startsWith('https://')))",
                concatenated(
                    text("spec.sts logs in at "),
                    "object.spec.sts.provider",
                    text(
                        ", which is not allowed; allowed over https: "
                        f"{', '.join(name for name in config.providers if name == 'aws') or 'none'}"
                    ),
                    ASK,
                ),
            ),
            Validation(
                f"object.kind != 'Bucket' || size({texts(config.bucket_regions)}) == 0 || !has(object.spec.region) || "
                f"object.spec.region in {texts(config.bucket_regions)}",
                concatenated(
                    text("spec.region "),
                    "object.spec.region",
                    text(f" is not allowed; allowed: {', '.join(config.bucket_regions)}"),
                    ASK,
                ),
            ),
        ),
    )


def verified_sources(config: AllowedSources) -> Policy:
    """Kinds that a stack or a tenant wants verified have `verify`."""
    return Policy(
        name=PolicyName.VERIFIED_SOURCES,
        refuses="sources without `verify` whose kind must be verified, and charts that bypass verification",
        settings=(
            "policies.sources.verified",
            "tenant: policies.verified",
        ),
        threats=(14, 35),
        subject=Subject.CONTENT,
        resources=(*_CHARTS, Resources("source.toolkit.fluxcd.io", ("gitrepositories", "ocirepositories"))),
        variables={
            "kinds": f"{texts(config.verified)} + {listed(VERIFIED)}",
            "prefix": "object.kind == 'HelmRelease' ? 'spec.chart.spec.' : 'spec.'",
            # For a HelmRelease, the HelmChart that Flux makes from the template; with a chartRef it makes none, and the
            # referenced object is checked as its own kind.
            "sources": "object.kind == 'HelmRelease' ? "
            "('HelmChart' in variables.kinds && has(object.spec.chart) ? [object.spec.chart.spec] : []) : "
            "(object.kind in variables.kinds ? [object.spec] : [])",
        },
        validations=(
            Validation(
                "variables.sources.all(source, has(source.verify))",
                concatenated(
                    "variables.prefix",
                    text(
                        "verify is missing: content of this kind must be signed; name the keys or identities to trust"
                    ),
                ),
            ),
            # Flux verifies only charts from a HelmRepository and ignores `verify` otherwise.
            Validation(
                "variables.sources.all(source, !has(source.chart) || source.sourceRef.kind == 'HelmRepository')",
                concatenated(
                    "variables.prefix",
                    text(
                        "sourceRef must name a HelmRepository: Flux does not verify other charts; use an OCI "
                        "HelmRepository"
                    ),
                ),
            ),
            Validation(
                "object.kind != 'HelmRelease' || !('HelmChart' in variables.kinds) || !has(object.spec.chartRef) || "
                "object.spec.chartRef.kind == 'HelmChart' || "
                "(object.spec.chartRef.kind == 'OCIRepository' && 'OCIRepository' in variables.kinds)",
                concatenated(
                    text("spec.chartRef names an object of the kind "),
                    "object.spec.chartRef.kind",
                    text(
                        ", which need not be signed here, but charts must be; use a HelmChart, or spec.chart with "
                        "verify"
                    ),
                    ASK,
                ),
            ),
        ),
    )
