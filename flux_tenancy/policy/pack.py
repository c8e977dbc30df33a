"""Serves the policy pack of a project, in whose folder `policy/` the engine runs a program of one line."""

from __future__ import annotations

from pathlib import Path

from pulumi_policy import PolicyPack

from flux_tenancy.policy.judge import Judge
from flux_tenancy.policy.policies import policies
from flux_tenancy.policy.setting import setting_of


def serve(project: Path) -> None:
    """Serve the policy pack until the engine ends it.

    Args:
        project: folder of the Pulumi project.
    """
    PolicyPack("flux-tenancy", policies(Judge(lambda urn: setting_of(urn, project))))
