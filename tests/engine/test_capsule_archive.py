"""The composed archive of Capsule's chart, compared with known facts about the published one."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from dev.lab.build import ensure
from dev.lab.settings import Settings

VERSION = "0.14.0"
SHA256 = "a292d60de980b63e8af8e4d96e5e2fbc5a96c444ac8079f50fc8727a9efc0c0a"
"""The pin of the module decides every byte: another digest without another pin is a mistake."""


@pytest.fixture(scope="module")
def archive() -> Path:
    name = f"capsule-chart-{VERSION}"
    return ensure(Settings.load(), [name])[name]


def content(archive: Path, file: str) -> Any:
    with tarfile.open(archive) as packed:
        found = packed.extractfile(file)
        assert found is not None, f"{file} is no file"
        return yaml.safe_load(found)


def test_the_archive_of_capsules_chart_is_always_the_same(archive: Path) -> None:
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256


def test_chart_and_app_have_the_version_of_the_release(archive: Path) -> None:
    metadata = content(archive, "capsule/Chart.yaml")

    assert (metadata["version"], metadata["appVersion"]) == (VERSION, VERSION)
    assert archive.name == f"capsule-{VERSION}.tgz"


def test_the_proxy_that_the_archive_leaves_out_is_listed_and_off_by_default(archive: Path) -> None:
    metadata = content(archive, "capsule/Chart.yaml")

    assert metadata["dependencies"] == []
    assert metadata["annotations"]["flux-tenancy.dev/composed"] == "left out, since off by default: capsule-proxy"
    assert content(archive, "capsule/values.yaml")["proxy"]["enabled"] is False
