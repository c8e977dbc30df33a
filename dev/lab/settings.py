"""The folders and ports of the lab."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from dev.lab.errors import LabError

DEFAULT_PORT_BASE = 20800
"""Below the range that Linux uses for outgoing connections (32768 and up)."""

STATE_PARTS = ("clusters", "git-host", "pulumi", "flux", "kyverno")
"""Folders of the state without files of the user; ``lab.project`` handles the project folder."""

PORTS_EACH = 10
"""TCP ports of the Git host, and of each cluster."""

HIGHEST_INDEX = 63
"""Index of the last cluster of a lab."""

PORTS_OF_A_LAB = PORTS_EACH * (HIGHEST_INDEX + 1)
_LOWEST_PORT_BASE = 1024
_HIGHEST_PORT_BASE = 65535 - PORTS_OF_A_LAB


@dataclass(frozen=True)
class Settings:
    """The lab's folders and ports, from which all others are derived.

    Attributes:
        project: the checkout, with ``dev/lab`` and the Pulumi program.
        cache: finished tools, shared by all checkouts of the user.
        state: the state of clusters, Git host and Pulumi, and their logs; ``down`` deletes it.
        port_base: first TCP port of the lab, on 127.0.0.1. The Git host has the first ten ports, and the cluster with
            index ``i`` the ten from ``port_base + 10 * i``.
    """

    project: Path
    cache: Path
    state: Path
    port_base: int

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Settings:
        """This checkout's settings; ``FLUX_TENANCY_CACHE``, ``LAB_STATE`` and ``LAB_PORT_BASE`` change them.

        A lab with another port base has another state, so that it can run at the same time as the default one.

        Raises:
            LabError: ``LAB_PORT_BASE`` is not a port, or too high for the lab's other ports.
        """
        project = Path(__file__).resolve().parents[2]
        port_base = _port_base(environ.get("LAB_PORT_BASE"))
        return cls(
            project=project,
            cache=_cache_folder(environ),
            state=_folder(environ.get("LAB_STATE")) or _default_state(project, port_base),
            port_base=port_base,
        )

    @property
    def pulumi_project(self) -> Path:
        """The folder in which Pulumi runs: the checkout for the default lab, its own project folder for another lab.

        The stack and tenant files of the checkout contain the ports and paths of the default lab.
        """
        return self.project if self.is_default else self.state / "project"

    @property
    def is_default(self) -> bool:
        """Whether this is the lab that the stack files of the checkout are for."""
        return self.port_base == DEFAULT_PORT_BASE and self.state == _default_state(self.project, self.port_base)

    @property
    def assignments(self) -> str:
        """What a shell writes before `make` to mean this lab; empty for the default one."""
        base = [] if self.port_base == DEFAULT_PORT_BASE else [f"LAB_PORT_BASE={self.port_base}"]
        is_own = self.state == _default_state(self.project, self.port_base)
        return " ".join([*base, *([] if is_own else [f"LAB_STATE={quote(str(self.state))}"])])

    def started_elsewhere(self) -> list[int]:
        """The port bases of the checkout's other labs that were started."""
        folders = (self.project / ".lab").glob("*/pulumi")
        return sorted(int(each.parent.name) for each in folders if each.parent.name.isdecimal())


def _default_state(project: Path, port_base: int) -> Path:
    default = project / ".lab"
    return default if port_base == DEFAULT_PORT_BASE else default / str(port_base)


def _folder(value: str | None) -> Path | None:
    """An absolute path, for processes with another working directory; None if it is unset or empty."""
    return Path(value).expanduser().absolute() if value else None


def _cache_folder(environ: Mapping[str, str]) -> Path:
    if own := _folder(environ.get("FLUX_TENANCY_CACHE")):
        return own
    user_cache = _folder(environ.get("XDG_CACHE_HOME")) or Path.home() / ".cache"
    return user_cache / "flux-tenancy"


def _port_base(value: str | None) -> int:
    if not value:
        return DEFAULT_PORT_BASE
    if value.isdecimal() and _LOWEST_PORT_BASE <= int(value) <= _HIGHEST_PORT_BASE:
        return int(value)
    raise LabError(
        f"LAB_PORT_BASE is {value!r}, which is not a number from {_LOWEST_PORT_BASE} to {_HIGHEST_PORT_BASE}",
        f"unset LAB_PORT_BASE to use {DEFAULT_PORT_BASE}, or set it to the start of a free range",
    )
