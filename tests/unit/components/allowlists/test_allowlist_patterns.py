"""Entries of allow-lists, by the table that also holds both engines to them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from flux_tenancy.components.allowlists.entries import (
    is_comparable,
    problem_of,
    read_host_pattern,
    read_image_pattern,
    read_pattern,
    repository_of,
)
from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.git.config import GitUrl
from tests.support.allow_lists import IMAGES, SOURCES, is_image_allowed, is_source_allowed

GIT_PAGE = Path(__file__).parents[4] / "docs/git.md"


@pytest.mark.parametrize(("entry", "url", "allowed"), SOURCES)
def test_an_entry_allows_the_sources_that_it_names(entry, url, allowed):
    assert is_source_allowed(url, entry) is allowed


def documented() -> Iterator[tuple[str, str]]:
    """URLs of each Git host, with the entry for all of a team there."""
    for urls, entries in re.findall(r"^\|[^|]*\| (`(?:https|ssh)://[^|]*) \| ([^|]*) \|$", GIT_PAGE.read_text(), re.M):
        yield from zip(re.findall("`([^`]*)`", urls), re.findall("`([^`]*)`", entries), strict=True)


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        *documented(),
        *(
            (url, "*")
            for url in (
                "https://dev.azure.com/org/Apps(Test)/_git/apps",
                "https://dev.azure.com/org/R&D/_git/apps",
                "https://git.example.com/c++/apps",
                "https://git.example.com/%C3%9Cbung/%E6%97%A5",
            )
        ),
        (
            "https://gitlab.example.com/api/v4/projects/group%2Fsub%2Fapps/packages/helm/stable",
            "https://gitlab.example.com/api/v4/projects/group%2Fsub%2Fapps/*",
        ),
        ("oci://europe-docker.pkg.dev/acme/charts", "oci://europe-docker.pkg.dev/acme/*"),
    ],
)
def test_urls_of_the_usual_hosts_can_be_listed(url, entry):
    assert is_source_allowed(url, entry)
    if not url.startswith("oci:"):
        assert TypeAdapter(GitUrl).validate_python(url) == url


def test_the_page_has_the_urls_of_eight_hosts():
    assert len(list(documented())) == 12


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://org@dev.azure.com/org/proj/_git/apps", "has a user"),
        ("ssh://git:pa55word@git.example.com/org/app", "has a password"),
        ("https://Git.example.com/team/apps", "has capital letters in its host"),
        ("ssh://APKA@Git.example.com/team/apps", "has capital letters in its host"),
        ("ssh://APKA@git.example.com/team/../apps", "has an empty part"),
        ("https://git.example.com/org/app?ref=main", "has a query or a fragment"),
        ("https://git.example.com/org/app#main", "has a query or a fragment"),
        ("https://dev.azure.com/org/My Project/_git/App", "has a space"),
        ("https://dev.azure.com/org/B\u00fcro/_git/apps", "has characters beyond ASCII"),
        ("https://git.example.com/org//app", "has an empty part"),
        ("https://git.example.com/org/%2E%2e/app", "has an empty part"),
        ("https://git.example.com/org/app%2Fmore", "has an escape"),
        ("https://git.example.com/org/app%C0%AE", "has an escape"),
        ("https://git.example.com/api/v4/projects/a%2F..%2Fb", "has an escape"),
        ("oci://registry.example.com/org/app:v1", "has a tag or a digest"),
        ("oci://registry.example.com/org/app@sha256:0", "has a tag or a digest"),
        ("git@git.example.com:org/app", "has the short form of SSH"),
        ("https://b\u00fccher.example.com/org/app", "has a host beyond ASCII"),
        ("ssh://git@b\u00fccher.example.com/org/app", "has a host beyond ASCII"),
        ("https://dev.azure.com/org/B%c3%bcro/_git/apps", "has an escape in lower case"),
        ("codecommit::eu-west-1://apps", "is not a URL of this form"),
        ("ssh://git@git.example.com:org/app", "is not a URL of this form"),
    ],
)
def test_a_url_that_cannot_be_compared_is_told_why(url, said):
    assert not is_comparable(url)
    assert problem_of(url).startswith(said)


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
    assert is_image_allowed(image, entry) is allowed


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

    assert code_of(refused.value) == "FT-CFG-006"


@pytest.mark.parametrize(
    "entry", ["", "*", "nginx", "library/nginx", "docker.io", "docker.io/*/a", "a.b/c:v1", "A.b/c"]
)
def test_what_is_no_pattern_of_images_is_refused(entry):
    with pytest.raises(ValueError) as refused:
        read_image_pattern(entry)

    assert code_of(refused.value) == "FT-CFG-006"


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
