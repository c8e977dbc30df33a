"""The chart is used only if it is the one that was pinned, and lies where every machine finds it."""

import hashlib

import pytest
from loopback import closed_port, serving
from sample_kyverno import bundled_chart, chart_archive, kyverno_config
from sample_stack import DIGEST

from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.config.pinned_input import PinnedInputError
from flux_tenancy.components.installs.kyverno import kyverno_chart
from tests.support.messages import said

CHART = chart_archive()


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """A cache of the user's that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def refused(config, project):
    with pytest.raises(PinnedInputError) as error:
        kyverno_chart(config, project)
    problem = error.value.as_problem("Pulumi.staging.yaml")
    return problem.path, problem.message


def test_a_chart_is_written_into_the_project_under_its_digest(tmp_path):
    config = bundled_chart(tmp_path, CHART)

    chart = kyverno_chart(config, tmp_path)

    assert chart.path == f".charts/{config.sha256}.tgz"
    assert chart.version == "3.9.1"
    assert (tmp_path / chart.path).read_bytes() == CHART


def test_a_file_with_other_content_is_replaced(tmp_path):
    config = bundled_chart(tmp_path, CHART)
    file = tmp_path / kyverno_chart(config, tmp_path).path
    file.write_bytes(b"half of")

    kyverno_chart(config, tmp_path)

    assert file.read_bytes() == CHART
    assert len(list(file.parent.iterdir())) == 1


def test_a_chart_is_fetched_once_from_the_address_that_is_given(tmp_path):
    with serving({"/kyverno-3.9.1.tgz": CHART}) as url:
        pinned = bundled_chart(tmp_path, CHART, chart={"url": f"{url}/kyverno-3.9.1.tgz"})
        first = kyverno_chart(pinned, tmp_path)

    assert kyverno_chart(pinned, tmp_path) == first


def test_the_published_chart_is_named_by_its_version():
    assert kyverno_config().chart.address == "https://kyverno.github.io/kyverno/kyverno-3.9.1.tgz"


def test_another_digest_is_refused(tmp_path):
    reason = said("FT-CFG-030", "kyverno.tgz", hashlib.sha256(CHART).hexdigest(), DIGEST, "kyverno")

    assert refused(bundled_chart(tmp_path, CHART, sha256=DIGEST), tmp_path) == ("kyverno.sha256", reason)
    assert not (tmp_path / ".charts").exists()


@pytest.mark.parametrize(
    "content", [b"", b"kind: List", CHART[:40], chart_archive("other"), chart_archive(name="other")]
)
def test_what_is_not_the_chart_is_refused(tmp_path, content):
    key, message = refused(bundled_chart(tmp_path, content), tmp_path)

    assert (key, code_of(message)) == ("kyverno.chart", "FT-KYV-001")
    assert "kyverno.tgz" in message


def test_the_chart_of_another_kyverno_is_refused(tmp_path):
    config = bundled_chart(tmp_path, chart_archive(appVersion="v1.19.0"))

    key, message = refused(config, tmp_path)

    assert (key, code_of(message)) == ("kyverno.version", "FT-KYV-002")
    assert all(field in message for field in ("1.19.1", "kyverno.tgz", "1.19.0"))


def test_a_missing_bundle_and_a_server_that_is_down_are_named_with_the_key(tmp_path):
    url = f"http://127.0.0.1:{closed_port()}/kyverno.tgz"

    assert refused(kyverno_config(chart={"bundle": "nowhere.tgz"}), tmp_path) == (
        "kyverno.chart.bundle",
        said("FT-CFG-020", "No such file or directory").of("nowhere.tgz"),
    )
    assert refused(kyverno_config(chart={"url": url}), tmp_path) == (
        "kyverno.chart",
        said("FT-CFG-032", url, "the server cannot be reached", "kyverno", "chart"),
    )


def test_a_project_where_the_chart_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / ".charts").write_text("a file")

    key, message = refused(bundled_chart(tmp_path, CHART), tmp_path)

    assert (key, code_of(message)) == ("kyverno.chart", "FT-KYV-003")
