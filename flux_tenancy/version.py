"""The version of this release, as semantic versioning has it.

It is written here only: the wheel, `flux-tenancy --version`, the outputs of a stack and its state read it.

Source: https://semver.org
"""

from __future__ import annotations

VERSION = "0.1.0"
