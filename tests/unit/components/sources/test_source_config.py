"""Sources of every kind as the configuration has them, and what is refused."""

from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sample_sources import authority
from sample_stack import FLUX, Secret, load, refusals

from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.stack.platform import relaxed_by
from flux_tenancy.components.tenant.config import TenantConfig

HELM: dict[str, Any] = {"kind": "HelmRepository", "url": "https://charts.example.com"}
CHARTS: dict[str, Any] = {"kind": "HelmRepository", "url": "oci://registry.example.com/charts"}
OCI: dict[str, Any] = {"kind": "OCIRepository", "url": "oci://registry.example.com/shop/manifests"}
BUCKET: dict[str, Any] = {
    "kind": "Bucket",
    "bucketName": "assets",
    "endpoint": "s3.example.com:9000",
    "credentials": {"accessKey": "id", "secretKey": Secret("s3cret")},
}
GIT: dict[str, Any] = {"kind": "GitRepository", "url": "https://git.example.com/shop/apps"}
PUBLIC = ec.generate_private_key(ec.SECP256R1()).public_key()
KEY = PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
CLOUDS: dict[str, Any] = {"sources": {"providers": ["aws", "gcp", "azure"]}}
TOKENS: dict[str, Any] = FLUX | {"workloadIdentity": True}
"""The policies of a stack that lets sources log in to clouds."""


def client_pair() -> dict[str, Any]:
    issued = trustme.CA().issue_cert("client.example.com")
    key = issued.private_key_pem.bytes().decode()
    return {"certificate": issued.cert_chain_pems[0].bytes().decode(), "privateKey": Secret(key)}


def tenant(sources: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"dev-team": {"sources": sources} | keys}


def refused(tmp_path: Any, source: Any, **sections: Any) -> list[str]:
    """The key below the source and the code of each problem that a stack has with it."""
    found = refusals(tmp_path, tenants=tenant({"it": source}), **sections)
    prefix = "tenants.dev-team.sources.it"
    assert [each for each in found if not each.startswith(prefix)] == []
    return [each.removeprefix(prefix).strip() for each in found]


@pytest.mark.parametrize(
    ("source", "sections"),
    [
        (GIT | {"ignore": "*.md", "suspend": True}, {}),
        (HELM | {"credentials": {"username": "shop", "password": Secret("t0ken")}, "passCredentials": True}, {}),
        (CHARTS | {"interval": "1h", "timeout": "90m"}, {"policies": {"maximumTimeout": "2h"}}),
        (CHARTS | {"insecure": True}, {"policies": {"sources": {"plainHttp": True}}}),
        (OCI | {"ref": {"semver": "6.x", "semverFilter": "^6"}, "layerSelector": {"mediaType": "a/b"}}, {}),
        (OCI | {"verify": {"keys": {"ci": KEY}}, "certificateAuthority": authority()}, {}),
        (OCI | {"verify": {"keyless": {"issuer": "https://issuer.example.com", "subject": "ci"}}}, {}),
        (OCI | {"provider": "aws", "serviceAccountName": "puller"}, {"policies": CLOUDS, "flux": TOKENS}),
        (OCI | {"credentials": {"dockerConfig": Secret('{"auths": {"registry.example.com": {"auth": "eA=="}}}')}}, {}),
        (
            OCI
            | {
                "url": "oci://docker.io/org/app",
                "credentials": {"dockerConfig": Secret('{"auths": {"https://index.docker.io/v1/": {"auth": "eA=="}}}')},
            },
            {"policies": {"sources": {"allowed": ["oci://docker.io/*"]}}},
        ),
        (OCI | {"clientCertificate": client_pair()}, {}),
        (OCI | {"proxy": {"address": "http://proxy.example.com"}}, {"policies": {"modes": {"source-options": "off"}}}),
        (BUCKET | {"region": "eu-1", "prefix": "app/"}, {}),
        (
            BUCKET | {"provider": "gcp", "credentials": None, "serviceAccountName": "reader"},
            {"policies": CLOUDS, "flux": TOKENS},
        ),
        (GIT | {"provider": "azure", "serviceAccountName": "reader"}, {"policies": CLOUDS, "flux": TOKENS}),
        ({"kind": "ExternalArtifact", "name": "built"}, {}),
    ],
)
def test_a_source_of_any_kind_is_taken(tmp_path, source, sections):
    config = load(tmp_path, tenants=tenant({"it": source}), **sections)

    assert config.tenants["dev-team"].sources["it"].kind == source["kind"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"url": "https://charts.example.com"}, [".kind FT-CFG-605"]),
        (HELM | {"kind": "HelmRepositry"}, [".kind FT-CFG-606"]),
        ("charts", ["FT-CFG-609"]),
        ({"kind": "HelmRepository"}, [".url FT-CFG-605"]),
        (HELM | {"url": "ftp://charts.example.com"}, [".url FT-CFG-006"]),
        (HELM | {"url": "https://me:s3cret@charts.example.com"}, [".url FT-CFG-014"]),
        (HELM | {"url": "https://Charts.example.com"}, [".url FT-CFG-006"]),
        (HELM | {"url": "http://charts.example.com"}, [".url FT-CFG-674"]),
        (HELM | {"interval": "often"}, [".interval FT-CFG-006"]),
        (HELM | {"interval": "1s"}, [".interval FT-CFG-678"]),
        (HELM | {"secretRef": {"name": "a"}}, [".secretRef FT-FLX-034"]),
        (HELM | {"timeout": "90m"}, [".timeout FT-CFG-678"]),
        (HELM | {"suspend": "perhaps"}, [".suspend FT-CFG-609"]),
        (HELM | {"insecure": True}, [".insecure FT-CFG-674"]),
        (HELM | {"credentials": {"username": "shop"}}, [".credentials.password FT-CFG-605"]),
        (HELM | {"credentials": {"username": "shop", "password": "s3cret"}}, [".credentials.password FT-CFG-640"]),
        (HELM | {"certificateAuthority": "none"}, [".certificateAuthority FT-CFG-135"]),
        (HELM | {"clientCertificate": {"certificate": authority()}}, [".clientCertificate.privateKey FT-CFG-605"]),
        (
            HELM | {"clientCertificate": {"certificate": authority(), "privateKey": Secret("none")}},
            [".clientCertificate.privateKey FT-CFG-135"],
        ),
        (CHARTS | {"insecure": True}, [".insecure FT-CFG-674"]),
        (OCI | {"url": "https://registry.example.com/a"}, [".url FT-CFG-006"]),
        (OCI | {"verify": {}}, [".verify FT-CFG-181"]),
        (OCI | {"verify": {"keys": {"ci": "none"}}}, [".verify.keys.ci FT-CFG-135"]),
        (OCI | {"verify": {"provider": "notation", "keys": {"ci": KEY}}}, [".verify.provider FT-CFG-606"]),
        (OCI | {"credentials": {"username": "shop"}}, [".credentials FT-CFG-181"]),
        (OCI | {"credentials": {"dockerConfig": Secret("{}")}}, [".credentials.dockerConfig FT-CFG-135"]),
        (OCI | {"provider": "aws"}, [".provider FT-SRC-026"]),
        (
            OCI | {"provider": "aws", "serviceAccountName": "puller"},
            [".provider FT-SRC-050", ".serviceAccountName FT-CFG-654"],
        ),
        (OCI | {"serviceAccountName": "puller"}, [".serviceAccountName FT-CFG-820"]),
        (OCI | {"proxy": {"address": "proxy"}}, [".proxy.address FT-CFG-006"]),
        (OCI | {"proxy": {"address": "http://proxy.example.com"}}, [".proxy FT-SRC-049"]),
        (OCI | {"proxy": {"address": "http://proxy.example.com", "username": "me"}}, [".proxy.password FT-CFG-605"]),
        (BUCKET | {"bucketName": "a/../b"}, [".endpoint FT-CFG-150"]),
        (BUCKET | {"bucketName": ""}, [".bucketName FT-CFG-010"]),
        (BUCKET | {"endpoint": "s3.example.com/path"}, [".endpoint FT-CFG-006"]),
        (BUCKET | {"provider": "aws", "serviceAccountName": "reader"}, [".credentials FT-CFG-273"]),
        (BUCKET | {"serviceAccountName": "reader"}, [".serviceAccountName FT-CFG-820"]),
        (BUCKET | {"provider": "aws"}, [".provider FT-SRC-050"]),
        (BUCKET | {"insecure": True}, [".insecure FT-CFG-674"]),
        ({"kind": "ExternalArtifact", "name": "A"}, [".name FT-CFG-006"]),
        ({"kind": "ExternalArtifact", "namespace": "other"}, [".namespace FT-CFG-602"]),
        (GIT | {"deployKey": Secret("none")}, [".deployKey FT-CFG-135"]),
        (GIT | {"ref": {"name": "a"}, "secretRef": {}}, [".ref FT-FLX-034", ".secretRef FT-FLX-034"]),
        (GIT | {"provider": "azure"}, [".provider FT-SRC-026"]),
        (GIT | {"serviceAccountName": "reader"}, [".serviceAccountName FT-CFG-820"]),
        (
            GIT | {"provider": "azure", "serviceAccountName": "reader"},
            [".provider FT-SRC-050", ".serviceAccountName FT-CFG-654"],
        ),
        (
            GIT | {"provider": "azure", "serviceAccountName": "a", "https": {"password": Secret("s3cret")}},
            [".https FT-CFG-273"],
        ),
    ],
)
def test_a_source_that_flux_or_admission_would_refuse_is_reported_with_its_key(tmp_path, source, expected):
    assert refused(tmp_path, source) == expected


ANONYMOUS = {key: value for key, value in BUCKET.items() if key != "credentials"}


@pytest.mark.parametrize(
    ("source", "policies", "expected"),
    [
        (BUCKET | {"region": "us-1"}, {"sources": {"bucketRegions": ["eu-1"]}}, ".region FT-CFG-404"),
        (ANONYMOUS | {"provider": "aws"}, CLOUDS, ".provider FT-SRC-026"),
        (OCI, {"sources": {"verified": ["OCIRepository"]}}, "FT-CFG-676"),
    ],
    ids=["region of a bucket", "bucket of a cloud without a login", "artifact without a signature"],
)
def test_a_source_that_the_policies_of_the_stack_refuse_is_reported(tmp_path, source, policies, expected):
    assert refused(tmp_path, source, policies=policies) == [expected]


@pytest.mark.parametrize(
    ("provider", "endpoint", "credentials"),
    [
        ("aws", "s3.amazonaws.com", {"accessKey": "id", "secretKey": Secret("s3cret")}),
        ("gcp", "storage.googleapis.com", {"serviceAccountKey": Secret("s3cret")}),
        ("azure", "https://account.blob.core.windows.net", {"accountKey": Secret("s3cret")}),
    ],
)
def test_a_bucket_of_a_cloud_may_log_in_with_a_key(tmp_path, provider, endpoint, credentials):
    source = BUCKET | {"provider": provider, "endpoint": endpoint, "credentials": credentials}

    load(tmp_path, tenants=tenant({"it": source}), policies=CLOUDS)


@pytest.mark.parametrize("source", [HELM, CHARTS, OCI, BUCKET, GIT])
def test_a_source_of_any_kind_needs_no_entry_of_the_lists(tmp_path, source):
    load(tmp_path, tenants=tenant({"it": source}), policies={"sources": {"allowed": ["https://elsewhere.example.com"]}})


@pytest.mark.parametrize(
    ("source", "policies", "relaxed"),
    [
        (HELM | {"certificateAuthority": authority()}, {}, {"source-options"}),
        (BUCKET | {"clientCertificate": client_pair()}, {}, {"source-options"}),
        (HELM | {"certificateAuthority": authority()}, {"sources": {"clientCertificates": True}}, set()),
        (GIT | {"certificateAuthority": authority()}, {}, set()),
        (HELM, {}, set()),
    ],
)
def test_a_policy_exempts_certificates_of_the_stack_only_if_it_has_any_and_tenants_may_not(
    tmp_path, source, policies, relaxed
):
    config = load(tmp_path, tenants=tenant({"it": source}), policies=policies)

    assert relaxed_by(config.tenants.values(), config.policies) == relaxed


@pytest.mark.parametrize(
    ("own", "relaxed"),
    [
        ({"hosts": ["shop.example.com"]}, set()),
        ({"priorityClasses": ["gold"]}, {"priority-classes"}),
        ({"csiDrivers": ["csi.example.com"]}, {"pod-volumes"}),
        ({"storageClasses": ["slow"]}, {"volume-claims", "volume-classes"}),
        ({"tolerations": ["example.com/gpu"]}, {"node-placement"}),
    ],
)
def test_policies_read_the_lists_of_a_tenant_only_if_one_has_them(own, relaxed):
    tenant = TenantConfig.model_validate({"namespaces": [{"name": "apps"}], "policies": own})

    assert relaxed_by([tenant], PoliciesConfig()) == relaxed
