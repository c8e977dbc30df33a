"""Paths as messages, reports and `pulumi config set --path` write them."""

from __future__ import annotations

import pytest

from flux_tenancy.components.config.errors import dotted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("tenants", "dev-team", "namespaces", 0, "name"), "tenants.dev-team.namespaces[0].name"),
        (("spec", "containers", "[manager]", "args", 3), "spec.containers[manager].args[3]"),
        (("releases", "web", "secretValues", "redis.password"), 'releases.web.secretValues["redis.password"]'),
        (("app.kubernetes.io/name", "a"), '["app.kubernetes.io/name"].a'),
        ((), ""),
    ],
)
def test_a_path_is_written_as_pulumi_takes_it(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text
