import json
from pathlib import Path
from typing import Any

import pytest

from dev.lab.images import write_images


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


def test_images_of_an_earlier_call_are_kept_while_their_program_exists_and_no_other_replaces_it(table, tmp_path):
    old, gone, new = (program(tmp_path, name) for name in ("old", "gone", "new"))
    write_images(table, {"helm-controller@v1.6.3": old, "helm-controller@v1.6.2": gone, "helm-controller@v1.6.4": old})
    gone.unlink()

    write_images(table, {"helm-controller@v1.6.4": new})

    assert {image: entry["binary"] for image, entry in images(table).items()} == {
        "ghcr.io/fluxcd/helm-controller:v1.6.3": str(old),
        "ghcr.io/fluxcd/helm-controller:v1.6.4": str(new),
    }
