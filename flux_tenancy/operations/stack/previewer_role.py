"""Who may preview a stack, as manifests for a cluster that has not been set up yet.

Afterwards `pulumi up` applies the same objects (`components.cluster.component`).
"""

from __future__ import annotations

from pathlib import Path

import yaml

from flux_tenancy.components.cluster.component import previewer_access
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.yaml_files import Dumper
from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.operations.stack.described_cluster import described_previewers
from flux_tenancy.project.errors import OperationError


def previewer_manifests(stack: str, project: Path) -> str:
    """The ClusterRole of a stack's previewers and its binding, as YAML; needs no passphrase and no cluster.

    Raises:
        OperationError: the stack does not exist, or has no valid list of previewers.
    """
    if not (access := previewer_access(described_previewers(stack, project))):
        raise OperationError(
            Message(
                "FT-OPS-053",
                f"{stack_file_name(stack)} has no cluster.previewers",
                "list the users, groups or service accounts (docs/review.md#previews-with-a-read-only-identity)",
            )
        )
    return yaml.dump_all(access, Dumper=Dumper, sort_keys=False)
