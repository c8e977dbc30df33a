"""Modules that several tools contain have the same version."""

from __future__ import annotations

from pathlib import Path

import pytest

from dev.lab.align import behind, read_pins
from dev.lab.go_command import Go, Pin
from dev.lab.settings import Settings
from dev.lab.tools_table import modules_folder

X = "golang.org/x/net"


def pins(**versions: str) -> dict[str, dict[str, Pin]]:
    return {folder: {X: Pin(X, version)} for folder, version in versions.items()}


def test_the_labs_tools_have_the_same_versions_of_shared_modules(tmp_path: Path) -> None:
    go = Go(tmp_path / "cache", tmp_path / "work")
    assert behind(read_pins(go, modules_folder(Settings.load().project))) == {}, "run `python -m dev.lab.align`"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("v0.9.0", "v0.10.0"),
        ("v1.2.3-rc.1", "v1.2.3"),
        ("v0.0.0-20260101000000-abcdefabcdef", "v0.0.0-20260102000000-0123456789ab"),
        ("v1.36.12-0.20260120151049-f2248ac996af", "v1.36.12"),
        ("v28.0.0+incompatible", "v29.6.2+incompatible"),
    ],
)
def test_an_older_version_has_to_be_raised(older: str, newer: str) -> None:
    assert behind(pins(flux=older, kyverno=newer)) == {"flux": {X: newer}}
    assert behind(pins(flux=newer, kyverno=newer)) == {}


def test_a_replaced_module_is_not_raised_but_others_are_raised_to_it() -> None:
    held = {"gitea": {X: Pin(X, "v0.2.0", replaced=True)}}
    assert behind(held | pins(flux="v0.1.0")) == {"flux": {X: "v0.2.0"}}
    assert behind(held | pins(flux="v0.3.0")) == {}


def test_forks_are_ignored() -> None:
    fork = {"kyverno": {X: Pin("example.org/fork", "v9.0.0", replaced=True)}}
    assert behind(fork | pins(flux="v0.1.0")) == {}


@pytest.mark.parametrize(
    ("folder", "module", "stays"),
    [
        ("pulumi-kubernetes", "k8s.io/client-go", True),
        ("pulumi-kubernetes", X, False),
        ("kubernetes", "k8s.io/api", True),
        ("kubernetes", X, False),
        ("kubernetes-1.33", X, True),
        ("gitea", "github.com/fluxcd/pkg/ssa", True),
    ],
)
def test_modules_that_keep_upstreams_versions(folder: str, module: str, stays: bool) -> None:
    found = behind({folder: {module: Pin(module, "v0.1.0")}, "flux": {module: Pin(module, "v0.2.0")}})
    assert (found == {}) is stays
