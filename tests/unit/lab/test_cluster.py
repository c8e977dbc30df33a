"""Clusters with stand-ins for their components (fake_part.py): what is started, kept, restarted and refused."""

import base64
import ipaddress
import json
import re
import stat
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
import yaml

from dev.lab import files
from dev.lab.cluster import Cluster, clusters
from dev.lab.control_plane import STAGES, ControlPlane, Network
from dev.lab.errors import LabError
from dev.lab.free_ports import free_port_base
from dev.lab.settings import PORTS_EACH, Settings

PARTS = [part for stage in STAGES for part in stage]
FAKE = Path(__file__).with_name("fake_part.py")
TOOLS = dict.fromkeys(PARTS, FAKE)


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Iterator[Settings]:
    real = ControlPlane.command

    def with_python(plane: ControlPlane, part: str, program: Path) -> tuple[str, ...]:
        return (sys.executable, str(program), part, *real(plane, part, program)[1:])

    monkeypatch.setattr(ControlPlane, "command", with_python)
    settings = Settings(tmp_path / "project", tmp_path / "cache", tmp_path / "state", free_port_base(clusters=3))
    yield settings
    for cluster in clusters(settings):
        cluster.stop()


@pytest.fixture
def staging(settings) -> Cluster:
    return Cluster(settings, "staging")


def processes(cluster: Cluster) -> dict[str, psutil.Process | None]:
    return {part: daemon.process() for part, daemon in cluster.daemons().items()}


def running(cluster: Cluster) -> dict[str, psutil.Process]:
    """The running processes."""
    return {part: process for part, process in processes(cluster).items() if process is not None}


def test_a_killed_component_is_started_again_and_the_others_keep_running(staging):
    part = "kube-apiserver"
    staging.up(TOOLS)
    before = processes(staging)
    running(staging)[part].kill()

    staging.up(TOOLS)

    after = processes(staging)
    assert {name for name in PARTS if after[name] != before[name]} == {part}
    assert after[part] is not None


def test_a_cluster_has_a_private_kubeconfig_and_a_warning_and_stop_ends_all_processes_and_keeps_the_state(
    settings, staging
):
    assert staging.warning is None
    staging.up(TOOLS)
    assert staging.warning == "Cluster staging does not enforce memory and CPU limits: read-only file system"
    kubeconfig = staging.kubeconfig.read_text()

    staging.stop()

    assert not any(processes(staging).values())
    assert staging.exists()
    assert staging.kubeconfig.read_text() == kubeconfig
    assert staging.warning is None
    config = yaml.safe_load(kubeconfig)
    assert config["current-context"] == config["contexts"][0]["name"] == "staging"
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    assert cluster["server"] == f"https://127.0.0.1:{settings.port_base + 10}"
    assert b"BEGIN CERTIFICATE" in base64.b64decode(cluster["certificate-authority-data"])
    assert b"PRIVATE KEY" in base64.b64decode(user["client-key-data"])
    assert stat.S_IMODE(staging.kubeconfig.stat().st_mode) == 0o600


def test_new_certificates_restart_running_components(staging):
    staging.up(TOOLS)
    before = processes(staging)
    (staging.folder / "pki" / "api-ca.key").unlink()

    staging.up(TOOLS)

    assert not set(before.values()) & set(processes(staging).values())


@pytest.mark.parametrize("text", ["{", '{"index": 0}'])
def test_a_damaged_record_is_written_again(staging, text):
    staging.up(TOOLS)
    before = processes(staging)
    (staging.folder / "cluster.json").write_text(text)

    staging.up(TOOLS)

    assert processes(staging) == before
    assert json.loads((staging.folder / "cluster.json").read_text()) == {"index": 1}


def test_staging_and_production_have_their_own_index_and_others_the_next_free_one(settings):
    def ports(name):
        cluster = Cluster(settings, name)
        cluster._prepare(TOOLS)
        return cluster.daemons()["kube-apiserver"].ports[0] - settings.port_base

    assert [ports(name) for name in ("eu", "production", "us", "staging", "eu")] == [30, 20, 40, 10, 30]


@pytest.mark.parametrize("name", ["", "Staging", "a.b", "-a", "a-", "a/b", "..", "a" * 64])
def test_a_name_that_is_not_a_dns_label_is_an_error(settings, name):
    with pytest.raises(LabError, match=re.escape(f"{name!r} is not a valid name of a cluster")):
        Cluster(settings, name)


def test_a_state_that_is_not_writable_is_an_error_with_its_path(tmp_path):
    (tmp_path / "file").write_text("")
    settings = Settings(tmp_path, tmp_path, tmp_path / "file" / "state", 20800)

    with pytest.raises(LabError) as error:
        Cluster(settings, "staging").up(TOOLS)

    assert str(tmp_path / "file") in error.value.message
    assert "LAB_STATE" in error.value.remedy


def test_a_full_disk_is_an_error_before_anything_starts(staging, monkeypatch):
    monkeypatch.setattr(files, "_ROOM_NEEDED", 2**60)

    with pytest.raises(LabError, match="MiB are free in"):
        staging.up(TOOLS)

    assert not staging.exists()


def test_clusters_with_different_ports_have_different_addresses():
    networks = [Network(first_port) for first_port in range(1024, 65530, PORTS_EACH)]
    ranges = sorted(ipaddress.IPv4Network(each) for n in networks for each in (n.service_range, n.pod_range))

    assert not any(earlier.overlaps(later) for earlier, later in pairwise(ranges))
    assert all(each.subnet_of(ipaddress.IPv4Network("127.0.0.0/8")) for each in ranges)
    assert not ranges[0].overlaps(ipaddress.ip_network("127.0.0.1/32"))
    assert all(ipaddress.ip_address(n.service_address) in ipaddress.ip_network(n.service_range) for n in networks)
