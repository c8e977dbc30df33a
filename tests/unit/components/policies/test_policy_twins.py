"""Rules that Python applies to a stack and CEL to a tenant's requests decide alike, whatever is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from sample_stack import tenant_config

from flux_tenancy.components.allowlists.entries import (
    ADDRESS,
    COMPARABLE_URL,
    HOST_PATTERN,
    URL_PATTERN,
    canonical,
    is_comparable,
    mapping,
    origin_of,
    origins_expression,
    read_host_pattern,
    read_image_pattern,
    read_pattern,
    text,
    texts,
)
from flux_tenancy.components.config.types import (
    DNS_LABEL,
    DURATION,
    RESERVED_NAMES,
    RESERVED_PREFIXES,
    TenantName,
    seconds,
)
from flux_tenancy.components.policies.config import AllowedNotifications, PoliciesConfig
from flux_tenancy.components.policies.native_only import is_free
from flux_tenancy.components.policies.notifications import URLS as URLS_OF_TYPES
from flux_tenancy.components.policies.notifications import contacted
from flux_tenancy.components.policies.policy import PolicyName, listed
from flux_tenancy.components.sync.notifications import PROVIDER_TYPES
from flux_tenancy.components.tenant.annotations import IMAGES, NOTIFICATIONS, SOURCES, namespace_annotations
from flux_tenancy.components.tenant.config import TenantPolicies
from flux_tenancy.components.tenant.role import FLUX_KINDS, OPENED_KINDS, group_resource
from tests.support.allow_lists import is_host_allowed, is_image_allowed, is_source_allowed
from tests.support.cel import PolicyInCel, evaluated


def spelled(*parts: str) -> st.SearchStrategy[str]:
    """Texts from these parts and single characters, so that most are nearly right, and some are."""
    noise = st.sampled_from(["", "", "", "", "/", ".", ":", "@", "*", "-", "A", "\n", " ", "%20", "?", "#", "\u212a"])
    piece = st.one_of(st.sampled_from(parts), st.sampled_from(parts), noise)
    return st.lists(piece, max_size=7).map("".join)


def accepted(read: Callable[[str], object], *texts: str) -> list[str]:
    """Those that a reader accepts."""
    found = []
    for each in texts:
        try:
            read(each)
        except ValueError:
            continue
        found.append(each)
    return found


def several(entries: st.SearchStrategy[str], read: Callable[[str], object]) -> st.SearchStrategy[tuple[str, ...]]:
    """Entries of a list that a reader accepts."""
    return st.lists(entries, max_size=4).map(lambda each: tuple(accepted(read, *each)))


def written(*choices: Sequence[str]) -> st.SearchStrategy[str]:
    """Texts with one of each of these choices in this order; `st.from_regex` is too slow for the longer patterns."""
    return st.tuples(*map(st.sampled_from, choices)).map("".join)


SCHEMES, PATHS = ("https://", "http://", "oci://", "ssh://git@", "ssh://"), ("", "/org", "/org/app", "/.github/%20a")
AUTHORITIES = ("git.example.com", "git.example.com:443", "[::1]", "a")
URL_PARTS = (*SCHEMES, "bucket://", *AUTHORITIES, ":443", *PATHS, ".git")
URLS = spelled(*URL_PARTS) | written(SCHEMES, AUTHORITIES, PATHS)
ENTRIES = written(SCHEMES, AUTHORITIES, PATHS, ("", "/*", ".git"))
SOURCE_ENTRIES = ENTRIES | ENTRIES | ENTRIES | spelled(*URL_PARTS, "/*") | st.just("*")


def with_end(texts: st.SearchStrategy[str], ends: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.tuples(texts, st.sampled_from(ends)).map("".join)


@st.composite
def sources(draw: st.DrawFn) -> tuple[list[str], str]:
    """A list of sources and a URL, which often extends one of its entries."""
    entries = draw(st.lists(SOURCE_ENTRIES, min_size=1, max_size=2))
    near = with_end(st.sampled_from(entries).map(lambda each: each.removesuffix("/*")), ("", "/", "/app", "-x", ".git"))
    return entries, draw(near | near | near | URLS)


SOURCES_IN_CEL = PolicyInCel(PolicyName.ALLOWED_SOURCES, PoliciesConfig())


@given(sources())
def test_a_list_allows_the_same_sources_in_a_stack_and_in_a_request(drawn):
    entries, url = drawn
    source = {"kind": "GitRepository", "spec": {"url": url}}
    valid = accepted(read_pattern, *(each for each in entries if " " not in each))

    seen = SOURCES_IN_CEL.variables(source, {SOURCES: " ".join(entries)} if entries else {})

    assert seen["compared"] == canonical(url)
    assert SOURCES_IN_CEL.allows(0, source, seen) == is_comparable(url)
    if not any(" " in each for each in entries):
        assert seen["entries"] == [canonical(each) for each in valid]
        allowed = is_comparable(url) and seen["listed"]
        assert allowed == any(is_source_allowed(url, each) for each in valid)


REGISTRIES = ("registry.example.com/", "localhost/", "docker.io/", "host:5000/", "registry/")
REPOSITORIES = ("org/app", "library/nginx", "a__b.c/d-e")
TAGS = ("", ":v1", f"@sha256:{'0' * 64}", f":v1@sha256:{'0' * 64}")
NAMES = st.one_of(spelled(*REGISTRIES, *REPOSITORIES, *TAGS, "/"), written(("", *REGISTRIES), REPOSITORIES, TAGS))
IMAGES_AT = written(REGISTRIES, REPOSITORIES, ("", "/*"))
IMAGE_ENTRIES = IMAGES_AT | IMAGES_AT | IMAGES_AT | spelled(*REGISTRIES, *REPOSITORIES, "/*")


@st.composite
def images(draw: st.DrawFn) -> tuple[list[str], str]:
    """A list of images and the name of one, which often extends one of its entries."""
    entries = draw(st.lists(IMAGE_ENTRIES, min_size=1, max_size=2))
    ends = (*TAGS, "-x", *("/app" + tag for tag in TAGS))
    near = st.sampled_from(entries).map(lambda each: each.removesuffix("/*"))
    hub = near.map(lambda each: each.removeprefix("docker.io/").removeprefix("library/"))
    return entries, draw(with_end(near | hub, ends) | with_end(near | hub, ends) | NAMES)


LISTED_IMAGES = PoliciesConfig.model_validate({"images": {"allowed": []}})
IMAGES_IN_CEL = PolicyInCel(PolicyName.ALLOWED_IMAGES, LISTED_IMAGES)


@given(images())
def test_a_list_allows_the_same_images_in_a_stack_and_in_a_request(drawn):
    entries, image = drawn
    # One of these has no registry, so a stack refuses it, and in a request it is one of no image.
    valid = accepted(read_image_pattern, *" ".join(entries).split(" "))

    seen = IMAGES_IN_CEL.variables(
        {"kind": "Pod", "spec": {"containers": [{"image": image}]}}, {IMAGES: " ".join(entries)}
    )

    assert (seen["foreign"] == []) == any(is_image_allowed(image, each) for each in valid)


HOST_PARTS = ("hooks.example.com", "example.com", "hooks.", "[::1]", ":443", ":80", ":8443", "x")
HOST_ENTRIES = st.one_of(spelled("*.", *HOST_PARTS), st.from_regex(HOST_PATTERN, fullmatch=True))
ADDRESSES = st.one_of(
    spelled("https://", "http://", "HTTPS://", "user:key@", *HOST_PARTS, "/path"),
    st.from_regex(ADDRESS, fullmatch=True),
    with_end(st.from_regex(ADDRESS, fullmatch=True), ("\n", "\u212a", ",https://a.b")),
)


@given(ADDRESSES)
@example("https://hooks.slac\u212a.com/x")
@example("https://hooks.example.com/x\n")
def test_an_address_has_the_same_origin_in_a_stack_and_in_a_request(address):
    lowercase = f"[value].map(each, each.lowerAscii()).filter(each, each.matches({text(ADDRESS)}))"

    assert evaluated(lowercase + origins_expression(), address) == [
        origin for origin in (origin_of(address),) if origin is not None
    ]


@st.composite
def hosts(draw: st.DrawFn) -> tuple[list[str], str]:
    """A list of hosts and a host, which often is one of an entry, below it, or begins as it does."""
    entries = draw(st.lists(HOST_ENTRIES | spelled("*.", "example.com"), min_size=1, max_size=3))
    near = st.tuples(st.sampled_from(["", "", "a.", "x", "a.b."]), st.sampled_from(entries)).map("".join)
    return entries, draw(near.map(lambda each: each.replace("*.", "", 1)) | spelled(*HOST_PARTS))


HOSTS_IN_CEL = PolicyInCel(PolicyName.NOTIFICATION_ADDRESSES, PoliciesConfig())


@given(hosts())
@example((["*.example.com"], "evil-example.com"))
def test_a_list_allows_the_same_hosts_in_a_stack_and_in_a_request(drawn):
    entries, host = drawn
    own = [each for each in entries if " " not in each]
    provider = {"kind": "Provider", "spec": {"type": "generic", "address": f"https://{host}"}}
    seen = HOSTS_IN_CEL.variables(provider, {NOTIFICATIONS: " ".join(own)})

    valid = accepted(read_host_pattern, *own)
    assert seen["entries"] == valid
    if origin := origin_of(f"https://{host}"):
        assert HOSTS_IN_CEL.allows(4, provider, seen) == is_host_allowed(origin.partition("://")[2], valid)


NOTIFICATIONS_CONFIG = AllowedNotifications.model_validate({"types": list(PROVIDER_TYPES), "hosts": ["*.example.com"]})
PROVIDERS_IN_CEL = PolicyInCel(PolicyName.NOTIFICATION_ADDRESSES, PoliciesConfig(notifications=NOTIFICATIONS_CONFIG))


REWRITTEN = sorted({type_ for types, _ in URLS_OF_TYPES.values() for type_ in types})
STARTS, ENDS = ("ssh://git@", "nats://", "tls://", "https://", "git@"), ("", "/app", ":org/app", "\n")


@given(
    st.sampled_from(REWRITTEN) | st.sampled_from(sorted(PROVIDER_TYPES)),
    written(STARTS, ("a.example.com", "example.com", "xexample.com"), ENDS) | ADDRESSES | st.none(),
    st.lists(HOST_ENTRIES, max_size=2),
)
def test_a_provider_contacts_the_same_host_in_a_stack_and_in_a_request(type_, address, own):
    own = accepted(read_host_pattern, *own)
    provider = {"kind": "Provider", "spec": {"type": type_} | ({"address": address} if address else {})}

    seen = PROVIDERS_IN_CEL.variables(provider, {NOTIFICATIONS: " ".join(own)} if own else {})

    url = contacted(type_, address or None)
    origin = origin_of(url or "")
    is_single = PROVIDERS_IN_CEL.allows(2, provider, seen)
    assert is_single == (url is None or origin is not None)
    if is_single:
        host = (origin or "").partition("://")[2]
        is_listed = is_host_allowed(host, (*NOTIFICATIONS_CONFIG.hosts, *own))
        assert PROVIDERS_IN_CEL.allows(4, provider, seen) == (url is None or is_listed)


LABELS = st.one_of(
    spelled(*RESERVED_NAMES, *RESERVED_PREFIXES, "team", "-", "0", "x" * 62),
    st.from_regex(DNS_LABEL, fullmatch=True),
    st.text(),
)


@given(LABELS)
@example("team\n")
def test_a_tenant_may_have_the_same_names_in_a_stack_and_as_a_label(name):
    try:
        TypeAdapter(TenantName).validate_python(name)
        free = True
    except ValidationError:
        free = False

    assert evaluated(is_free("value"), name) == free


# Shorter than the longest that Go and CEL have, and of whole nanoseconds.
DURATIONS = st.lists(st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,3})?(ms|s|m|h)", fullmatch=True), min_size=1, max_size=3).map(
    "".join
)


@given(DURATIONS, DURATIONS)
@example("0.1s0.2s", "0.3s")
def test_a_duration_is_too_short_or_too_long_in_a_stack_and_in_a_request_alike(value, limit):
    object = {"kind": "GitRepository", "spec": {"interval": value, "timeout": value}}
    config = PoliciesConfig.model_construct(minimum_interval=limit, maximum_timeout=limit)

    interval, timeout = (
        PolicyInCel(name, config) for name in (PolicyName.RECONCILIATION_INTERVAL, PolicyName.RECONCILIATION_TIMEOUT)
    )

    assert interval.allows(0, object, interval.variables(object, {})) == (seconds(value) >= seconds(limit))
    assert timeout.allows(0, object, timeout.variables(object, {})) == (0 < seconds(value) <= seconds(limit))


CUSTOM_KINDS = st.from_regex(r"[a-z]{1,8}\.[a-z]{1,5}\.(example\.com|io)", fullmatch=True)
KINDS_IN_CEL = PolicyInCel(PolicyName.ALLOWED_KINDS, PoliciesConfig())


@given(st.lists(st.one_of(st.sampled_from(OPENED_KINDS), CUSTOM_KINDS), max_size=5, unique=True), st.data())
def test_a_kind_is_open_in_a_request_if_the_tenant_lists_it(kinds, data):
    known = st.sampled_from(list(FLUX_KINDS.values()))
    custom = st.sampled_from([kind for kind in kinds if "." in kind] or ["a.b.c"]).map(
        lambda each: tuple(each.split(".", 1)[::-1])
    )
    group, resource = data.draw(st.one_of(known, custom))
    config = tenant_config(policies={"kinds": kinds})
    annotations = namespace_annotations(config, ())
    seen = KINDS_IN_CEL.variables({"spec": {}}, annotations, resource={"group": group, "resource": resource})

    is_listed = any((group, resource) == FLUX_KINDS.get(kind) or f"{resource}.{group}" == kind for kind in kinds)
    assert (seen["resource"] in seen["own"]) == is_listed
    assert seen["resource"] == group_resource(group, resource)
    assert KINDS_IN_CEL.allows(1, {"spec": {}}, seen) == is_listed


@given(
    st.builds(
        TenantPolicies,
        sources=several(SOURCE_ENTRIES, read_pattern),
        images=several(IMAGE_ENTRIES, read_image_pattern),
        notifications=several(HOST_ENTRIES, read_host_pattern),
    )
)
def test_a_policy_reads_from_annotations_the_lists_that_the_tenant_has(policies):
    annotations = namespace_annotations(tenant_config().model_copy(update={"policies": policies}), ())

    for key, entries in (
        (SOURCES, policies.sources),
        (IMAGES, policies.images),
        (NOTIFICATIONS, policies.notifications),
    ):
        found = evaluated(listed(key), namespaceObject={"metadata": {"annotations": annotations}})
        assert found == list(entries or ())


@given(st.dictionaries(st.text(), st.text(), max_size=4))
@example({"\U0001f680": "\x7f\\\"'\n"})
def test_any_text_is_itself_as_a_literal(entries):
    assert evaluated(mapping(entries)) == entries
    assert evaluated(texts(entries)) == list(entries)


PATTERNS = (ADDRESS, HOST_PATTERN, COMPARABLE_URL, URL_PATTERN, DNS_LABEL, DURATION)


@pytest.mark.parametrize("pattern", PATTERNS, ids=range(len(PATTERNS)))
@given(data=st.data())
def test_a_pattern_matches_the_same_texts_in_python_and_in_cel(pattern, data):
    value = data.draw(with_end(st.from_regex(pattern), ("", "\n", "\u0660", "\u212a")))

    assert evaluated(f"value.matches({text(pattern)})", value) == (re.fullmatch(pattern, value) is not None)
