"""Flux's controllers behind a forward proxy: its allow-list decides what they fetch for a tenant."""

from __future__ import annotations

import pytest

from tests.e2e.manifests import git_repository, kustomization
from tests.e2e.tenants.given_flux_proxy import ALLOWED, NAMESPACE, REFUSED, TENANT, asked_of_proxy
from tests.support.environment import Environment
from tests.support.lab import eventually


def test_a_file_that_the_proxy_allows_is_part_of_the_build(stack: Environment) -> None:
    eventually(lambda: stack.cluster.find("configmap", "fetched", NAMESPACE))

    assert ("GET", f"http://{ALLOWED}/config-map.yaml") in asked_of_proxy(stack)


@pytest.mark.parametrize(
    ("scheme", "asked", "said"),
    [
        ("http", ("GET", f"http://{REFUSED}/config-map.yaml"), "403 (Forbidden)"),
        ("https", ("CONNECT", f"{REFUSED}:443"), "Forbidden"),
    ],
)
def test_a_file_that_the_proxy_refuses_fails_the_build_and_the_tenant_sees_why(
    stack: Environment, scheme: str, asked: tuple[str, str], said: str
) -> None:
    """`--no-remote-bases` stops repositories, but no single files."""
    name = f"refused-{scheme}"
    manifest = kustomization(name, source=TENANT, place=NAMESPACE, path=f"./{name}", serviceAccountName=TENANT)
    stack.cluster.apply(manifest)

    message = stack.cluster.refusal("kustomization", name, NAMESPACE, saying="kustomize build failed")

    assert f"{scheme}://{REFUSED}/config-map.yaml" in message and said in message
    assert asked in asked_of_proxy(stack)


def test_source_controller_uses_the_proxy_too(stack: Environment) -> None:
    stack.cluster.apply(git_repository("elsewhere", f"https://{REFUSED}/org/app", NAMESPACE))

    assert "Forbidden" in stack.cluster.refusal("gitrepository", "elsewhere", NAMESPACE)
    assert ("CONNECT", f"{REFUSED}:443") in asked_of_proxy(stack)
