from pathlib import Path

import pytest

from lab.errors import LabError
from lab.settings import DEFAULT_PORT_BASE, Settings


def test_by_default_the_state_is_in_the_checkout_and_the_cache_in_the_users_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))

    settings = Settings.load({})

    assert (settings.project / "lab" / "settings.py").is_file()
    assert settings.state == settings.project / ".lab"
    assert settings.cache == tmp_path / ".cache" / "flux-tenancy"
    assert settings.port_base == DEFAULT_PORT_BASE


def test_a_lab_with_its_own_ports_has_its_own_state_and_project_folder():
    default, second = Settings.load({}), Settings.load({"LAB_PORT_BASE": "22000"})

    assert second.state == default.project / ".lab" / "22000"
    assert second.pulumi_project == second.state / "project"
    assert default.is_default and not second.is_default


def test_the_default_labs_project_is_the_checkout():
    project = Settings.load({}).project
    named = {"LAB_PORT_BASE": str(DEFAULT_PORT_BASE), "LAB_STATE": str(project / ".lab")}

    assert Settings.load({}).pulumi_project == project
    assert Settings.load(named).pulumi_project == project


def test_a_lab_with_the_default_ports_and_another_state_has_its_own_project_folder():
    assert Settings.load({"LAB_STATE": "/s"}).pulumi_project == Path("/s/project")


def test_variables_set_other_folders_and_ports():
    settings = Settings.load({"FLUX_TENANCY_CACHE": "/c", "LAB_STATE": "/s", "LAB_PORT_BASE": "30000"})

    assert (settings.cache, settings.state, settings.port_base) == (Path("/c"), Path("/s"), 30000)


def test_the_cache_is_in_the_users_cache_folder_by_default():
    assert Settings.load({"XDG_CACHE_HOME": "/x"}).cache == Path("/x/flux-tenancy")
    assert Settings.load({"XDG_CACHE_HOME": "/x", "FLUX_TENANCY_CACHE": "/c"}).cache == Path("/c")


def test_folders_are_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    assert Settings.load({"LAB_STATE": "here"}).state == tmp_path / "here"


def test_an_empty_variable_is_ignored():
    assert Settings.load({"LAB_STATE": "", "LAB_PORT_BASE": ""}) == Settings.load({})


@pytest.mark.parametrize("value", ["http", "-1", "80", "65000", "2e4"])
def test_a_port_base_that_is_too_high_is_an_error(value):
    with pytest.raises(LabError) as error:
        Settings.load({"LAB_PORT_BASE": value})

    assert f"LAB_PORT_BASE is {value!r}" in error.value.message
    assert str(DEFAULT_PORT_BASE) in error.value.remedy
