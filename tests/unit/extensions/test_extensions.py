"""Extensions are registered as entry points, and nothing else knows them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from typing import Any

import pytest
import typer

from flux_tenancy.command.app import EXTENSIONS, app

WITHOUT = """
import importlib, importlib.metadata, pkgutil, sys
importlib.metadata.entry_points = lambda group: ()
sys.modules["flux_tenancy.extensions"] = None
import flux_tenancy
for each in pkgutil.walk_packages(flux_tenancy.__path__, "flux_tenancy.", onerror=lambda name: None):
    if not each.name.startswith("flux_tenancy.extensions") and not each.name.endswith("__main__"):
        importlib.import_module(each.name)
from flux_tenancy.command.app import main
sys.argv = ["flux-tenancy", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("extension", entry_points(group=EXTENSIONS), ids=lambda each: each.name)
def test_an_extension_is_a_command_or_a_group_of_commands(extension):
    loaded = extension.load()

    assert isinstance(loaded, typer.Typer) or (callable(loaded) and loaded.__name__ == extension.name)


def test_an_extension_adds_its_commands_to_a_group_that_is_there():
    program: Any = typer.main.get_command(app)

    assert {"list", "envelope"} <= program.commands["tenant"].commands.keys()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ci"], "no such command 'ci'"),
        (["check"], "no such command 'check'"),
        (["tenant", "envelope"], "no such command 'envelope'"),
        (["--version"], "0."),
    ],
)
def test_the_product_works_without_its_extensions(arguments, says):
    done = subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True)

    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


BROKEN = """
import importlib.metadata, sys
importlib.metadata.entry_points = lambda group: [importlib.metadata.EntryPoint("gone", "no_such_module:app", group)]
from flux_tenancy.command.app import main
sys.argv = ["flux-tenancy", "--help"]
main()
"""


def test_an_extension_that_cannot_be_loaded_stops_no_other_command():
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True)

    assert done.returncode == 0 and "releases" in done.stdout
    assert (
        done.stderr
        == "warning: the extension gone (no_such_module:app) cannot be used: No module named 'no_such_module'\n"
    )
