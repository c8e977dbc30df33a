"""A release is used only if its digest is the pinned one, wherever it comes from."""

import hashlib

import pytest
import yaml
from loopback import closed_port, serving
from sample_release import RELEASE_FILE, names, one
from sample_stack import DIGEST, FLUX, flux_config

from flux_tenancy.components.config.messages import Message, code_of, message_of
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.installs.flux.config import FluxConfig
from flux_tenancy.components.installs.flux.release import read_release
from tests.support.messages import said

FLUX_LABELS = {"instance": "flux-system", "part-of": "flux", "version": f"v{FLUX['version']}"}
CONTENT = RELEASE_FILE.read_bytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """An empty cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def from_url(url: str, content: bytes = CONTENT, **keys) -> FluxConfig:
    return flux_config(sha256=sha256(content), manifests={"url": f"{url}/install.yaml"}, **keys)


def bundled(tmp_path, content: bytes = CONTENT, **keys) -> FluxConfig:
    (tmp_path / "install.yaml").write_bytes(content)
    return flux_config(**({"sha256": sha256(content), "manifests": {"bundle": "install.yaml"}} | keys))


def refused(config: FluxConfig, project) -> tuple[str, str]:
    with pytest.raises(PinnedInputError) as error:
        read_release(config, project)
    return error.value.key, message_of(error.value)


def refusal_code(config: FluxConfig, project) -> tuple[str, str]:
    """The key and the code of the error."""
    with pytest.raises(PinnedInputError) as error:
        read_release(config, project)
    return error.value.key, code_of(error.value)


def kept_file(cache, content: bytes = CONTENT):
    return cache / "flux-tenancy" / "releases" / f"{sha256(content)}.yaml"


def keep(cache, content: bytes):
    """Write `content` to the cache in place of the miniature release."""
    file = kept_file(cache)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return file


def test_a_bundle_needs_no_network(tmp_path):
    assert "source-controller" in names(read_release(bundled(tmp_path), tmp_path), "Deployment")


def test_fluxs_own_tools_recognize_the_release_by_its_labels(tmp_path):
    """`flux version` shows `<part-of>-<version>` of this definition as the distribution."""
    before = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(CONTENT)}

    manifests = read_release(bundled(tmp_path), tmp_path)

    definition = one(manifests, "CustomResourceDefinition", "gitrepositories.source.toolkit.fluxcd.io")
    labels = definition["metadata"]["labels"]
    distribution = f"{labels['app.kubernetes.io/part-of']}-{labels['app.kubernetes.io/version']}"
    assert distribution == f"flux-v{FLUX['version']}"
    assert labels["app.kubernetes.io/component"] == "source-controller"
    for manifest in manifests:
        found = {key: manifest["metadata"]["labels"][f"app.kubernetes.io/{key}"] for key in FLUX_LABELS}
        assert found == FLUX_LABELS, manifest["metadata"]
        # Pod templates and selectors do not change, so controllers are not restarted.
        if manifest["kind"] == "Deployment":
            assert manifest["spec"] == before["Deployment", manifest["metadata"]["name"]]["spec"]


def test_a_release_is_fetched_from_the_configured_url(tmp_path):
    with serving({"/install.yaml": CONTENT}) as url:
        manifests = read_release(from_url(url), tmp_path)

    assert manifests == read_release(bundled(tmp_path), tmp_path)


def test_a_missing_bundle_is_an_error(tmp_path):
    config = flux_config(manifests={"bundle": "nowhere/install.yaml"})

    assert refused(config, tmp_path) == (
        "manifests.bundle",
        said("FT-CFG-020", "No such file or directory").of("nowhere/install.yaml"),
    )


def test_a_folder_as_bundle_is_an_error(tmp_path):
    assert refused(flux_config(manifests={"bundle": "."}), tmp_path) == (
        "manifests.bundle",
        said("FT-CFG-020", "Is a directory").of("."),
    )


def test_a_wrong_digest_is_an_error_that_says_what_to_compare(tmp_path):
    assert refused(bundled(tmp_path, sha256=DIGEST), tmp_path) == (
        "sha256",
        said("FT-CFG-030", "install.yaml", sha256(CONTENT), DIGEST, "flux"),
    )


def test_a_fetched_file_with_a_wrong_digest_is_neither_used_nor_cached(tmp_path, cache):
    with serving({"/install.yaml": CONTENT + b"# more\n"}) as url:
        key, message = refused(from_url(url), tmp_path)

    assert key == "sha256"
    assert message.startswith(f"{url}/install.yaml ")
    assert code_of(message) == "FT-CFG-030"
    assert not cache.exists()


def fetch_failed(url: str, reason: str) -> Message:
    return said("FT-CFG-032", url, reason, "flux", "manifests")


def test_an_unreachable_server_is_an_error_that_suggests_a_bundle(tmp_path):
    url = f"http://127.0.0.1:{closed_port()}"

    assert refused(from_url(url), tmp_path) == (
        "manifests",
        fetch_failed(f"{url}/install.yaml", "the server cannot be reached"),
    )


@pytest.mark.parametrize("status", [404, 500])
def test_a_server_without_the_release_is_an_error_with_its_answer(tmp_path, status):
    with serving({}, status) as url:
        assert refused(from_url(url), tmp_path) == (
            "manifests",
            fetch_failed(f"{url}/install.yaml", f"the server answers {status}"),
        )


def test_a_release_is_fetched_only_once(tmp_path, cache):
    with serving({"/install.yaml": CONTENT}) as url:
        config = from_url(url)
        first = read_release(config, tmp_path)

    assert read_release(config, tmp_path) == first
    assert [file.name for file in kept_file(cache).parent.iterdir()] == [f"{sha256(CONTENT)}.yaml"]


def test_a_corrupted_copy_in_the_cache_is_fetched_again_and_replaced(tmp_path, cache):
    file = keep(cache, b"half of")

    with serving({"/install.yaml": CONTENT}) as url:
        read_release(from_url(url), tmp_path)

    assert file.read_bytes() == CONTENT


def test_a_corrupted_copy_in_the_cache_is_never_used(tmp_path, cache):
    keep(cache, CONTENT + b"# more\n")

    key, _ = refused(from_url(f"http://127.0.0.1:{closed_port()}"), tmp_path)

    assert key == "manifests"


def test_a_read_only_cache_is_not_an_error(tmp_path, cache):
    cache.write_text("a file where the folder should be")

    with serving({"/install.yaml": CONTENT}) as url:
        assert read_release(from_url(url), tmp_path)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"kind: [", "FT-FLX-002"),
        (b"\x1f\x8b\x08", "FT-FLX-002"),
        (b"<!doctype html>", "FT-FLX-002"),
        (b"- a\n- b\n", "FT-FLX-002"),
        (b"kind: Namespace\n", "FT-FLX-002"),
        (b"metadata: {}\n", "FT-FLX-002"),
    ],
)
def test_a_file_that_is_not_an_install_manifest_is_refused_even_if_its_digest_matches(tmp_path, content, code):
    assert refusal_code(bundled(tmp_path, content), tmp_path) == ("manifests", code)
    assert "install.yaml" in refused(bundled(tmp_path, content), tmp_path)[1]


def test_a_component_that_the_release_lacks_is_an_error_with_the_available_ones(tmp_path):
    content = b"kind: Deployment\nmetadata: {name: a, labels: {app.kubernetes.io/component: helm-controller}}\n"

    key, message = refused(bundled(tmp_path, content), tmp_path)

    assert refusal_code(bundled(tmp_path, content), tmp_path) == (key, "FT-FLX-003") == ("components", "FT-FLX-003")
    assert "no source-controller, kustomize-controller, notification-controller; it has helm-controller" in message


def test_a_manifest_of_another_version_is_refused(tmp_path):
    """Its controllers may stop at flags that they do not know."""
    content = b"kind: Namespace\nmetadata: {name: a, labels: {app.kubernetes.io/version: v2.8.1}}\n"

    assert refusal_code(bundled(tmp_path, content), tmp_path) == ("version", "FT-FLX-004")
    assert "is of Flux v2.8.1, not of v" in refused(bundled(tmp_path, content), tmp_path)[1]


def test_only_the_listed_components_and_their_shared_objects_are_installed(tmp_path):
    chosen = ["source-controller", "kustomize-controller"]

    manifests = read_release(bundled(tmp_path, components=chosen), tmp_path)

    assert names(manifests, "Deployment") == chosen
    assert names(manifests, "CustomResourceDefinition") == ["gitrepositories.source.toolkit.fluxcd.io"]
    assert names(manifests, "Namespace") == ["flux-system"]
    assert names(manifests, "NetworkPolicy") == ["only-among-controllers"]


def test_optional_components_are_installed_if_listed(tmp_path):
    options = ["image-reflector-controller", "image-automation-controller", "source-watcher"]
    chosen = ["source-controller", "kustomize-controller", *options]

    assert names(read_release(bundled(tmp_path, components=chosen), tmp_path), "Deployment") == chosen


def test_an_account_that_is_not_installed_gets_no_rights(tmp_path):
    binding = one(read_release(bundled(tmp_path), tmp_path), "ClusterRoleBinding", "controllers")

    assert [subject["name"] for subject in binding["subjects"]] == [
        "source-controller",
        "kustomize-controller",
        "of-another-kind",
    ]
