"""The upstream releases that a change upgrades: version and digest before and after, and where the changelog is."""

from __future__ import annotations

from dataclasses import dataclass

from flux_tenancy.components.installs.capsule import CAPSULE
from flux_tenancy.components.installs.flux.release import FLUX
from flux_tenancy.components.installs.kyverno import KYVERNO
from flux_tenancy.components.installs.product import Product, parse_version
from flux_tenancy.components.stack.files.stack_file import StackFile

_PRODUCTS = {each.name: each for each in (FLUX, KYVERNO, CAPSULE)}


@dataclass(frozen=True)
class Release:
    """A release as a stack pins it.

    Attributes:
        version: e.g. `2.9.5`.
        sha256: digest of its manifest or chart.
    """

    version: str
    sha256: str


@dataclass(frozen=True)
class ReleaseChange:
    """A release that differs.

    Attributes:
        section: its section of the stack's file.
        before: the release at the merge base; None where it is installed for the first time.
        after: the release now; None where it is removed.
    """

    section: str
    before: Release | None
    after: Release | None

    @property
    def title(self) -> str:
        """What upstream calls it."""
        return self._product.title

    @property
    def is_downgrade(self) -> bool:
        """Whether the version is older than before."""
        if self.before is None or self.after is None:
            return False
        return parse_version(self.after.version) < parse_version(self.before.version)

    @property
    def is_replaced(self) -> bool:
        """Whether the version is the same, but what is behind it is not."""
        return self.before is not None and self.after is not None and self.after.version == self.before.version

    @property
    def danger(self) -> str:
        """What is wrong with the change, without its title; empty for an upgrade, an installation and a removal.

        The content of a release does not always say its version, which decides about flags.
        """
        if self.before is None or self.after is None:
            return ""
        if self.is_downgrade:
            return f"is downgraded to {self.after.version}"
        if self.is_replaced:
            return "has the same version, but another digest"
        is_same = self.after.sha256 and self.after.sha256 == self.before.sha256
        return "has another version, but the same digest" if is_same else ""

    @property
    def changelog(self) -> str:
        """The address where upstream says what is new in the release; empty where nothing is."""
        return self._product.changelog(self.after.version) if self.after and not self.is_replaced else ""

    @property
    def commits(self) -> str:
        """The address with every change between both releases; empty unless it is an upgrade."""
        if self.before is None or self.after is None or self.is_replaced or self.is_downgrade:
            return ""
        return f"{self._product.repository}/compare/v{self.before.version}...v{self.after.version}"

    @property
    def _product(self) -> Product:
        return _PRODUCTS[self.section]


def release_changes(before: StackFile | None, after: StackFile | None) -> tuple[ReleaseChange, ...]:
    """The releases that differ between two versions of a stack's file.

    Args:
        before: the file at the merge base; None for a new stack.
        after: the file now; None for a stack that is gone.
    """
    found = []
    for section in _PRODUCTS:
        old, new = _release(before, section), _release(after, section)
        if old != new:
            found.append(ReleaseChange(section, old, new))
    return tuple(found)


def _release(file: StackFile | None, section: str) -> Release | None:
    if file is None:
        return None
    values = {key: value for key in ("version", "sha256") if (value := file.at((section, key))) is not None}
    return Release(str(values["version"]), str(values.get("sha256", ""))) if "version" in values else None
