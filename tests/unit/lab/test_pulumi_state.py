"""Truncated states of Pulumi's file backend."""

from pathlib import Path

import pytest

from dev.lab.pulumi_state import damaged_state

STATE = '{"version": 3, "checkpoint": {}}'
STACKS, HISTORY = Path(".pulumi/stacks/flux-tenancy"), Path(".pulumi/history/flux-tenancy/staging")


@pytest.fixture
def backend(tmp_path: Path) -> Path:
    """A backend with two stacks, both intact."""
    (tmp_path / STACKS).mkdir(parents=True)
    (tmp_path / HISTORY).mkdir(parents=True)
    for stack in ("production", "staging"):
        for ending in ("json", "json.attrs", "json.bak"):
            (tmp_path / STACKS / f"{stack}.{ending}").write_text(STATE)
    for time in (1, 2):
        (tmp_path / HISTORY / f"staging-{time}.checkpoint.json").write_text(STATE)
    return tmp_path


def test_intact_states_are_not_an_error(backend, tmp_path):
    assert damaged_state(backend) is None
    assert damaged_state(tmp_path / "nowhere") is None


@pytest.mark.parametrize("text", ["", STATE[:10], "[]"])
def test_the_error_for_a_damaged_state_names_the_backup(backend, text):
    state = backend / STACKS / "staging.json"
    state.write_text(text)

    error = damaged_state(backend)

    assert error is not None
    assert str(state) in error.message and "the stack staging" in error.message
    assert f"`cp {state}.bak {state}`" in error.remedy and "pulumi refresh -s staging" in error.remedy


def test_truncated_attributes_are_named_and_the_state_stays(backend):
    attributes = backend / STACKS / "staging.json.attrs"
    attributes.write_text("")

    error = damaged_state(backend)

    assert error is not None and str(attributes) in error.message
    assert f"`rm {attributes}`" in error.remedy
    attributes.unlink()
    assert damaged_state(backend) is None


def test_if_the_backup_is_damaged_the_error_names_the_last_update_or_how_to_start_from_scratch(backend):
    state = backend / STACKS / "staging.json"
    state.write_text("")
    state.with_name("staging.json.bak").write_text("")

    of_history = damaged_state(backend)
    for file in (*(backend / STACKS).glob("staging*"), *(backend / HISTORY).iterdir()):
        file.write_text("")
    none_left = damaged_state(backend)

    assert of_history is not None and none_left is not None
    assert f"`cp {backend / HISTORY / 'staging-2.checkpoint.json'} {state}`" in of_history.remedy
    assert "make down STACK=staging" in none_left.remedy
