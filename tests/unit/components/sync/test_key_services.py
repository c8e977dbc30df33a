"""The hosts that decryption with a key management service needs."""

import pytest

from flux_tenancy.components.sync.decryption import WorkloadIdentity, key_service_hosts

UUID = "01234567-89ab-cdef-0123-456789abcdef"
AWS = {"provider": "aws", "roleArn": "arn:aws:iam::123456789012:role/sops"}
AZURE = {"provider": "azure", "clientId": UUID, "tenantId": UUID}
GOOGLE = ("sts.googleapis.com", "iamcredentials.googleapis.com", "cloudkms.googleapis.com")


@pytest.mark.parametrize(
    ("identity", "hosts"),
    [
        (
            AWS | {"keys": ["arn:aws:kms:eu-1:1:key/2", "arn:aws:kms:eu-1:1:alias/3"]},
            ("kms.eu-1.amazonaws.com", "sts.eu-1.amazonaws.com"),
        ),
        (
            AWS | {"keys": ["arn:aws-cn:kms:cn-1:1:key/2"]},
            ("kms.cn-1.amazonaws.com.cn", "sts.cn-1.amazonaws.com.cn"),
        ),
        (AWS | {"keys": ["arn:aws-of-tomorrow:kms:eu-1:1:key/2"]}, ()),
        (AWS, ()),
        ({"provider": "gcp"}, GOOGLE),
        ({"provider": "gcp", "keys": ["projects/p/locations/global/keyRings/r/cryptoKeys/k"]}, GOOGLE),
        (AZURE, ("login.microsoftonline.com", ".vault.azure.net")),
        (
            AZURE | {"keys": ["https://staging.vault.azure.net/keys/sops/1"]},
            ("login.microsoftonline.com", "staging.vault.azure.net"),
        ),
        (
            AZURE | {"keys": ["https://[staging.vault.azure.net/keys/sops/1"]},
            ("login.microsoftonline.com", ".vault.azure.net"),
        ),
        ({"provider": "vault"}, ()),
        ({"provider": "vault", "keys": ["https://vault.example.com/v1/transit/keys/sops"]}, ()),
    ],
)
def test_the_hosts_follow_from_the_provider_and_its_keys(identity, hosts):
    assert key_service_hosts(WorkloadIdentity.model_validate(identity)) == hosts
