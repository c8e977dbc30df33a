"""The short way of a render: the same objects as by the SDK's messages to the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi.runtime.settings import SETTINGS
from sample_kyverno import KYVERNO, chart_archive
from sample_project import encrypted, rendered, tenant, write_project

from flux_tenancy.review.render import plain_resources
from flux_tenancy.review.render.plain_resources import is_plain
from flux_tenancy.review.render.recorder import record
from flux_tenancy.review.render.rendered import Render

CHART = chart_archive()
METADATA = {"name": "a", "namespace": "apps", "labels": {}}


class Word(StrEnum):
    ONE = "one"


def with_everything(project: Path) -> Render:
    """A stack with generated names, secrets, Kyverno, a platform, protection and a tenant that leaves."""
    write_project(project)
    (project / "chart.tgz").write_bytes(CHART)
    hooked = tenant("dev-team", "apps")
    hooked["source"] |= {"url": "ssh://git@git.example.com/a/apps", "webhook": {"type": "generic-hmac"}}
    return rendered(
        project,
        cluster={"kubeconfig": "kubeconfig", "protect": True},
        kyverno=KYVERNO | {"sha256": hashlib.sha256(CHART).hexdigest(), "chart": {"bundle": "chart.tgz"}},
        policies={"engine": "both", "sources": {"allowed": ["ssh://git@git.example.com/*"]}},
        flux={"webhookUrl": "https://hooks.example.com", "sync": platform_sync()},
        tenants={"dev-team": hooked, "shop": tenant("shop", "shop") | {"state": "leaving"}},
    )


def platform_sync() -> Mapping[str, Any]:
    url = "ssh://git@git.example.com/platform/apps"
    return {"source": {"url": url, "deployKey": encrypted("platform")}, "path": "./staging"}


def test_a_render_has_the_same_objects_as_by_the_sdk(tmp_path, monkeypatch):
    def counted(properties: Any) -> bool:
        asked.append(is_plain(properties))
        return asked[-1]

    asked: list[bool] = []
    monkeypatch.setattr(plain_resources, "is_plain", counted)
    short = with_everything(tmp_path / "short")
    monkeypatch.setattr(plain_resources, "is_plain", lambda _: False)
    by_the_sdk = with_everything(tmp_path / "sdk")

    assert short == by_the_sdk
    assert sum(asked) / len(asked) > 0.9
    assert False in asked


@pytest.mark.parametrize(
    "value",
    [pulumi.UNKNOWN, None, Word.ONE, (1, 2), {1: "a"}, pulumi.FileAsset("a"), object()],
    ids=["unknown", "none", "enum", "tuple", "key", "asset", "object"],
)
def test_the_sdk_takes_what_is_not_plain_data(value):
    assert is_plain({"metadata": METADATA, "spec": [{"a": 1.5, "b": True}]})
    assert not is_plain({"metadata": METADATA, "spec": [{"a": value}]})


def test_the_sdk_takes_what_gets_a_generated_name():
    assert not is_plain({"metadata": {"namespace": "apps"}})


def test_a_plain_resource_has_its_properties_as_attributes():
    def program() -> None:
        first = pulumi.CustomResource("example:index:First", "first", {"metadata": METADATA})
        name = first.metadata["name"]  # type: ignore[attr-defined]
        pulumi.CustomResource("example:index:Second", "second", {"of": name, "unset": hasattr(first, "unset")})

    found = {each.name: each.properties for each in record(program, "project", "stack")}

    assert found["second"] == {"of": "a", "unset": False}


@pytest.mark.parametrize("before", [False, True])
def test_after_a_render_this_process_is_a_preview_only_if_it_was_one_before(monkeypatch, before):
    monkeypatch.setattr(SETTINGS, "dry_run", before)
    seen = []

    record(lambda: seen.append(pulumi.runtime.is_dry_run()), "project", "stack")

    assert (seen, pulumi.runtime.is_dry_run()) == ([True], before)
