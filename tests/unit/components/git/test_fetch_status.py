"""A fetch with a deploy key is proven by what source-controller writes after a checkout, and not by being ready."""

from base64 import b64encode

import pytest

from flux_tenancy.components.git.rotation import lacking_proof

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


def secret(public=KEY):
    return {"data": {"identity.pub": b64encode(f"{public}\n".encode()).decode()}}


def condition(kind, status="True", generation=3, message=""):
    return {"type": kind, "status": status, "observedGeneration": generation, "message": message}


def source(*conditions, **spec):
    """A source of the third generation."""
    return {
        "metadata": {"generation": 3},
        "spec": {"secretRef": {"name": "dev-team-git-0"}, **spec},
        "status": {"observedGeneration": 3, "artifact": {"revision": "main@sha1:ab"}, "conditions": list(conditions)},
    }


READY = condition("Ready")
OLD = condition("ArtifactInStorage", generation=2)
WHY = "failed to checkout: unable to authenticate"
REFUSED = condition("FetchFailed", message="failed to checkout:\nunable to authenticate")


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param([READY, condition("ArtifactInStorage")], id="fetched, and nothing new"),
        pytest.param([condition("SourceVerified", "False"), OLD], id="unsigned"),
        pytest.param([condition("SourceVerified"), condition("StorageOperationFailed")], id="fetched, and not stored"),
        pytest.param([REFUSED, condition("ArtifactInStorage")], id="fetched, and deleted after it"),
    ],
)
def test_a_checkout_of_this_generation_is_the_proof(conditions):
    assert lacking_proof(source(*conditions), secret(), KEY) is None


@pytest.mark.parametrize(
    ("conditions", "spec", "expected"),
    [
        pytest.param([REFUSED, OLD], {}, WHY, id="refused"),
        pytest.param([OLD], {}, "not fetched yet", id="not looked at yet"),
        pytest.param([condition("SourceVerified", "False", 2)], {}, "not fetched yet", id="of the generation before"),
        # source-controller sums up a suspended source as ready, and as observed.
        pytest.param([READY, OLD], {"suspend": True}, "the source is suspended", id="suspended"),
        pytest.param([condition("ArtifactInStorage", "Unknown")], {}, "not fetched yet", id="nothing stored"),
        pytest.param([], {}, "not fetched yet", id="new"),
    ],
)  # fmt: skip
def test_a_condition_of_an_earlier_generation_is_no_proof(conditions, spec, expected):
    assert lacking_proof(source(*conditions, **spec), secret(), KEY) == expected


@pytest.mark.parametrize("found", [None, {}, {"data": None}, {"data": {"password": ""}}, secret(f"{KEY[:-1]}m")])
def test_a_fetch_with_other_credentials_is_no_proof(found):
    """An update that failed halfway has registered the key but not yet changed the source to use it."""
    fetched = source(condition("ArtifactInStorage"))

    assert lacking_proof(fetched, found, KEY) == "the source does not refer to it yet"


def test_without_a_source_nothing_is_proven():
    assert lacking_proof(None, None, KEY) == "the source does not exist yet"
