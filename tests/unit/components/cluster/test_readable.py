"""What a preview does without if its user may not read it, and that an update does not."""

from __future__ import annotations

import pytest
from kubernetes import client

from flux_tenancy.components.cluster import component
from flux_tenancy.components.cluster.client import AccessDenied, ClusterUnavailable
from flux_tenancy.components.cluster.component import finder, if_readable, readable_only
from flux_tenancy.components.engine.state import State

API = client.ApiClient(client.Configuration())
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git-1f", "namespace": "apps"}}
SOURCE = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "GitRepository",
    "metadata": {"name": "a", "namespace": "b"},
}
RECORDED = {"metadata": {"name": "git-1f", "namespace": "apps"}, "data": {"identity.pub": "eA=="}}
STATE = State({("kubernetes:core/v1:Secret", "dev-team-git"): RECORDED})


def denied(*_: object) -> None:
    raise AccessDenied("kubeconfig", "403 Forbidden")


@pytest.fixture(autouse=True)
def _update(monkeypatch) -> None:
    """The SDK's own setting stays as the last program of another test has left it."""
    monkeypatch.setattr("pulumi.runtime.is_dry_run", lambda: False)


@pytest.fixture
def preview(monkeypatch) -> None:
    monkeypatch.setattr("pulumi.runtime.is_dry_run", lambda: True)


def test_a_preview_goes_on_without_what_it_may_not_read(preview):
    assert if_readable(lambda: 1, 2) == 1
    assert if_readable(denied, 2) == 2


def test_an_update_does_not():
    with pytest.raises(AccessDenied):
        if_readable(denied, 2)


def test_a_cluster_that_does_not_answer_is_an_error_of_a_preview_too(preview):
    def fails() -> None:
        raise ClusterUnavailable("kubeconfig", "unreachable")

    with pytest.raises(ClusterUnavailable):
        if_readable(fails, 2)


@pytest.fixture
def unreadable(monkeypatch) -> None:
    """This user may not read any object."""
    monkeypatch.setattr(component, "find_object", denied)


@pytest.mark.usefixtures("preview", "unreadable")
def test_a_preview_finds_the_secrets_of_the_stack_in_its_state():
    assert finder(API, STATE)(SECRET) == RECORDED
    assert finder(API, State({}))(SECRET) is None


@pytest.mark.usefixtures("preview", "unreadable")
def test_other_objects_are_never_taken_from_the_state_and_taken_for_absent_at_most():
    with pytest.raises(AccessDenied):
        finder(API, STATE)(SOURCE)
    assert readable_only(finder(API, STATE))(SOURCE) is None


def test_an_object_of_the_cluster_comes_before_that_of_the_state(preview, monkeypatch):
    monkeypatch.setattr(component, "find_object", lambda *_: {"data": {}})

    assert finder(API, STATE)(SECRET) == {"data": {}}
    assert readable_only(finder(API, STATE))(SOURCE) == {"data": {}}


@pytest.mark.usefixtures("unreadable")
def test_an_update_needs_the_objects_of_the_cluster():
    for find, wanted in ((finder(API, STATE), SECRET), (readable_only(finder(API, STATE)), SOURCE)):
        with pytest.raises(AccessDenied):
            find(wanted)
