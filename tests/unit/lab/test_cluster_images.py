import json
import os
from pathlib import Path
from typing import Any

import pytest

from lab.images import write_images


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "images.json"


def program(folder: Path, name: str) -> Path:
    path = folder / name
    path.touch()
    return path


def images(table: Path) -> dict[str, dict[str, Any]]:
    return {entry["image"]: entry for entry in json.loads(table.read_text())["images"]}


def test_a_controller_listens_only_on_the_address_of_its_pod(table, tmp_path):
    source = program(tmp_path, "source-controller")

    write_images(table, {"source-controller@v1.9.5": source})

    entry = images(table)["ghcr.io/fluxcd/source-controller:v1.9.5"]
    assert entry["binary"] == str(source)
    assert sorted(entry["args"]) == [
        "--health-addr={{.PodIP}}:9440",
        "--metrics-addr={{.PodIP}}:8080",
        "--storage-addr={{.PodIP}}:9090",
    ]


def test_only_notification_controller_has_an_address_for_events(table, tmp_path):
    names = ("source", "kustomize", "helm", "notification")
    write_images(table, {f"{name}-controller@v1": program(tmp_path, name) for name in names})

    told = [image for image, entry in images(table).items() if any("--events-addr" in each for each in entry["args"])]
    assert told == ["ghcr.io/fluxcd/notification-controller:v1"]


def test_only_kustomize_controller_has_gnupg(table, tmp_path):
    names = ("source", "kustomize", "helm", "notification")
    write_images(table, {f"{name}-controller@v1": program(tmp_path, name) for name in names})

    environments = {image: entry["env"] for image, entry in images(table).items() if entry["env"]}
    [(image, environment)] = environments.items()
    assert image == "ghcr.io/fluxcd/kustomize-controller:v1"
    assert os.access(environment["SOPS_GPG_EXEC"], os.X_OK)


def test_kyverno_has_its_credentials_and_its_addresses_as_arguments(table, tmp_path):
    names = ("kyverno", "background-controller", "reports-controller")
    write_images(table, {f"{name}@v1.19.1": program(tmp_path, name) for name in names})

    entries = images(table)
    assert set(entries) == {f"reg.kyverno.io/kyverno/{name}:v1.19.1" for name in names}
    for image, entry in entries.items():
        assert {"--kubeconfig={{.Kubeconfig}}", "--metricsHost={{.PodIP}}"} <= set(entry["args"])
        # The Deployment also sets this flag, so it has to come last; the reports controller does not have it.
        metrics = [] if "reports" in image else ["--controllerRuntimeMetricsAddress={{.PodIP}}:8080"]
        assert entry["overrides"] == metrics
    asked = [image for image, entry in entries.items() if "--webhookServerHost={{.PodIP}}" in entry["args"]]
    assert asked == ["reg.kyverno.io/kyverno/kyverno:v1.19.1"]


def test_capsule_has_its_address_as_a_variable_and_the_volume_of_its_certificate_as_an_argument(table, tmp_path):
    write_images(table, {"capsule@v0.14.0": program(tmp_path, "capsule")})

    entry = images(table)["ghcr.io/projectcapsule/capsule:v0.14.0"]
    assert entry["env"] == {"LAB_POD_IP": "{{.PodIP}}"}
    assert "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs" in entry["args"]


def test_only_controllers_that_were_built_are_listed(table, tmp_path):
    write_images(table, {"etcd": program(tmp_path, "etcd"), "helm-controller@v1.6.4": tmp_path / "missing"})

    assert images(table) == {}


def test_images_of_an_earlier_call_are_kept_while_their_program_exists(table, tmp_path):
    old, gone = program(tmp_path, "old"), program(tmp_path, "gone")
    write_images(table, {"helm-controller@v1.6.3": old, "helm-controller@v1.6.2": gone})
    gone.unlink()

    write_images(table, {"helm-controller@v1.6.4": program(tmp_path, "new")})

    assert sorted(images(table)) == [
        "ghcr.io/fluxcd/helm-controller:v1.6.3",
        "ghcr.io/fluxcd/helm-controller:v1.6.4",
    ]


def test_a_rebuilt_program_replaces_the_old_one(table, tmp_path):
    write_images(table, {"helm-controller@v1.6.4": program(tmp_path, "old")})
    write_images(table, {"helm-controller@v1.6.4": program(tmp_path, "new")})

    assert images(table)["ghcr.io/fluxcd/helm-controller:v1.6.4"]["binary"] == str(tmp_path / "new")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"images": [{}]}'])
def test_a_damaged_table_is_written_again(table, tmp_path, text):
    table.write_text(text)

    write_images(table, {"helm-controller@v1.6.4": program(tmp_path, "helm")})

    assert len(images(table)) == 1
