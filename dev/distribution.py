"""`make dist`: the wheel, the versions that it is tested with, its bill of materials, and its provenance.

A commit gives the same bytes on each machine. `constraints` also writes the template's constraints.txt.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from flux_tenancy.version import VERSION

CHECKOUT = Path(__file__).parents[1]
DIST = CHECKOUT / "dist"
CONSTRAINTS = "constraints.txt"
SBOM = f"flux_tenancy-{VERSION}.cdx.json"
PROVENANCE = f"flux_tenancy-{VERSION}.intoto.json"
_PACKED = ("flux_tenancy", "LICENSE", "pyproject.toml", "requirements.in")
"""What the wheel is built from."""
_PIP = (
    "-m",
    "pip",
    "wheel",
    "--quiet",
    "--disable-pip-version-check",
    "--no-index",
    "--no-deps",
    "--no-build-isolation",
)
_BUILD = "urn:flux-tenancy:make-dist:v1"
_BUILDER = "setuptools"
"""The package that decides about the bytes of the wheel."""
_DIRTY = "-dirty"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)((?:\s*\\\n\s*--hash=sha256:[0-9a-f]+)*)", re.MULTILINE)
_ROOT = f"pkg:pypi/flux-tenancy@{VERSION}"


@dataclass(frozen=True)
class Locked:
    """A package of requirements.txt, and the SHA-256 of each file of its release."""

    name: str
    version: str
    digests: Sequence[str]

    @property
    def purl(self) -> str:
        """Its package URL.

        Source: https://github.com/package-url/purl-spec/blob/main/types-doc/pypi-definition.md
        """
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def locked() -> list[Locked]:
    """The packages that the product is tested with."""
    found = _LOCKED.findall((CHECKOUT / "requirements.txt").read_text(encoding="utf-8"))
    return [Locked(name, version, re.findall(r"sha256:([0-9a-f]+)", hashes)) for name, version, hashes in found]


def constraints() -> str:
    """constraints.txt: the exact version of each package.

    It has no hashes: pip would then require one of every other package, too.
    """
    head = f"# What flux-tenancy {VERSION} is tested with. Each release has this file beside its wheel."
    return "\n".join([head, *(f"{each.name}=={each.version}" for each in locked())]) + "\n"


def sbom(commit: str) -> str:
    """The bill of materials of the wheel with these packages.

    Args:
        commit: the commit that the wheel is built from, with `-dirty` if files differ from it.

    Source: https://cyclonedx.org/docs/1.6/json/
    """
    packages = locked()
    content: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": _ROOT,
                "name": "flux-tenancy",
                "version": VERSION,
                "purl": _ROOT,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [{"name": "flux-tenancy:commit", "value": commit}],
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": each.purl,
                "name": each.name,
                "version": each.version,
                "purl": each.purl,
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in each.digests],
            }
            for each in packages
        ],
        "dependencies": [{"ref": _ROOT, "dependsOn": [each.purl for each in packages]}],
    }
    # The same for the same content, as everything else in it.
    content["serialNumber"] = uuid5(NAMESPACE_URL, json.dumps(content)).urn
    return json.dumps(content, indent=2) + "\n"


def provenance(commit: str, folder: Path) -> str:
    """What the files of a folder are built from, and how: an in-toto statement, which whoever publishes them signs.

    It has neither the time nor the machine, so that everybody who builds the commit can compare it.

    Args:
        commit: the commit, with `-dirty` if files differ from it.
        folder: the files that were built.

    Source: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md and
    https://slsa.dev/spec/v1.1/provenance
    """
    source: dict[str, Any] = {"name": "source", "digest": {"gitCommit": commit.removesuffix(_DIRTY)}}
    if commit.endswith(_DIRTY):
        source["annotations"] = {"modified": True}
    content = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": file.name, "digest": {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}}
            for file in sorted(folder.iterdir())
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD,
                "externalParameters": {"target": "dist"},
                "resolvedDependencies": [source, {"uri": f"pkg:pypi/{_BUILDER}@{version(_BUILDER)}"}],
            },
            "runDetails": {"builder": {"id": _BUILD}},
        },
    }
    return json.dumps(content, indent=2) + "\n"


def build(folder: Path) -> None:
    """Write the wheel, constraints.txt, the bill of materials and the provenance of these into an empty folder.

    Tracked files are copied first, so that neither the checkout's path and modes nor files that are left over count.
    """
    commit = _git("describe", "--always", "--abbrev=40", f"--dirty={_DIRTY}", "--exclude=*").strip()
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary)
        for name in filter(None, _git("ls-files", "-z", "--", *_PACKED).split("\0")):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(CHECKOUT / name, target)
        # Source: https://reproducible-builds.org/specs/source-date-epoch/
        epoch = {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct").strip()} | os.environ
        subprocess.run([sys.executable, *_PIP, f"--wheel-dir={folder}", temporary], env=epoch, check=True)
    (folder / CONSTRAINTS).write_text(constraints(), encoding="utf-8")
    (folder / SBOM).write_text(sbom(commit), encoding="utf-8")
    (folder / PROVENANCE).write_text(provenance(commit, folder), encoding="utf-8")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    shutil.rmtree(DIST, ignore_errors=True)
    build(DIST)
