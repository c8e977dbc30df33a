"""Entries of allow-lists as types of the configuration.

An entry for hosts that Flux's controllers post to is a host as in a URL, with its port unless that is the scheme's
default: `hooks.slack.com`, `alerts.example.com:8443`; `*.example.com` is every host below a domain, but not the domain.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from flux_tenancy.components.allowlists.image_patterns import read_image_pattern
from flux_tenancy.components.allowlists.source_patterns import read_pattern
from flux_tenancy.components.config.errors import NOT_A
from flux_tenancy.components.config.types import matching

# RE2 syntax, so that admission can use it as well.
_HOST = r"([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])"
_PORT = r"(:[1-9][0-9]{0,4})?"
HOST_PATTERN = rf"^(\*\.)?{_HOST}{_PORT}$"
_USER = r"([a-z0-9._~%!$&'()*+;=:-]*@)?"
# In lowercase, and in full: a comma would begin another address of some receivers, and only ASCII is read alike by all.
# What precedes an `@` are credentials for the host.
ADDRESS = rf"^https?://{_USER}{_HOST}{_PORT}([/?#][a-z0-9._~%!$&'()*+;=:@/?#-]*)?$"

_DEFAULT_PORTS = {"https": ":443", "http": ":80"}


def read_host_pattern(entry: str) -> str:
    """An entry of an allow-list, unchanged. Raises ValueError: it is anything else."""
    if not re.fullmatch(HOST_PATTERN, entry):
        raise ValueError(
            NOT_A(
                what="a lowercase host without scheme and path",
                example="hooks.slack.com, alerts.example.com:8443 or *.example.com",
            )
        )
    return entry


def origin_of(address: str) -> str | None:
    """Scheme, host and port of an address, in lowercase and without a default port; None if it is no HTTP URL."""
    # As in CEL, only letters of ASCII have a lowercase form: there is a further K, for kelvins.
    if not address.isascii() or (found := re.fullmatch(ADDRESS, address.lower())) is None:
        return None
    scheme, host, port = found[0].partition("://")[0], found[2], found[4] or ""
    return f"{scheme}://{host}{'' if port == _DEFAULT_PORTS[scheme] else port}"


def origins_expression() -> str:
    """CEL to append to a list of lowercase addresses that match `ADDRESS`: what `origin_of` returns."""
    return (
        ".map(address, address.split('/')[0] + '//' + address.split('/')[2].split('?')[0].split('#')[0])"
        ".map(origin, origin.contains('@') "
        "? origin.split('//')[0] + '//' + origin.substring(origin.indexOf('@') + 1) : origin)"
        ".map(origin, origin.startsWith('https://') && origin.endsWith(':443') "
        "? origin.substring(0, size(origin) - 4) : origin)"
        ".map(origin, origin.startsWith('http://') && origin.endsWith(':80') "
        "? origin.substring(0, size(origin) - 3) : origin)"
    )


def _image_pattern(text: str) -> str:
    read_image_pattern(text)
    return text


def _source_pattern(text: str) -> str:
    read_pattern(text)
    return text


SourcePatternText = Annotated[str, AfterValidator(_source_pattern)]
HostPatternText = Annotated[str, AfterValidator(read_host_pattern)]
VerifiedKind = Literal["GitRepository", "OCIRepository", "HelmChart"]
ServiceType = Literal["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]
ImagePatternText = Annotated[str, AfterValidator(_image_pattern)]
IngressHost = Annotated[
    str,
    *matching(
        r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$",
        NOT_A(what="a lowercase host name", example="shop.example.com, or *.example.com for all names below"),
    ),
]
