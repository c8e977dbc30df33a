"""`flux-tenancy releases update`: which releases it finds, writes into the stacks' files, and reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Ran, invoke, refusal
from loopback import closed_port, serving
from message_codes import codes

from flux_tenancy.operations.releases import UpstreamRelease, newest
from tests.support.releases import FLUX_VERSION, OLDER_FLUX_VERSION

OLDER, NEWER = OLDER_FLUX_VERSION, FLUX_VERSION
FLUX_SHA, KYVERNO_SHA = "a" * 64, "b" * 64
FILE = f"""\
# yaml-language-server: $schema=schemas/stack.schema.json
config:
  pulumi:disable-default-providers: ["*"]
  flux-tenancy:cluster:
    kubeconfig: kubeconfig   # of this machine
  flux-tenancy:flux:
    version: {OLDER} # reviewed by the platform team
    sha256: "{FLUX_SHA}"
  # Kyverno follows.
  flux-tenancy:kyverno:
    chart: {{version: 3.9.1}}
    version: 1.19.1
    sha256: {KYVERNO_SHA}

encryptionsalt: v1:AAAA
"""
MANIFEST, CHART = b"kind: Namespace\n", b"a chart"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def release(version: str, digest: str | None = None, **more: Any) -> dict[str, Any]:
    """A release in GitHub's list; its manifest is beside the list."""
    asset = {"name": "install.yaml", "browser_download_url": f"v{version}/install.yaml"}
    asset |= {"digest": f"sha256:{digest}"} if digest else {}
    checksums = {"name": "checksums.txt", "browser_download_url": f"v{version}/checksums.txt"}
    return {"tag_name": f"v{version}", "assets": [checksums, asset], **more}


def chart(version: str, app_version: str, digest: str = "") -> dict[str, Any]:
    found = {"version": version, "appVersion": f"v{app_version}", "urls": [f"kyverno-{version}.tgz"]}
    return {**found, "digest": digest} if digest else found


@dataclass(frozen=True)
class Upstream:
    """A project, and a folder that stands for upstream."""

    project: Path
    folder: Path

    def publish(self, flux: list[dict[str, Any]], charts: list[dict[str, Any]]) -> None:
        (self.folder / "flux.json").write_text(json.dumps(flux))
        (self.folder / "kyverno.yaml").write_text(yaml.safe_dump({"entries": {"kyverno": charts}}))
        for each in flux:
            (self.folder / each["tag_name"]).mkdir(exist_ok=True)
            (self.folder / each["tag_name"] / "install.yaml").write_bytes(MANIFEST)
        for each in charts:
            (self.folder / f"kyverno-{each['version']}.tgz").write_bytes(CHART)

    def run(self, *arguments: str, index: str = "") -> Ran:
        place = index or str(self.folder)
        files = {"--flux-index": "flux.json", "--kyverno-index": "kyverno.yaml", "--capsule-index": "capsule.yaml"}
        indexes = [part for option, file in files.items() for part in (option, f"{place}/{file}")]
        return invoke("releases", "update", *indexes, *arguments)

    def refused(self, index: str = "") -> str:
        """The code of the error, of which nothing is printed otherwise."""
        [code] = codes(refusal(self.run(index=index)).splitlines()[:1])
        return code

    def stack(self, name: str, text: str) -> Path:
        file = self.project / f"Pulumi.{name}.yaml"
        file.write_text(text)
        return file


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Upstream:
    project, folder = tmp_path / "project", tmp_path / "upstream"
    project.mkdir()
    folder.mkdir()
    (project / "Pulumi.yaml").write_text("name: flux-tenancy\nruntime: python\n")
    monkeypatch.chdir(project)
    found = Upstream(project, folder)
    found.publish(
        [release("2.8.9"), release(NEWER, sha256(MANIFEST)), release(OLDER)],
        [chart("3.9.2", "1.19.2", sha256(CHART)), chart("3.9.1", "1.19.1")],
    )
    return found


def test_the_newest_releases_are_written_and_everything_else_stays_as_it_is(upstream: Upstream) -> None:
    file = upstream.stack("eu-1", FILE)

    code, out, _ = upstream.run()

    assert code == 0
    assert file.read_text() == (
        FILE.replace(OLDER, NEWER)
        .replace(FLUX_SHA, sha256(MANIFEST))
        .replace("3.9.1", "3.9.2")
        .replace("1.19.1", "1.19.2")
        .replace(KYVERNO_SHA, sha256(CHART))
    )
    assert out.splitlines() == [
        "### eu-1",
        "",
        f"- Flux {OLDER} → {NEWER} ([changelog](https://github.com/fluxcd/flux2/releases/tag/v{NEWER})), "
        f"`sha256:{sha256(MANIFEST)}`",
        f"- Kyverno 1.19.1 → 1.19.2 ([changelog](https://github.com/kyverno/kyverno/releases/tag/v1.19.2)), "
        f"`sha256:{sha256(CHART)}`",
    ]


def test_capsule_is_updated_where_it_is_installed(upstream: Upstream) -> None:
    """Its chart has the version of the product; elsewhere its index is not even read."""
    upstream.stack("eu-1", FILE)
    assert upstream.run()[0] == 0

    charts = [chart(version, version) | {"urls": ["kyverno-3.9.1.tgz"]} for version in ("0.14.0", "0.14.2", "0.15.0")]
    (upstream.folder / "capsule.yaml").write_text(yaml.safe_dump({"entries": {"capsule": charts}}))
    section = {"version": "0.14.0", "sha256": "c" * 64, "chart": {"url": "https://m.example.com/capsule-0.14.0.tgz"}}
    file = upstream.stack("eu-2", yaml.safe_dump({"config": {"flux-tenancy:capsule": section}}))

    code, out, _ = upstream.run()

    assert code == 0
    assert yaml.safe_load(file.read_text())["config"]["flux-tenancy:capsule"] == {
        "version": "0.14.2",
        "sha256": sha256(CHART),
        "chart": {"url": "https://m.example.com/capsule-0.14.2.tgz"},
    }
    assert "- Capsule 0.14.0 → 0.14.2" in out
    assert "Capsule 0.15.0 is newer than what this program supports (0.14.x)." in out


def test_a_second_run_changes_nothing(upstream: Upstream) -> None:
    file = upstream.stack("eu-1", FILE)
    upstream.run()
    before = file.read_text()

    assert upstream.run() == (0, "All stacks have the newest supported releases.\n", "")
    assert file.read_text() == before


def test_only_the_named_stacks_are_updated(upstream: Upstream) -> None:
    first, second = upstream.stack("eu-1", FILE), upstream.stack("eu-2", FILE)

    upstream.run("--stack", "eu-2")

    assert first.read_text() == FILE
    assert f"version: {NEWER}" in second.read_text()


def test_line_ends_of_windows_stay(upstream: Upstream) -> None:
    file = upstream.project / "Pulumi.eu-1.yaml"
    file.write_bytes(FILE.replace("\n", "\r\n").encode())

    upstream.run()

    assert f"version: {NEWER} # reviewed by the platform team\r\n".encode() in file.read_bytes()
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


def test_an_index_on_a_server_names_its_files_relative_to_itself(upstream: Upstream) -> None:
    file = upstream.stack("eu-1", FILE)
    answers = {
        f"/mirror/{name}": (upstream.folder / name).read_bytes()
        for name in ("flux.json", "kyverno.yaml", f"v{NEWER}/install.yaml", "kyverno-3.9.2.tgz")
    }

    with serving(answers) as server:
        code, _, error = upstream.run(index=f"{server}/mirror")

    assert (code, error) == (0, "")
    assert sha256(MANIFEST) in file.read_text() and sha256(CHART) in file.read_text()


def test_a_release_with_another_digest_than_published_is_refused(upstream: Upstream) -> None:
    file = upstream.stack("eu-1", FILE)
    upstream.publish([release(NEWER, "c" * 64)], [])

    assert upstream.refused() == "FT-OPS-062"
    error = upstream.run().error
    assert sha256(MANIFEST) in error and "c" * 64 in error
    assert file.read_text() == FILE


@pytest.mark.parametrize(
    ("content", "code"), [(b"<html>", "FT-OPS-061"), (b'{"message": "rate limit"}', "FT-OPS-061"), (None, "FT-OPS-060")]
)
def test_an_index_that_cannot_be_read_is_an_error(upstream: Upstream, content: bytes | None, code: str) -> None:
    upstream.stack("eu-1", FILE)
    (upstream.folder / "flux.json").unlink()
    if content is not None:
        (upstream.folder / "flux.json").write_bytes(content)

    assert upstream.refused() == code


def test_a_server_that_does_not_answer_is_an_error(upstream: Upstream) -> None:
    upstream.stack("eu-1", FILE)

    server = f"http://127.0.0.1:{closed_port()}"

    assert upstream.refused(server) == "FT-OPS-060"
    assert "cannot be reached" in upstream.run(index=server).error
    with serving({}, 404) as server:
        assert "the server answers 404" in upstream.run(index=server).error


def test_a_chart_without_an_address_is_an_error(upstream: Upstream) -> None:
    upstream.stack("eu-1", FILE)
    upstream.publish([release(NEWER)], [chart("3.9.2", "1.19.2") | {"urls": []}])

    assert upstream.refused() == "FT-OPS-061"


def changed(**sections: Mapping[str, Any]) -> str:
    """The stack's file with other keys in these sections."""
    document = yaml.safe_load(FILE)
    for section, keys in sections.items():
        document["config"][f"flux-tenancy:{section}"] |= keys
    return yaml.safe_dump(document)


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ({"flux": {"manifests": {"bundle": f"install-{OLDER}.yaml"}}}, "flux.manifests.bundle is a local file"),
        (
            {"flux": {"manifests": {"url": "https://m.example.com/a"}}},
            "flux.manifests.url does not contain the version",
        ),
        ({"kyverno": {"chart": {"url": "https://m.example.com/a"}}}, "kyverno.chart.url does not contain the version"),
        ({"flux": {"version": f"v{OLDER}"}}, "flux.version is not a release"),
        ({"flux": {"version": "latest"}}, "flux.version is not a release"),
        ({"kyverno": {"chart": "3.9.1"}}, "kyverno.chart is not a mapping"),
    ],
)
def test_a_release_from_elsewhere_or_that_is_not_valid_is_reported_and_left_alone(
    upstream: Upstream, sections: dict[str, Mapping[str, Any]], reason: str
) -> None:
    text = changed(**sections)
    file = upstream.stack("eu-1", text)

    _, out, _ = upstream.run()

    [section] = sections
    assert f"not changed: {reason}" in out
    after = yaml.safe_load(file.read_text())["config"]
    assert after[f"flux-tenancy:{section}"] == yaml.safe_load(text)["config"][f"flux-tenancy:{section}"]


def test_the_address_of_a_mirror_is_updated_with_the_version(upstream: Upstream) -> None:
    manifests = {"url": f"https://mirror.example.com/flux/v{OLDER}/install.yaml"}
    of_chart = {"url": "https://mirror.example.com/kyverno-3.9.1.tgz"}
    file = upstream.stack("eu-1", changed(flux={"manifests": manifests}, kyverno={"chart": of_chart}))

    upstream.run()

    after = yaml.safe_load(file.read_text())["config"]
    assert after["flux-tenancy:flux"]["manifests"]["url"] == f"https://mirror.example.com/flux/v{NEWER}/install.yaml"
    assert after["flux-tenancy:kyverno"]["chart"]["url"] == "https://mirror.example.com/kyverno-3.9.2.tgz"


def test_a_value_that_another_one_repeats_is_changed_by_hand(upstream: Upstream) -> None:
    text = FILE.replace(f'"{FLUX_SHA}"', f'&digest "{FLUX_SHA}"').replace(KYVERNO_SHA, "*digest")
    first, second = upstream.stack("eu-1", FILE), upstream.stack("eu-2", text)

    assert upstream.refused() == "FT-OPS-300"
    assert "Pulumi.eu-2.yaml: flux.sha256 " in upstream.run().error
    assert (first.read_text(), second.read_text()) == (FILE, text)


def test_a_release_that_all_stacks_share_is_reported(upstream: Upstream) -> None:
    shared = {"name": "flux-tenancy", "config": {"flux-tenancy:flux.version": {"value": OLDER}}}
    (upstream.project / "Pulumi.yaml").write_text(yaml.safe_dump(shared))
    upstream.stack("eu-1", "config:\n  flux-tenancy:cluster: {kubeconfig: kubeconfig}\n")

    _, out, _ = upstream.run()

    assert f"- Flux {OLDER} → {NEWER}" in out and "not changed: flux is in Pulumi.yaml" in out


def test_a_version_that_is_not_supported_yet_is_only_mentioned(upstream: Upstream) -> None:
    file = upstream.stack("eu-1", FILE)
    upstream.publish([release("2.11.0"), release(OLDER)], [])

    _, out, _ = upstream.run()

    assert out == "Flux 2.11.0 is newer than what this program supports (2.9.x, 2.10.x).\n"
    assert file.read_text() == FILE


def test_releases_that_are_not_stable_are_ignored(upstream: Upstream) -> None:
    upstream.stack("eu-1", FILE)
    upstream.publish(
        [release(NEWER, draft=True), release(NEWER, prerelease=True), release(f"{NEWER}-rc.1")],
        [chart("3.9.3-rc.1", "1.19.3-rc.1"), chart("3.9.4", "1.19.4-rc.1")],
    )

    assert upstream.run()[1] == "All stacks have the newest supported releases.\n"


def test_versions_are_compared_by_their_numbers() -> None:
    releases = [UpstreamRelease(version, "") for version in ("2.9.9", "2.9.10", "2.10.0", "3.9.11")]

    found = newest(releases, "2.9.5", {(2, 9)})

    assert found is not None and found.version == "2.9.10"
    assert newest(releases, "2.9.10", {(2, 9)}) is None
