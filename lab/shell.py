"""The lab in the user's own shell."""

from __future__ import annotations

import os
import shlex
import sysconfig

from lab.cluster import clusters
from lab.errors import LabError
from lab.pulumi import CLI, LabPulumi
from lab.settings import Settings


def exports(settings: Settings) -> str:
    """Shell commands that put the lab's tools, clusters and Pulumi settings into the environment.

    Raises:
        LabError: the lab was never started, so there is nothing to lead to.
    """
    pulumi = LabPulumi(settings)
    if not (pulumi.bin / CLI).exists():
        raise LabError(f"there is no Pulumi in {pulumi.bin} yet", "`make up` or `make start` installs it")
    # kubectl and sops are installed beside this Python.
    programs = (str(pulumi.bin), sysconfig.get_path("scripts"))
    variables = {
        "PATH": os.pathsep.join(dict.fromkeys([*programs, *os.environ.get("PATH", os.defpath).split(os.pathsep)])),
        "KUBECONFIG": os.pathsep.join(str(each.kubeconfig) for each in clusters(settings) if each.exists()),
        **pulumi.environment(),
    }
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
