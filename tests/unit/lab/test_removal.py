"""Deleting one cluster of a lab, with nothing running."""

from pathlib import Path

import pytest

from dev.lab.cluster import Cluster, clusters
from dev.lab.errors import LabError
from dev.lab.git_host import GitHost
from dev.lab.pulumi import LabPulumi
from dev.lab.removal import remove_clusters
from dev.lab.settings import Settings


@pytest.fixture
def settings(tmp_path) -> Settings:
    (tmp_path / "project").mkdir()
    settings = Settings(tmp_path / "project", tmp_path / "cache", tmp_path / "state", 20800)
    for name in ("staging", "production"):
        (settings.state / "clusters" / name).mkdir(parents=True)
        (settings.state / "clusters" / name / "kubeconfig").touch()
    return settings


@pytest.fixture
def calls(monkeypatch) -> list[str]:
    made: list[str] = []
    monkeypatch.setattr(GitHost, "withdraw", lambda self, stack, url: made.append(f"withdraw {stack} {url}"))
    monkeypatch.setattr(Cluster, "stop", lambda self: made.append(f"stop {self.name}"))
    monkeypatch.setattr(LabPulumi, "remove", lambda self, stack, project: made.append(f"forget {stack}"))
    return made


def names(settings: Settings) -> list[str]:
    return [cluster.name for cluster in clusters(settings)]


def test_one_cluster_is_removed_and_the_others_and_the_git_host_are_kept(settings, calls):
    (settings.state / "git-host").mkdir()

    remove_clusters(settings, ["staging"])

    assert calls == ["withdraw staging http://127.0.0.1:20816", "stop staging", "forget staging"]
    assert names(settings) == ["production"]
    assert (settings.state / "git-host").exists()


def test_a_cluster_that_cannot_be_removed_is_kept(settings, calls, monkeypatch):
    def refuse(self: LabPulumi, stack: str, project: Path) -> None:
        raise LabError("no", "try again")

    monkeypatch.setattr(LabPulumi, "remove", refuse)

    with pytest.raises(LabError):
        remove_clusters(settings, ["staging"])

    assert "staging" in names(settings)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (["staging", "typo"], "there is no cluster typo in "),
        (["../git-host"], "there is no cluster ../git-host in "),
        ([""], "STACK is empty"),
    ],
)
def test_an_unknown_name_is_an_error_and_nothing_is_removed(settings, calls, wanted, said):
    with pytest.raises(LabError) as error:
        remove_clusters(settings, wanted)

    assert error.value.message.startswith(said)
    assert calls == []
    assert sorted(names(settings)) == ["production", "staging"]
