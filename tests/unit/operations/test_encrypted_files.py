"""Which files of a checkout are found, and that none is overlooked."""

from __future__ import annotations

import os

import pytest

from flux_tenancy.operations.sops_keys import encrypted_files


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    """Its files may be encrypted for the very key that is being withdrawn."""
    (tmp_path / "private").mkdir()
    (tmp_path / ".git").mkdir()
    scan = os.scandir

    def refused(path):
        if path.endswith(("private", ".git")):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)

    with pytest.raises(PermissionError, match="private"):
        encrypted_files(tmp_path)
