from pathlib import Path

import pytest

from dev.lab.errors import LabError
from dev.lab.settings import DEFAULT_PORT_BASE, Settings


def test_only_the_default_labs_project_is_the_checkout():
    default, second = Settings.load({}), Settings.load({"LAB_PORT_BASE": "22000"})
    named = {"LAB_PORT_BASE": str(DEFAULT_PORT_BASE), "LAB_STATE": str(default.project / ".lab")}

    assert default.is_default and not second.is_default
    assert default.pulumi_project == Settings.load(named).pulumi_project == default.project
    assert second.state == default.project / ".lab" / "22000"
    assert second.pulumi_project == second.state / "project"
    assert Settings.load({"LAB_STATE": "/s"}).pulumi_project == Path("/s/project")


@pytest.mark.parametrize(
    ("environ", "assignments"),
    [
        ({}, ""),
        ({"LAB_PORT_BASE": "22000"}, "LAB_PORT_BASE=22000"),
        ({"LAB_STATE": "/my state"}, "LAB_STATE='/my state'"),
        ({"LAB_PORT_BASE": "22000", "LAB_STATE": "/s"}, "LAB_PORT_BASE=22000 LAB_STATE=/s"),
    ],
)
def test_a_lab_is_written_before_make_as_its_settings_differ(environ, assignments):
    assert Settings.load(environ).assignments == assignments


@pytest.mark.parametrize("value", ["http", "-1", "80", "65000", "2e4"])
def test_a_port_base_that_is_too_high_is_an_error(value):
    with pytest.raises(LabError) as error:
        Settings.load({"LAB_PORT_BASE": value})

    assert f"LAB_PORT_BASE is {value!r}" in error.value.message
    assert str(DEFAULT_PORT_BASE) in error.value.remedy
