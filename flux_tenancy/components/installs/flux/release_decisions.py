"""What was decided about differences between Flux releases, as `flux-tenancy releases compare` finds them."""

from __future__ import annotations

from collections.abc import Mapping

_OBJECT_IDENTITY = "until 2.9 set by the multi-tenant profile; from 2.10 on always on (lockdown_flags.py)"
_MUTUAL_TLS = "for the platform team: the profile neither sets nor refuses it"
_LOGINS = "closed to tenants by the policy tenant-access"

DECISIONS: Mapping[str, str] = {
    # Flux 2.10
    **{
        f"flag {controller} --{flag}": _MUTUAL_TLS
        for controller, peer in (
            ("kustomize-controller", "ControllerFlagAuthorizedArtifactServerSPIFFEID"),
            ("source-controller", "ControllerFlagAuthorizedArtifactClientSPIFFEID"),
        )
        for flag in (
            peer,
            "ControllerFlagAuthorizedEventServerSPIFFEID",
            "ControllerFlagSPIFFEBrokerEndpoint",
            "ControllerFlagSPIFFEBrokerID",
        )
    },
    "flag kustomize-controller --override-manager-before-dry-run": "for the platform team: it names field managers",
    "gate kustomize-controller DisableCommitStatusEvent": "for the platform team: it sends fewer events",
    "gate kustomize-controller ObjectLevelWorkloadIdentity (retired)": _OBJECT_IDENTITY,
    "gate source-controller ObjectLevelWorkloadIdentity (retired)": _OBJECT_IDENTITY,
    "annotation kustomize-controller credential.auth.fluxcd.io": _LOGINS,
    "annotation kustomize-controller transit-engine.auth.fluxcd.io": _LOGINS,
    "annotation source-controller credential.auth.fluxcd.io": _LOGINS,
    "breaking source-controller 1.10.0": "tokens are granted by name (docs/controller-rights.md)",
    "field ArtifactGenerator.spec.artifacts[].copy[].optional": "open: it only allows that nothing is copied",
    **{
        f"field {path}": "closed to tenants by the policy allowed-fields"
        for path in (
            "ArtifactGenerator.spec.artifacts[].inputsFrom",
            "ArtifactGenerator.spec.artifacts[].namespace",
            "ArtifactGenerator.spec.managedNamespaces",
            "ArtifactGenerator.spec.serviceAccountName",
            "HelmRelease.spec.chart.kind",
            "HelmRelease.spec.chart.spec.(sourcev1.OCIRepositorySpec)",
        )
    },
}
"""The decision by the key of the difference: which table, policy or page takes care of it.

A changed role has no entry: the next change would pass with it.
"""
