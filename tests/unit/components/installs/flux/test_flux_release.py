"""A release is used only if its digest is the pinned one, wherever it comes from."""

import hashlib

import pytest
import yaml
from loopback import serving
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


def refused(config: FluxConfig, project) -> tuple[str, str, str]:
    """The key, the code and the message of the error."""
    with pytest.raises(PinnedInputError) as error:
        read_release(config, project)
    return error.value.key, code_of(error.value), message_of(error.value)


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


def fetch_failed(url: str, reason: str) -> Message:
    return said("FT-CFG-032", url, reason, "flux", "manifests")


NO_SERVER = "http://127.0.0.1:1/install.yaml"


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        (
            {"manifests": {"bundle": "nowhere/install.yaml"}},
            "manifests.bundle",
            said("FT-CFG-020", "No such file or directory").of("nowhere/install.yaml"),
        ),
        ({"manifests": {"bundle": "."}}, "manifests.bundle", said("FT-CFG-020", "Is a directory").of(".")),
        ({"sha256": DIGEST}, "sha256", said("FT-CFG-030", "install.yaml", sha256(CONTENT), DIGEST, "flux")),
        ({"manifests": {"url": NO_SERVER}}, "manifests", fetch_failed(NO_SERVER, "the server cannot be reached")),
    ],
    ids=["missing bundle", "folder as bundle", "wrong digest", "no server"],
)
def test_a_release_that_cannot_be_read_is_an_error_that_says_what_to_do(tmp_path, keys, key, message):
    assert refused(bundled(tmp_path, **keys), tmp_path) == (key, message.code, message)


@pytest.mark.parametrize("status", [404, 500])
def test_a_server_without_the_release_is_an_error_with_its_answer(tmp_path, status):
    with serving({}, status) as url:
        message = fetch_failed(f"{url}/install.yaml", f"the server answers {status}")
        assert refused(from_url(url), tmp_path) == ("manifests", message.code, message)


def test_a_fetched_file_with_a_wrong_digest_is_neither_used_nor_cached(tmp_path, cache):
    with serving({"/install.yaml": CONTENT + b"# more\n"}) as url:
        key, code, message = refused(from_url(url), tmp_path)

    assert (key, code) == ("sha256", "FT-CFG-030")
    assert message.startswith(f"{url}/install.yaml ")
    assert not cache.exists()


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

    assert refused(from_url("http://127.0.0.1:1"), tmp_path)[0] == "manifests"


def test_a_read_only_cache_is_not_an_error(tmp_path, cache):
    cache.write_text("a file where the folder should be")

    with serving({"/install.yaml": CONTENT}) as url:
        assert read_release(from_url(url), tmp_path)


OTHER_COMPONENT = b"kind: Deployment\nmetadata: {name: a, labels: {app.kubernetes.io/component: helm-controller}}\n"
OTHER_VERSION = b"kind: Namespace\nmetadata: {name: a, labels: {app.kubernetes.io/version: v2.8.1}}\n"


@pytest.mark.parametrize(
    ("content", "key", "code", "named"),
    [
        (b"kind: [", "manifests", "FT-FLX-002", "install.yaml"),
        (b"\x1f\x8b\x08", "manifests", "FT-FLX-002", "install.yaml"),
        (b"<!doctype html>", "manifests", "FT-FLX-002", "install.yaml"),
        (b"- a\n- b\n", "manifests", "FT-FLX-002", "install.yaml"),
        (b"kind: Namespace\n", "manifests", "FT-FLX-002", "install.yaml"),
        (b"metadata: {}\n", "manifests", "FT-FLX-002", "install.yaml"),
        (
            OTHER_COMPONENT,
            "components",
            "FT-FLX-003",
            "no source-controller, kustomize-controller, notification-controller; it has helm-controller",
        ),
        # Controllers of another version may stop at flags that they do not know.
        (OTHER_VERSION, "version", "FT-FLX-004", "is of Flux v2.8.1, not of v"),
    ],
)
def test_a_file_without_the_release_is_refused_even_if_its_digest_matches(tmp_path, content, key, code, named):
    found, of, message = refused(bundled(tmp_path, content), tmp_path)

    assert (found, of) == (key, code)
    assert named in message


def test_only_the_listed_components_and_their_shared_objects_are_installed(tmp_path):
    chosen = ["source-controller", "kustomize-controller"]
    options = ["image-reflector-controller", "image-automation-controller", "source-watcher"]

    manifests = read_release(bundled(tmp_path, components=chosen), tmp_path)
    more = read_release(bundled(tmp_path, components=[*chosen, *options]), tmp_path)

    assert (names(manifests, "Deployment"), names(more, "Deployment")) == (chosen, chosen + options)
    assert names(manifests, "CustomResourceDefinition") == ["gitrepositories.source.toolkit.fluxcd.io"]
    assert names(manifests, "Namespace") == ["flux-system"]
    assert names(manifests, "NetworkPolicy") == ["only-among-controllers"]


def test_an_account_that_is_not_installed_gets_no_rights(tmp_path):
    binding = one(read_release(bundled(tmp_path), tmp_path), "ClusterRoleBinding", "controllers")

    assert [subject["name"] for subject in binding["subjects"]] == [
        "source-controller",
        "kustomize-controller",
        "of-another-kind",
    ]
