"""The message about a refused source: everything that the platform would have to allow, at once."""

from __future__ import annotations

from components.allowlists.cel import boolean, concatenated, joined, text
from components.policies.config import PoliciesConfig
from components.policies.parameters import ENTRIES_OR_NONE, unrestricted
from components.policies.request import TENANT
from components.tenant.annotations import IMAGES

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
    text("; allowed are: "),
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
