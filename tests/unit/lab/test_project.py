"""The project folder of a lab that is not the default one: its files, and whose changes are kept."""

from pathlib import Path

import pytest
import yaml

from dev.lab.git import Git
from dev.lab.project import delete_project, names_lab_files, provide_project, with_ports
from dev.lab.settings import DEFAULT_PORT_BASE, Settings
from tests.support.releases import FLUX_VERSION

GIT = Git("", "")
CHECKOUT = Path(__file__).parents[3]
COMMITTED = [*CHECKOUT.glob("Pulumi.*.yaml"), *CHECKOUT.glob("tenants/*.yaml")]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    (folder / "tenants").mkdir(parents=True)
    (folder / "components").mkdir()
    (folder / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    (folder / "Pulumi.staging.yaml").write_text("webhookUrl: http://127.0.0.1:20816\n")
    (folder / "tenants" / "dev.yaml").write_text("url: ssh://git@127.0.0.1:20801/dev/apps.git\n")
    return folder


@pytest.fixture
def second(checkout, tmp_path) -> Settings:
    return Settings(checkout, tmp_path / "cache", checkout / ".lab" / "22000", 22000)


def everything(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def test_the_default_lab_uses_the_checkout_and_writes_nothing(checkout, tmp_path):
    before = everything(checkout)

    folder = provide_project(Settings(checkout, tmp_path / "cache", checkout / ".lab", DEFAULT_PORT_BASE))

    assert folder == checkout
    assert everything(checkout) == before


def test_another_lab_has_files_for_its_own_ports_beside_links_to_the_unchanged_checkout(second, checkout):
    folder = provide_project(second)

    assert (folder / "Pulumi.staging.yaml").read_text() == "webhookUrl: http://127.0.0.1:22016\n"
    assert (folder / "tenants" / "dev.yaml").read_text() == "url: ssh://git@127.0.0.1:22001/dev/apps.git\n"
    assert (checkout / "Pulumi.staging.yaml").read_text() == "webhookUrl: http://127.0.0.1:20816\n"
    for name in ("Pulumi.yaml", "components"):
        assert (folder / name).resolve() == checkout / name
    assert (folder / ".lab").resolve() == second.state


def test_the_folder_is_a_repository_whose_commits_are_the_copies(second, checkout):
    folder = provide_project(second)
    stack = folder / "Pulumi.staging.yaml"
    stack.write_text("webhookUrl: mine\n")
    (checkout / "tenants" / "dev.yaml").write_text("url: ssh://git@127.0.0.1:20801/dev/other.git\n")

    provide_project(second)

    assert GIT.run(folder, "status", "--porcelain") == "M Pulumi.staging.yaml"
    assert GIT.run(folder, "ls-files").splitlines() == ["Pulumi.staging.yaml", "tenants/dev.yaml"]
    assert len(GIT.run(folder, "log", "--oneline").splitlines()) == 2


@pytest.mark.parametrize("file", COMMITTED, ids=lambda file: file.name)
def test_only_the_labs_ports_differ_from_the_committed_files(file):
    text = file.read_text()
    moved = with_ports(text, 22000)

    assert with_ports(text, DEFAULT_PORT_BASE) == text
    assert "127.0.0.1:208" not in moved
    assert moved.replace("127.0.0.1:220", "127.0.0.1:208") == text
    assert yaml.safe_load(moved).keys() == yaml.safe_load(text).keys()


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("[127.0.0.1]:20801 ssh-ed25519 AAAA", "[127.0.0.1]:22001 ssh-ed25519 AAAA"),
        ("http://127.0.0.1:20800", "http://127.0.0.1:22000"),
        ("http://127.0.0.1:21439/", "http://127.0.0.1:22639/"),
        ("http://127.0.0.1:21440/", "http://127.0.0.1:21440/"),
        ("http://127.0.0.1:8080/ 20801", "http://127.0.0.1:8080/ 20801"),
        ("http://10.127.0.0.1:20801", "http://10.127.0.0.1:20801"),
        ("http://127.0.0.1:208011", "http://127.0.0.1:208011"),
    ],
)
def test_only_ports_of_the_default_lab_are_replaced(text, moved):
    assert with_ports(text, 22000) == moved


def test_a_second_start_updates_copies_and_links_but_keeps_what_the_user_has_changed(second, checkout):
    folder = provide_project(second)
    (folder / "Pulumi.staging.yaml").write_text("mine: true\n")
    (folder / "mine").symlink_to("/elsewhere")
    (checkout / "tenants" / "dev.yaml").write_text("baseUrl: http://127.0.0.1:20802/\n")
    (checkout / "tenants" / "new.yaml").write_text("namespaces: []\n")
    (checkout / "components").rmdir()
    (checkout / "keys").mkdir()

    provide_project(second)

    assert (folder / "Pulumi.staging.yaml").read_text() == "mine: true\n"
    assert (folder / "mine").is_symlink()
    assert (folder / "tenants" / "dev.yaml").read_text() == "baseUrl: http://127.0.0.1:22002/\n"
    assert (folder / "tenants" / "new.yaml").exists()
    assert not (folder / "components").is_symlink()
    assert (folder / "keys").resolve() == checkout / "keys"


def test_deleting_the_project_keeps_the_users_files(second, checkout):
    folder = provide_project(second)
    assert delete_project(second) is None
    assert not folder.exists()

    provide_project(second)
    (folder / "Pulumi.qa.yaml").write_text("mine: true\n")
    assert delete_project(second) == folder
    assert (folder / "Pulumi.qa.yaml").exists()
    assert (checkout / "Pulumi.staging.yaml").exists()


def test_the_project_of_the_default_lab_is_never_deleted(checkout, tmp_path):
    assert delete_project(Settings(checkout, tmp_path, checkout / ".lab", DEFAULT_PORT_BASE)) is None
    assert (checkout / "Pulumi.staging.yaml").exists()


def test_stack_files_that_name_files_of_the_lab_are_told_from_those_of_real_clusters(second, checkout):
    assert not names_lab_files(second)

    (checkout / "Pulumi.staging.yaml").write_text(f"bundle: .lab/flux/v{FLUX_VERSION}/install.yaml\n")

    assert names_lab_files(second)
