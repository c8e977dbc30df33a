"""Extensions are registered as entry points, and nothing else knows them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
import typer

from flux_tenancy.command.app import EXTENSIONS

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
def test_an_extension_is_a_group_of_commands(extension):
    assert isinstance(extension.load(), typer.Typer)


@pytest.mark.parametrize(("arguments", "says"), [(["ci"], "no such command 'ci'"), (["version"], "0.")])
def test_the_product_works_without_its_extensions(arguments, says):
    done = subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True)

    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
