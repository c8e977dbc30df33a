"""Entries of allow-lists: what they look like and what they allow; and values and small expressions in CEL.

An entry for sources is compared part by part: scheme, user, host and port must be the same, and the path the same or,
where the entry ends in `/*`, the same or below it. So `https://git.example.com/team/*` allows
`https://git.example.com/team` and `https://git.example.com/team/apps`, and neither
`https://git.example.com/team-evil/apps` nor `https://git.example.com.evil.example/team/apps`. Both are compared in
their canonical spelling.

An image is read as container runtimes read it: without a host it is on Docker Hub, and there without a user it is
one of `library`.

Source: https://pkg.go.dev/github.com/distribution/reference and
https://github.com/google/cel-spec/blob/master/doc/langdef.md

An entry for hosts that Flux's controllers post to is a host as in a URL, with its port unless that is the scheme's
default: `hooks.slack.com`, `alerts.example.com:8443`; `*.example.com` is every host below a domain, but not the domain.

The admission policies compare in the same way (`components/policies`); one table of tests proves both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from flux_tenancy.components.config.errors import NOT_A
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.config.types import matching
from flux_tenancy.components.config.yaml_files import data_of

NOT_COMPARABLE = Wording("FT-CFG-150", "cannot be compared with sources: it {problem}")
ANYTHING = "*"
"""The entry that allows every URL."""
ANYTHING_BELOW = "*"

# Sources that are named without a scheme get one: the endpoint and name of a Bucket `bucket://`, the image of an
# ImageRepository `oci://`.
_FORMS: Mapping[str, Any] = data_of(__file__, "urls.yaml")


def _form(name: str) -> str:
    return re.sub(r"\{([a-z_]+)\}", lambda part: _form(part[1]), _FORMS[name])


COMPARABLE_URL, URL_PATTERN = _form("url"), _form("entry")
PROBLEMS: tuple[tuple[str, str], ...] = tuple((pattern, problem) for pattern, problem in _FORMS["problems"])
"""What is wrong with a URL that cannot be compared: the first whose pattern matches. Part of the policy's message."""

_SLASHES_OF_A_HOST = "https://host".count("/")


@dataclass(frozen=True)
class SourcePattern:
    """An entry of an allow-list.

    Attributes:
        authority: scheme, user, host and port, e.g. `ssh://git@git.example.com:2222`; `*` for all.
        below: whether everything below the path is allowed as well.
    """

    authority: str
    path: tuple[str, ...]
    below: bool


def canonical(url: str) -> str:
    """The canonical spelling of a URL: no slash at the end, then no `.git` at the end of a path."""
    place = url.removesuffix("/")
    return place.removesuffix(".git") if place.count("/") > _SLASHES_OF_A_HOST else place


def canonical_expression() -> str:
    """CEL to append to a list of URLs: `canonical` each of them."""
    return (
        ".map(url, url.endsWith('/') ? url.substring(0, size(url) - 1) : url)"
        f".map(url, url.endsWith('.git') && size(url.split('/')) > {_SLASHES_OF_A_HOST + 1} "
        "? url.substring(0, size(url) - 4) : url)"
    )


def is_comparable(url: str) -> bool:
    """Whether a URL is written in a way that can be compared."""
    return re.fullmatch(COMPARABLE_URL, canonical(url)) is not None


def problem_of(url: str) -> str:
    """What is wrong with a URL that cannot be compared, and what to write instead."""
    return next(problem for pattern, problem in PROBLEMS if re.search(pattern, canonical(url)))


def read_pattern(text: str) -> SourcePattern:
    """An entry, parsed. Raises ValueError: it is anything else."""
    if not re.fullmatch(URL_PATTERN, canonical(text)):
        raise ValueError(NOT_COMPARABLE(problem=problem_of(text)))
    if text == ANYTHING:
        return SourcePattern(ANYTHING, (), below=True)
    authority, path = _split(text)
    below = path[-1:] == (ANYTHING_BELOW,)
    return SourcePattern(authority, path[:-1] if below else path, below)


def _split(url: str) -> tuple[str, tuple[str, ...]]:
    """Authority with its scheme, and the path's segments."""
    scheme, _, rest = canonical(url).partition("://")
    host, *path = rest.split("/")
    return f"{scheme}://{host}", tuple(path)


DEFAULT_REGISTRY = "docker.io"
OFFICIAL_IMAGES = "library"

# The names of images that can be compared: a first part with a capital letter is a host to runtimes, which one without
# a dot is not otherwise. RE2 syntax, so that admission can use it as well.
_REGISTRY = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?"
_SEGMENT = r"[a-z0-9]+([._-]+[a-z0-9]+)*"
_TAG = r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?"
_DIGEST = r"@sha256:[0-9a-f]{64}"
COMPARABLE_IMAGE = rf"^({_REGISTRY}/)?{_SEGMENT}(/{_SEGMENT})*{_TAG}({_DIGEST})?$"
BY_DIGEST = rf"{_DIGEST}$"
IMAGE_PATTERN = rf"^{_REGISTRY}(/{_SEGMENT})*/({_SEGMENT}|\*)$"


@dataclass(frozen=True)
class ImagePattern:
    """An entry of an allow-list.

    Attributes:
        repository: registry and path, e.g. `registry.example.com/org`.
        below: whether everything below it is allowed, but not the repository itself.
    """

    repository: str
    below: bool


def read_image_pattern(text: str) -> ImagePattern:
    """An entry, parsed. Raises ValueError: it is anything else, or names no registry."""
    if not re.fullmatch(IMAGE_PATTERN, text) or not _is_host(text.partition("/")[0]):
        raise ValueError(
            NOT_A(
                what="an image repository with its registry",
                example="registry.example.com/org/* or docker.io/library/nginx",
            )
        )
    below = text.endswith(f"/{ANYTHING_BELOW}")
    return ImagePattern(text.removesuffix(f"/{ANYTHING_BELOW}"), below)


def repository_of(image: str) -> str:
    """Registry and path of an image, without tag and digest."""
    name = image.partition("@")[0]
    head, colon, tail = name.rpartition(":")
    if colon and "/" not in tail:
        name = head
    host, _, path = name.partition("/")
    if not path or not _is_host(host):
        host, path = DEFAULT_REGISTRY, name
    if host == DEFAULT_REGISTRY and "/" not in path:
        path = f"{OFFICIAL_IMAGES}/{path}"
    return f"{host}/{path}"


def repository_expression() -> str:
    """CEL to append to a list of images: `repository_of` each of them."""
    hub, official = f"{DEFAULT_REGISTRY}/", f"{DEFAULT_REGISTRY}/{OFFICIAL_IMAGES}/"
    return (
        ".map(image, image.split('@')[0])"
        ".map(image, image.lastIndexOf(':') > image.lastIndexOf('/') "
        "? image.substring(0, image.lastIndexOf(':')) : image)"
        ".map(image, image.contains('/') && (image.split('/')[0].contains('.') || image.split('/')[0].contains(':') "
        f"|| image.split('/')[0] == 'localhost') ? image : '{hub}' + image)"
        f".map(image, image.startsWith('{hub}') && size(image.split('/')) == 2 "
        f"? '{official}' + image.split('/')[1] : image)"
    )


def _is_host(first: str) -> bool:
    """Whether the first part of an image's name is a registry."""
    return "." in first or ":" in first or first == "localhost"


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


def text(value: str) -> str:
    """A string literal."""
    # JSON writes a character beyond U+FFFF as two surrogates, which CEL refuses.
    written = (json.dumps(each)[1:-1] if each <= "\uffff" else f"\\U{ord(each):08x}" for each in value)
    return f'"{"".join(written)}"'


def texts(values: Iterable[str]) -> str:
    """A list of string literals."""
    return f"[{', '.join(map(text, values))}]"


def mapping(entries: Mapping[str, str]) -> str:
    """A map of string literals."""
    return f"{{{', '.join(f'{text(key)}: {text(value)}' for key, value in entries.items())}}}"


def boolean(value: bool) -> str:
    """A boolean literal."""
    return "true" if value else "false"


def field_of(parent: str, path: str) -> str:
    """A field as an optional value, for a path any part of which may be missing.

    Args:
        path: names of fields, joined by dots.
    """
    return "".join([parent, *(f".?{name}" for name in path.split("."))])


def unchanged(metadata: str) -> str:
    """CEL for whether an update leaves everything of a Flux object but its status and annotations as it is.

    Args:
        metadata: the field as an expression selects it, `metadata` or `?metadata`.
    """
    fields = ("?spec", *(f"{metadata}.?{each}" for each in ("labels", "finalizers", "ownerReferences")))
    return " && ".join(f"object.{each} == oldObject.{each}" for each in fields)


def joined(items: str) -> str:
    """The items of a list of strings, joined for a message."""
    return f"({items}).join(', ')"


def concatenated(*parts: str) -> str:
    """Expressions for strings, concatenated."""
    return " + ".join(parts)
