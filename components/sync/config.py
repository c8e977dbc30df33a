"""How a folder of a repository is applied, as the configuration has it."""

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
    retry_interval: Duration = Field("1m", description="How soon to try again after a failure.")
    timeout: Duration = Field("5m", description="How long applying and becoming ready may take.")
    prune: bool = Field(True, description="Delete what left the repository.")
    wait: bool = Field(True, description="Call the sync ready only when everything that it applied is ready.")
    suspend: bool = Field(False, description="Stop reconciling, and pruning, for now.")
    decryption: Decryption | None = Field(
        None, description="What decrypts the Secrets that lie there encrypted by SOPS (docs/secrets.md)."
    )
