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


def test_variables_name_other_folders_and_ports():
    settings = Settings.load({"FLUX_TENANCY_CACHE": "/c", "LAB_STATE": "/s", "LAB_PORT_BASE": "30000"})

    assert (settings.cache, settings.state, settings.port_base) == (Path("/c"), Path("/s"), 30000)


def test_the_cache_follows_the_users_cache_folder_unless_it_has_one_of_its_own():
    assert Settings.load({"XDG_CACHE_HOME": "/x"}).cache == Path("/x/flux-tenancy")
    assert Settings.load({"XDG_CACHE_HOME": "/x", "FLUX_TENANCY_CACHE": "/c"}).cache == Path("/c")


def test_folders_are_absolute_because_processes_have_other_working_directories(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    assert Settings.load({"LAB_STATE": "here"}).state == tmp_path / "here"


def test_an_empty_variable_is_an_unset_one():
    assert Settings.load({"LAB_STATE": "", "LAB_PORT_BASE": ""}) == Settings.load({})


@pytest.mark.parametrize("value", ["http", "-1", "80", "65000", "2e4"])
def test_a_port_base_without_room_for_the_labs_ports_is_refused(value):
    with pytest.raises(LabError) as error:
        Settings.load({"LAB_PORT_BASE": value})

    assert f"LAB_PORT_BASE is {value!r}" in error.value.message
    assert str(DEFAULT_PORT_BASE) in error.value.remedy
