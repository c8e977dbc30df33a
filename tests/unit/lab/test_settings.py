import socket
from pathlib import Path

import pytest

from lab import settings as settings_module
from lab.errors import LabError
from lab.settings import DEFAULT_PORT_BASE, HIGHEST_INDEX, PORTS_EACH, Settings, free_port_base


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


def test_a_lab_beside_the_users_own_has_other_ports_that_are_all_free():
    base = free_port_base(clusters=2)
    assert base >= DEFAULT_PORT_BASE + PORTS_EACH * (HIGHEST_INDEX + 1)

    with socket.create_server(("127.0.0.1", base + 29)):
        assert free_port_base(clusters=2) > base
        assert free_port_base(clusters=1) == base


def test_no_free_ports_are_an_error(monkeypatch):
    monkeypatch.setattr(settings_module, "is_free", lambda port: False)

    with pytest.raises(LabError, match="no 20 free ports"):
        free_port_base(clusters=1)
