"""Code that Python would find before the program's own stops a run and a review."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine import code
from flux_tenancy.components.engine.code import code_files, code_problems, hiding

PYYAML = version("pyyaml")


def write(folder: Path, name: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("yaml.py", "yaml.py"),
        ("json.py", "json.py"),
        ("yaml.pyc", "yaml.pyc"),
        (f"yaml{EXTENSION_SUFFIXES[0]}", f"yaml{EXTENSION_SUFFIXES[0]}"),
        ("yaml.abi3.so", "yaml.abi3.so"),
        ("yaml/__init__.py", "yaml"),
        ("yaml/__init__.pyc", "yaml"),
        ("flux_tenancy/__init__.py", "flux_tenancy"),
        ("semver.py", "semver.py"),
        ("google/protobuf/__init__.py", "google/protobuf"),
        ("__main__.pyc", "__main__.pyc"),
        ("__main__.abi3.so", "__main__.abi3.so"),
        *(
            (name, None)
            for name in ("helper.py", "helper/__init__.py", "yaml.txt", "yaml/values.yaml", "json/notes.md")
            + ("docs/yaml.py", "scripts/conftest.py")
        ),
    ],
)
def test_only_a_module_by_the_name_of_another_one_is_refused_in_every_form(tmp_path, name, found):
    write(tmp_path, "__main__.py")
    write(tmp_path, name)

    problems = code_problems(tmp_path)

    assert [(each.file, each.code) for each in problems] == ([(found, "FT-CFG-633")] if found else [])


def test_a_package_by_the_name_of_the_product_is_refused_also_if_that_is_installed_as_editable(tmp_path, monkeypatch):
    """Python then finds the product through no path."""
    write(tmp_path, "flux_tenancy/__init__.py")
    monkeypatch.setattr(sys, "path", [each for each in sys.path if Path(each).resolve() != code.PACKAGE.parent])

    assert list(hiding(tmp_path)) == [(tmp_path / "flux_tenancy", str(code.PACKAGE / "__init__.py"))]


def test_a_link_to_the_installed_product_hides_nothing(tmp_path):
    import flux_tenancy

    (tmp_path / "flux_tenancy").symlink_to(Path(flux_tenancy.__file__).parent)

    assert list(hiding(tmp_path)) == []
    assert code_files(tmp_path) == []


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("PyYAML==0.0.1", True),
        ("pyyaml == 0.0.1 \\\n    --hash=sha256:aa", True),
        ("pyyaml>=5", False),
        ("no-such-package==1", False),
        ("pyyaml==6.*", False),
        ("pyyaml==0.1 ; python_version < '3'", False),
        (f"pyyaml=={PYYAML}.0", False),
        (f"pyyaml==v{PYYAML},>=3", False),
        (f"pyyaml=={PYYAML}\\", False),
        ("-r others.txt", False),
    ],
)
def test_another_version_than_the_project_requires_is_refused(tmp_path, line, refused):
    (tmp_path / "requirements.txt").write_text(line)

    assert [each.code for each in code_problems(tmp_path)] == (["FT-CFG-634"] if refused else [])


@pytest.mark.parametrize(
    "line",
    [
        "-c more/pins.txt",
        "--constraint more/pins.txt",
        "--constraint=more/pins.txt",
        "-rmore/pins.txt",
        "-r more/a.txt",
        "--require more/pins.txt",
    ],
)
def test_constraints_and_included_requirements_count_in_their_own_file(tmp_path, line):
    (tmp_path / "more").mkdir()
    (tmp_path / "requirements.txt").write_text(f"flux-tenancy>=0\n{line}\n")
    (tmp_path / "more" / "a.txt").write_text("-r ../requirements.txt\n-c pins.txt\n")
    (tmp_path / "more" / "pins.txt").write_text("no-such-package==1\npyyaml==0.0.1\n")

    [problem] = code_problems(tmp_path)

    assert (problem.file, problem.path, problem.code) == ("more/pins.txt", "pyyaml", "FT-CFG-634")


def test_constraints_that_hold_are_no_problem(tmp_path):
    (tmp_path / "requirements.txt").write_text("-c pins.txt\n-c none.txt\n")
    (tmp_path / "pins.txt").write_text(f"pyyaml=={PYYAML}\n")

    assert code_problems(tmp_path) == []


@pytest.mark.parametrize("name", [".venv/bin/pulumi", "own/bin/python"])
def test_programs_that_git_tracks_in_the_folder_of_the_packages_are_refused(tmp_path, name):
    write(tmp_path, name)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert code_problems(tmp_path, "own") == []

    subprocess.run(["git", "-C", str(tmp_path), "add", "-f", name], check=True)

    assert [(each.file, each.code) for each in code_problems(tmp_path, "own")] == [(name.split("/")[0], "FT-CFG-635")]


def test_git_that_fails_is_an_error_and_not_a_project_without_git(tmp_path):
    (tmp_path / ".git").write_text("gitdir: nowhere\n")

    with pytest.raises(ConfigurationError) as refused:
        code_problems(tmp_path)

    assert [each.code for each in refused.value.problems] == ["FT-CFG-636"]


def test_links_in_circles_and_to_links_are_followed_once(tmp_path):
    project, shared = tmp_path / "project", tmp_path / "shared"
    write(tmp_path, "more/deep.py")
    write(shared, "a.py")
    (shared / "inner").symlink_to(tmp_path / "more")
    (shared / "again").symlink_to(shared)
    project.mkdir()
    (project / "lib").symlink_to(shared)

    assert [each.name for each in code_files(project)] == ["a.py", "deep.py"]


def test_packages_that_install_others_do_not_count_as_installed(tmp_path, monkeypatch):
    required = {"flux_tenancy": ["pip>=25", "setuptools", "wheel", "PyYAML (>=6)"], "pyyaml": []}
    for name in (*required, "pip", "setuptools", "wheel", "pytest"):
        metadata = tmp_path / f"{name}-1.0.dist-info"
        metadata.mkdir()
        lines = [f"Requires-Dist: {each}\n" for each in required.get(name, ())]
        (metadata / "METADATA").write_text("".join(lines))
        (metadata / "RECORD").write_text("")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(code, "_distributions", code._distributions.__wrapped__)

    assert [*code.installed_packages.__wrapped__()] == ["flux-tenancy", "pyyaml"]
