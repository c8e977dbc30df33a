"""The lab's stand-in for GnuPG: it imports into the ring from which sops decrypts by itself, and does nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pysequoia import Tsk

from components.sops.openpgp_keys import generate

GPG = Path(__file__).parents[3] / "lab" / "gpg"


def gpg(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([GPG, *arguments], input=stdin, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("checksum", ["", "=AAAA\n"])
def test_imported_keys_stand_in_the_ring_one_after_the_other(tmp_path, checksum):
    keys = [generate(name).private for name in ("first", "second")]

    for key in keys:
        armored = key.replace("-----END", f"{checksum}-----END")
        assert gpg("--homedir", str(tmp_path), "--batch", "--import", stdin=armored).returncode == 0

    ring = (tmp_path / "secring.gpg").read_bytes()
    assert ring == b"".join(bytes(Tsk.from_bytes(key.encode())) for key in keys)


@pytest.mark.parametrize("arguments", [[], ["-d"], ["--homedir", "x", "-d"], ["--homedir", "x", "--batch", "--export"]])
def test_whatever_else_it_is_asked_for_is_refused(arguments):
    done = gpg(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("gpg of the lab only imports")
