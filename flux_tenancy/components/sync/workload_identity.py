"""Cloud identities of a service account, with which kustomize-controller decrypts through a key management service.

Source: https://fluxcd.io/flux/integrations/aws/, …/azure/, …/gcp/, and
https://fluxcd.io/flux/components/kustomize/kustomizations/#openbaovault-kubernetes-auth
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class AccountAnnotation:
    """One annotation of the service account.

    Attributes:
        annotation: its key.
        pattern: what the controller accepts as its value.
        required: whether the controller does without.
    """

    annotation: str
    pattern: str
    required: bool


@dataclass(frozen=True)
class Provider:
    """A key management service.

    Attributes:
        settings: setting of the configuration -> what it becomes.
        rule: key of a creation rule in `.sops.yaml` that names keys of this service.
    """

    settings: Mapping[str, AccountAnnotation]
    rule: str


# The patterns are those of github.com/fluxcd/pkg/auth; Azure's are not checked there, but an id of Azure is a UUID.
_UUID = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"
PROVIDERS: Mapping[str, Provider] = {
    "aws": Provider(
        {
            "role_arn": AccountAnnotation(
                "eks.amazonaws.com/role-arn", r"^arn:aws[\w-]*:iam::[0-9]{1,30}:role/.{1,200}$", required=True
            )
        },
        rule="kms",
    ),
    "gcp": Provider(
        {
            "service_account_email": AccountAnnotation(
                "iam.gke.io/gcp-service-account",
                r"^[a-zA-Z0-9-]{1,100}@[a-zA-Z0-9-]{1,100}\.iam\.gserviceaccount\.com$",
                required=False,
            ),
            "workload_identity_provider": AccountAnnotation(
                "gcp.auth.fluxcd.io/workload-identity-provider",
                r"^projects/\d{1,30}/locations/global/workloadIdentityPools/[^/]{1,100}/providers/[^/]{1,100}$",
                required=False,
            ),
        },
        rule="gcp_kms",
    ),
    "azure": Provider(
        {
            "client_id": AccountAnnotation("azure.workload.identity/client-id", _UUID, required=True),
            "tenant_id": AccountAnnotation("azure.workload.identity/tenant-id", _UUID, required=True),
        },
        rule="azure_keyvault",
    ),
    # The server derives the role from the service account: `<namespace>_<name>`.
    "vault": Provider({}, rule="hc_vault_transit_uri"),
}
