"""Entries of allow-lists, by the table that also holds both engines to them."""

import pytest

from flux_tenancy.components.allowlists.host_patterns import read_host_pattern
from flux_tenancy.components.allowlists.image_patterns import read_image_pattern, repository_of
from flux_tenancy.components.allowlists.source_patterns import read_pattern
from flux_tenancy.components.config.messages import code_of
from tests.support.allow_lists import IMAGES, SOURCES


@pytest.mark.parametrize(("entry", "url", "allowed"), SOURCES)
def test_an_entry_allows_the_sources_that_it_names(entry, url, allowed):
    assert read_pattern(entry).allows(url) is allowed


@pytest.mark.parametrize(
    ("entry", "same"),
    [
        ("https://charts.example.com/", "https://charts.example.com"),
        ("https://git.example.com/org/app.git", "https://git.example.com/org/app"),
        ("https://git.example.com/org/app.git/", "https://git.example.com/org/app"),
    ],
)
def test_an_entry_may_be_spelled_as_a_source_is(entry, same):
    assert read_pattern(entry) == read_pattern(same)


@pytest.mark.parametrize(("entry", "image", "allowed"), IMAGES)
def test_an_entry_allows_the_images_that_it_names(entry, image, allowed):
    assert read_image_pattern(entry).allows(image) is allowed


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "git.example.com/org/*",
        "https://",
        "ssh://git@git.example.com",
        "bucket://storage.example.com",
        "https://*/org",
        "https://*.example.com/org/*",
        "https://git.example.com/org*",
        "https://git.example.com/*/app",
        "https://user@git.example.com/org/*",
        "https://GIT.example.com/org/*",
        "https://git.example.com/org/../*",
        "https://git.example.com/org/%2e%2e/*",
        "https://git.example.com/org%2fapp",
        "https://git.example.com?x=/*",
        "https://git.example.com/org /*",
        "https:/*",
        "file:///etc/*",
        "git@git.example.com:org/*",
    ],
)
def test_what_is_no_pattern_of_sources_is_refused(entry):
    with pytest.raises(ValueError) as refused:
        read_pattern(entry)

    assert code_of(refused.value) == "FT-CFG-150"


@pytest.mark.parametrize("entry", ["hooks.slack.com", "*.example.com", "alerts.example.com:8443", "[2001:db8::1]:80"])
def test_a_pattern_of_hosts_is_kept_as_it_is(entry):
    assert read_host_pattern(entry) == entry


@pytest.mark.parametrize(
    "entry", ["", "*", "*.", "https://a.b", "a.b/c", "A.b", "a.b.", "a@b", "a.*.b", "*a.b", "a.b:0", "a b", "a.b:*"]
)
def test_what_is_no_pattern_of_hosts_is_refused(entry):
    with pytest.raises(ValueError) as refused:
        read_host_pattern(entry)

    assert code_of(refused.value) == "FT-CFG-152"


@pytest.mark.parametrize(
    "entry", ["", "*", "nginx", "library/nginx", "docker.io", "docker.io/*/a", "a.b/c:v1", "A.b/c"]
)
def test_what_is_no_pattern_of_images_is_refused(entry):
    with pytest.raises(ValueError) as refused:
        read_image_pattern(entry)

    assert code_of(refused.value) == "FT-CFG-151"


@pytest.mark.parametrize(
    ("image", "repository"),
    [
        ("nginx", "docker.io/library/nginx"),
        ("docker.io/nginx", "docker.io/library/nginx"),
        ("org/app", "docker.io/org/app"),
        ("localhost/app", "localhost/app"),
        ("host:5000/app", "host:5000/app"),
        ("host:5000/app:v1", "host:5000/app"),
        ("ghcr.io/org/app:v1@sha256:00", "ghcr.io/org/app"),
    ],
)
def test_an_image_is_read_as_container_runtimes_do(image, repository):
    assert repository_of(image) == repository
