"""The wheel: it has the whole product and nothing else, and its command runs without this repository."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from sample_release import RELEASE_FILE

from dev.distribution import CONSTRAINTS, PROVENANCE, SBOM, build, locked, provenance
from flux_tenancy.version import VERSION

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "flux_tenancy"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`flux-tenancy` in a new environment, which shares the other packages with that of the tests."""
    environment = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    pip("--python", str(environment / "bin" / "python"), "install", "--no-deps", str(wheel))
    [packages] = environment.glob("lib/*/site-packages")
    # Python reads no `.pth` of a folder that is added like this, so the editable project stays out.
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib"))
    return environment / "bin" / "flux-tenancy"


def pip(*arguments: str) -> None:
    options = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments], env=os.environ | options, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run(command: Path, *arguments: str, folder: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PULUMI_"))}
    # The release of the tests is too small for offline-admission, which may be in the user's cache.
    environ["FLUX_TENANCY_CACHE"] = str(folder.parent / "cache")
    done = subprocess.run([command, *arguments], cwd=folder, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def names(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def test_it_has_every_file_of_the_product_and_no_other(wheel: Path) -> None:
    listed = ["git", "ls-files", "-z", "--", PACKAGE.name]
    done = subprocess.run(listed, cwd=CHECKOUT, capture_output=True, text=True, check=True)

    assert names(wheel) == set(filter(None, done.stdout.split("\0")))


def requirements(lines: Iterable[str]) -> dict[str, Requirement]:
    return {each.name.lower(): each for each in map(Requirement, lines)}


def required() -> dict[str, Requirement]:
    """The requirements of requirements.in."""
    lines = (CHECKOUT / "requirements.in").read_text().splitlines()
    return requirements(line for line in lines if not line.startswith("#"))


def test_it_needs_the_packages_of_the_product(wheel: Path) -> None:
    metadata = zipfile.ZipFile(wheel).read(f"flux_tenancy-{VERSION}.dist-info/METADATA").decode()
    listed = Parser().parsestr(metadata).get_all("Requires-Dist", [])

    assert requirements(listed) == required()


def test_it_can_be_installed_beside_other_packages_and_no_newer_than_is_known() -> None:
    tested = {each.name: Version(each.version) for each in locked()}

    for name, each in required().items():
        operators = {one.operator: Version(one.version) for one in each.specifier}
        assert operators.keys() == {">=", "<"}, name
        assert operators[">="] <= tested[name] < operators["<"], name
        assert operators["<"].release[0] > 0 or operators[">="].release[0] == 0, name


def test_its_bill_of_materials_has_each_tested_package_with_its_hashes(wheel: Path) -> None:
    content = json.loads((wheel.parent / SBOM).read_text())

    listed = {each["purl"]: {one["content"] for one in each["hashes"]} for each in content["components"]}
    assert listed == {each.purl: set(each.digests) for each in locked()}
    assert all(listed.values())
    assert content["dependencies"] == [{"ref": f"pkg:pypi/flux-tenancy@{VERSION}", "dependsOn": list(listed)}]
    assert set((wheel.parent / CONSTRAINTS).read_text().splitlines()[1:]) == {
        purl.removeprefix("pkg:pypi/").replace("@", "==") for purl in listed
    }


def test_it_is_the_same_bytes_whatever_the_modes_times_and_leftovers_of_the_checkout(tmp_path: Path) -> None:
    clone, built = tmp_path / "clone", []
    subprocess.run(["git", "clone", "--quiet", "--depth=1", CHECKOUT.as_uri(), clone], check=True)
    for mode in (0o644, 0o600):
        for file in (*(clone / "flux_tenancy").rglob("*.*"), clone / "LICENSE"):
            file.chmod(mode if file.is_file() else 0o755)
            os.utime(file, (mode * 10**6, mode * 10**6))
        subprocess.run([sys.executable, "-m", "dev.distribution"], cwd=clone, check=True)
        built.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in (clone / "dist").iterdir()})
        for left in ("build/lib/flux_tenancy/gone.py", "flux_tenancy/template/left.yaml"):
            (clone / left).parent.mkdir(parents=True, exist_ok=True)
            (clone / left).touch()

    assert built[0] == built[1]
    assert len(built[0]) == 4
    assert {name: built[0][name] for name in built[0] if name != PROVENANCE} == {
        each["name"]: each["digest"]["sha256"]
        for each in json.loads((clone / "dist" / PROVENANCE).read_text())["subject"]
    }


def test_its_provenance_has_the_commit_and_each_file_with_its_digest(wheel: Path) -> None:
    """https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md, https://slsa.dev/spec/v1.1/provenance"""
    statement = json.loads((wheel.parent / PROVENANCE).read_text())

    assert (statement["_type"], statement["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://slsa.dev/provenance/v1",
    )
    assert {each["name"]: each["digest"] for each in statement["subject"]} == {
        file.name: {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
        for file in wheel.parent.iterdir()
        if file.name != PROVENANCE
    }
    source, builder = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert source["digest"] == {"gitCommit": head.stdout.strip()}
    assert f"Generator: {builder['uri'].removeprefix('pkg:pypi/').replace('@', ' (')})" in (
        zipfile.ZipFile(wheel).read(f"flux_tenancy-{VERSION}.dist-info/WHEEL").decode()
    )


@pytest.mark.parametrize("dirty", [True, False])
def test_its_provenance_says_that_files_differ_from_the_commit(tmp_path: Path, dirty: bool) -> None:
    content = json.loads(provenance(f"{'a' * 40}{'-dirty' * dirty}", tmp_path))

    [source, _] = content["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert source["digest"] == {"gitCommit": "a" * 40}
    assert source.get("annotations", {}) == ({"modified": True} if dirty else {})


def test_it_has_the_licence_and_its_command_has_its_version(wheel: Path, command: Path, tmp_path: Path) -> None:
    packed = zipfile.ZipFile(wheel).read(f"flux_tenancy-{VERSION}.dist-info/licenses/LICENSE")

    assert packed == (CHECKOUT / "LICENSE").read_bytes()
    assert run(command, "--version", folder=tmp_path) == f"{VERSION}\n"


def test_a_new_project_renders_and_a_change_of_it_is_compared_with_the_wheel_alone(
    command: Path, tmp_path: Path
) -> None:
    run(command, "new", "my-platform", folder=tmp_path)
    project = tmp_path / "my-platform"
    release = RELEASE_FILE.read_bytes()
    (project / "install.yaml").write_bytes(release)
    stack = project / "Pulumi.dev.yaml"
    content = yaml.safe_load(stack.read_text())
    content["config"]["my-platform:flux"] |= {
        "sha256": hashlib.sha256(release).hexdigest(),
        "manifests": {"bundle": "install.yaml"},
    }
    stack.write_text(yaml.safe_dump(content))
    # Without Pulumi, which would encrypt a deploy key.
    tenant = project / "tenants" / "my-team.yaml"
    source = {"url": "https://git.example.com/my-team/apps", "interval": "10m"}
    policies = {"sources": ["https://git.example.com/*"]}
    tenant.write_text(yaml.safe_dump(yaml.safe_load(tenant.read_text()) | {"source": source, "policies": policies}))

    run(command, "review", "render", folder=project)

    assert (project / ".render" / "dev" / "digest.json").is_file()
    git = ("git", "-c", "user.name=me", "-c", "user.email=me@example.com")
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "Start"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)
    tenant.write_text(tenant.read_text().replace("interval: 10m", "interval: 5m"))

    report = json.loads(run(command, "review", "diff", "--output", "json", folder=project))

    [compared] = report["stacks"]
    assert "10m" in json.dumps(compared) and "5m" in json.dumps(compared)
    assert compared["note"] == ""


def test_a_project_gets_the_schemas_of_its_own_keys(command: Path, tmp_path: Path) -> None:
    run(command, "new", "my-platform", folder=tmp_path)
    project = tmp_path / "my-platform"

    run(command, "schemas", folder=project)

    stack = json.loads((project / "schemas" / "stack.schema.json").read_text())
    assert "my-platform:flux" in stack["properties"]["config"]["properties"]
    assert (project / "schemas" / "tenant.schema.json").is_file()
