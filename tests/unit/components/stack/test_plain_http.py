"""Which hosts Flux's controllers may connect to without TLS."""

import pytest
from sample_stack import FLUX, load

from flux_tenancy.components.stack.platform_objects import plain_http
from flux_tenancy.components.vocabulary.names import Controller

LISTED = ["http://charts.internal:8080/*", "https://git.example.com/*", "oci://registry.internal/apps/*"]
WITHOUT_POLICIES = {"engine": "none"}


def of(config):
    found = plain_http(config)
    assert found.get(Controller.IMAGE_REFLECTOR) == found.get(Controller.SOURCE)
    return {key: found.get(key, ()) for key in (Controller.SOURCE, Controller.NOTIFICATION)}


def test_by_default_none(tmp_path):
    assert plain_http(load(tmp_path, tenants={"dev-team": {}})) == {}


def test_a_list_that_is_in_force_exempts_nothing_where_tls_is_required(tmp_path):
    assert plain_http(load(tmp_path, policies={"sources": {"allowed": ["https://git.example.com/*", *LISTED]}})) == {}


def test_where_plain_http_is_allowed_the_entries_that_may_be_plain_are_exempt(tmp_path):
    policies = {"sources": {"allowed": LISTED, "plainHttp": True}}
    tenant = {"policies": {"sources": ["bucket://store.internal/apps"]}}

    found = of(load(tmp_path, policies=policies, tenants={"dev-team": tenant}))

    assert found[Controller.SOURCE] == ("charts.internal:8080", "registry.internal:80", "store.internal:80")
    assert found[Controller.NOTIFICATION] == ()


@pytest.mark.parametrize(("allowed", "exempt"), [([], ()), (["*"], ("*",))])
def test_where_plain_http_is_allowed_the_list_says_for_which_hosts(tmp_path, allowed, exempt):
    policies = {"sources": {"plainHttp": True, "allowed": allowed}, "notifications": {"plainHttp": True}}

    found = of(load(tmp_path, policies=policies, tenants={"dev-team": {}}))

    assert found == {Controller.SOURCE: exempt, Controller.NOTIFICATION: ()}


def test_hosts_of_notifications_are_those_of_notification_controller(tmp_path):
    policies = {"notifications": {"hosts": ["*.internal", "hooks.example.com:8443"], "plainHttp": True}}

    assert of(load(tmp_path, policies=policies)) == {
        Controller.SOURCE: (),
        Controller.NOTIFICATION: ("*.internal:80", "hooks.example.com:8443"),
    }


def test_what_the_stack_itself_declares_without_tls_goes_on(tmp_path):
    tenant = {
        "source": {"url": "http://git.internal:3000/dev/team"},
        "sources": {"charts": {"kind": "HelmRepository", "url": "oci://registry.internal/charts", "insecure": True}},
    }
    notice = {"type": "alertmanager", "address": "http://alertmanager.monitoring.svc:9093/api/v2/alerts"}
    sync = {"source": {"url": "http://git.internal:3000/platform/fleet"}}

    found = of(
        load(
            tmp_path,
            policies=WITHOUT_POLICIES,
            flux=FLUX | {"sync": sync, "notifications": {"alerts": notice}},
            tenants={"dev-team": tenant},
        )
    )

    assert found[Controller.SOURCE] == ("git.internal:3000", "registry.internal:80")
    assert found[Controller.NOTIFICATION] == (*found[Controller.SOURCE], "alertmanager.monitoring.svc:9093")
