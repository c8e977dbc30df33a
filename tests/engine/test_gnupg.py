"""The lab's stand-in for GnuPG, and GnuPG itself if installed: both decrypt with the keys that are made here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dev.lab.images import GNUPG
from flux_tenancy.components.keys.openpgp_keys import generate
from tests.support.sops import encrypt, public_ring

REAL = shutil.which("gpg")
STAND_IN = GNUPG["SOPS_GPG_EXEC"]
PROGRAMS = [
    pytest.param(STAND_IN, id="stand-in"),
    pytest.param(REAL, id="GnuPG", marks=pytest.mark.skipif(REAL is None, reason="no GnuPG on this machine")),
]
FIRST, SECOND = generate("first"), generate("second")


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder whose path is short enough for the socket of GnuPG's agent."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)
        if REAL:
            subprocess.run([shutil.which("gpgconf") or "true", "--homedir", folder, "--kill", "all"], check=False)


def gpg(program: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.defpath, "LAB_PYTHON": sys.executable}
    return subprocess.run(
        [program, *arguments], input=stdin.encode(), env=environment, capture_output=True, check=False
    )


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What `sops` encrypts for each of the keys: the key of a file's data, 32 bytes."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".git").mkdir()
    found = []
    for number, key in enumerate((FIRST, SECOND)):
        (folder / ".sops.yaml").write_text(f"creation_rules: [{{pgp: {key.fingerprint}}}]\n")
        sealed = encrypt(folder, f"{number}.yaml", "a: b\n", public_ring(folder / f"ring-{number}", key.public))
        found.append(yaml.safe_load(sealed)["sops"]["pgp"][0]["enc"])
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_secrets_for_any_imported_key_are_decrypted(program, home, messages):
    for key in (FIRST, SECOND):
        done = gpg(program, "--homedir", str(home), "--batch", "--import", stdin=key.private)
        assert done.returncode == 0, done.stderr

    data_keys = set()
    for message in messages:
        done = gpg(program, "--homedir", str(home), "-d", stdin=message)
        assert (done.returncode, len(done.stdout)) == (0, 32), done.stderr
        data_keys.add(done.stdout)
    assert len(data_keys) == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_secrets_for_another_key_are_not_decrypted(program, home, messages):
    gpg(program, "--homedir", str(home), "--batch", "--import", stdin=FIRST.private)

    done = gpg(program, "--homedir", str(home), "-d", stdin=messages[1])

    assert done.returncode != 0
    assert b"No secret key" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize("arguments", [[], ["-d"], ["--homedir", "x", "--batch", "--export"]])
def test_the_stand_in_refuses_all_other_commands(arguments):
    done = gpg(STAND_IN, *arguments)

    assert done.returncode == 1
    assert done.stderr.startswith(b"the lab's GnuPG does not support `gpg")
