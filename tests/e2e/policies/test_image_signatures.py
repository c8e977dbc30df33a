"""Image signatures with a registry on loopback, the real cosign, and the real Kyverno.

Signatures of Flux's own images cannot be looked for here: they are in Sigstore's public log, to which the lab has no
way. tests/engine/test_kyverno_schemas.py holds that policy against Kyverno's schema and Flux's own workflows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.e2e.manifests import namespace, pod
from tests.support.environment import Environment
from tests.support.lab import Lab, RunningCluster
from tests.support.registry import Registry, Signer

HOME = "signed"
NOT_SIGNED = "not signed: "
REMEDY = "; sign it by digest with `cosign sign`, as a signer that policies.images.signatures lists"


@dataclass(frozen=True)
class Images:
    """Images of one repository, by their names with digest."""

    repository: str
    bundled: str
    tagged: str
    foreign: str
    unsigned: str


@pytest.fixture(scope="module")
def cluster(kyverno_stack: Environment) -> RunningCluster:
    kyverno_stack.cluster.apply(namespace(HOME, {"toolkit.fluxcd.io/tenant": "dev-team"}))
    return kyverno_stack.cluster


@pytest.fixture(scope="module")
def images(lab: Lab, registry: Registry, signer: Signer, tmp_path_factory: pytest.TempPathFactory) -> Images:
    pushed = Images(
        repository=f"{registry.prefix}/app",
        bundled=registry.push("app", "bundled"),
        tagged=registry.push("app", "tagged"),
        foreign=registry.push("app", "foreign"),
        unsigned=registry.push("app", "unsigned"),
    )
    signer.sign(pushed.bundled, registry)
    signer.sign(pushed.tagged, registry, bundle=False)
    Signer.new(lab.tools["cosign"], tmp_path_factory.mktemp("stranger") / "key").sign(pushed.foreign, registry)
    return pushed


def ask(cluster: RunningCluster, image: str) -> str:
    """What the cluster says to a Pod with this image, which is not created."""
    return cluster.create(pod("asked", HOME, image), "--dry-run=server")


@pytest.mark.parametrize("form", ["bundled", "tagged"])
def test_a_signed_image_is_accepted_by_digest_and_by_tag(cluster: RunningCluster, images: Images, form: str) -> None:
    """cosign 3 signs by bundles, and those before by tags, as Flux's releases are."""
    assert ask(cluster, getattr(images, form)) == ""
    assert ask(cluster, f"{images.repository}:{form}") == ""


def test_a_tag_is_replaced_by_the_verified_digest(cluster: RunningCluster, images: Images) -> None:
    assert cluster.create(pod("pinned", HOME, f"{images.repository}:bundled")) == ""

    [container] = cluster.get("pod", "pinned", HOME)["spec"]["containers"]
    assert container["image"] == f"{images.repository}:bundled@{images.bundled.partition('@')[2]}"


@pytest.mark.parametrize("image", ["unsigned", "foreign"])
def test_an_image_without_a_signature_or_with_another_is_refused(
    cluster: RunningCluster, images: Images, image: str
) -> None:
    by_digest = getattr(images, image)
    assert f"{NOT_SIGNED}{by_digest}{REMEDY}" in ask(cluster, by_digest)
    digest = by_digest.partition("@")[2]
    assert f"{NOT_SIGNED}{images.repository}:{image}@{digest}{REMEDY}" in ask(cluster, f"{images.repository}:{image}")


def test_every_image_of_a_pod_is_checked(cluster: RunningCluster, images: Images) -> None:
    several = pod("several", HOME, images.bundled)
    [signed] = several["spec"]["containers"]
    several["spec"]["initContainers"] = [signed | {"name": "init", "image": images.unsigned}]

    said = cluster.create(several, "--dry-run=server")

    assert f"{NOT_SIGNED}{images.unsigned}{REMEDY}" in said


def test_the_image_of_a_volume_is_checked_by_its_digest(cluster: RunningCluster, images: Images) -> None:
    def said(reference: str) -> str:
        mounting = pod("mounting", HOME, images.bundled)
        mounting["spec"]["volumes"] = [{"name": "data", "image": {"reference": reference}}]
        return cluster.create(mounting, "--dry-run=server")

    assert said(images.tagged) == ""
    assert f"{NOT_SIGNED}{images.unsigned}{REMEDY}" in said(images.unsigned)
    assert f"image {images.repository}:tagged does not have a digest" in said(f"{images.repository}:tagged")


def test_a_pod_cannot_change_to_an_unsigned_image(cluster: RunningCluster, images: Images) -> None:
    cluster.create(pod("later", HOME, images.bundled))

    changed = cluster.kubectl("set", "image", "pod/later", "-n", HOME, f"app={images.unsigned}").stderr
    debugged = cluster.kubectl("debug", "later", "-n", HOME, f"--image={images.unsigned}", "--profile=restricted")

    assert NOT_SIGNED in changed
    assert NOT_SIGNED in debugged.stderr


def test_other_images_and_other_namespaces_need_no_signatures(cluster: RunningCluster, images: Images) -> None:
    assert ask(cluster, "registry.example.com/other/app:1.0") == ""
    assert cluster.create(pod("elsewhere", "default", images.unsigned), "--dry-run=server") == ""


def test_an_image_is_refused_if_its_registry_does_not_answer(cluster: RunningCluster, images: Images) -> None:
    assert "failed to resolve digest for image" in ask(cluster, f"{images.repository}:missing")


def test_a_running_pod_can_be_changed_while_the_registry_is_down(
    lab: Lab, cluster: RunningCluster, images: Images
) -> None:
    cluster.create(pod("running", HOME, images.bundled))
    lab.git.stop()
    try:
        labelled = cluster.kubectl("label", "pod", "running", "-n", HOME, "touched=yes")
        refused = ask(cluster, images.tagged)
        deleted = cluster.kubectl("delete", "pod", "running", "-n", HOME, "--now")
    finally:
        lab.start_git_host()

    assert (labelled.returncode, deleted.returncode) == (0, 0)
    assert "connection refused" in refused
