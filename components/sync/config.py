"""How a folder of a repository is applied: the keys that the platform's sync and those of tenants share."""

from __future__ import annotations

from pydantic import Field

from components.config.section import Section
from components.config.types import Duration
from components.sync.decryption import Decryption


class Reconciliation(Section):
    """How a folder of a repository is applied.

    Source: https://fluxcd.io/flux/components/kustomize/kustomizations/
    """

    interval: Duration = Field("10m", description="How often to compare with the cluster and correct drift.")
    retry_interval: Duration = Field("1m", description="How soon to retry after a failure.")
    timeout: Duration = Field("5m", description="How long applying and becoming ready may take.")
    prune: bool = Field(True, description="Delete objects that were removed from the repository.")
    wait: bool = Field(True, description="Report the sync as ready only when everything that it applied is ready.")
    suspend: bool = Field(False, description="Suspend reconciling and pruning.")
    decryption: Decryption | None = Field(
        None, description="Decryption of Secrets that are encrypted by SOPS (docs/secrets.md)."
    )
