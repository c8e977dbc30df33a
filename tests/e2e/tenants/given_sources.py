"""A tenant without a Git repository: a source of every kind, and two that are shared with it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from tests.support.charts import Chart
from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.object_store import ObjectStore
from tests.support.registry import Registry, Signer

TENANT, NAMESPACE, OWNER = "sourced", "sourced-apps", "sourced"
OTHER, OTHER_NAMESPACE = "not-sourced", "not-sourced-apps"
ARTIFACT = "manifests"
BUCKET = "assets"
FIRST_KEY, SECOND_KEY = "first-key", "second-key"
FETCHED = {
    "manifests": "ocirepository",
    "assets": "bucket",
    "charts": "helmrepository",
    "code": "gitrepository",
}
"""The tenant's own sources that source-controller fetches, by name."""


def config_map(name: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})


def of_bucket() -> str:
    """The tenant's own Kustomization, which applies what is in the bucket."""
    spec = {
        "interval": "1h",
        "prune": True,
        "serviceAccountName": TENANT,
        "targetNamespace": NAMESPACE,
        "path": "./",
        "sourceRef": {"kind": "Bucket", "name": "assets"},
    }
    metadata = {"name": "of-bucket", "namespace": NAMESPACE}
    kind = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization"}
    return json.dumps(kind | {"metadata": metadata, "spec": spec})


@cache
def store() -> ObjectStore:
    """The object store of this process, which runs until it ends."""
    return ObjectStore(BUCKET, {"app/from-bucket.yaml": config_map("from-bucket")}, FIRST_KEY, SECOND_KEY)


def registry(lab: Lab) -> Registry:
    """A registry whose artifacts only members can pull."""
    return Registry(lab.git.gitea, OWNER, "private")


def token(lab: Lab, name: str) -> str:
    """A new token of the Git host that can only read packages and repositories."""
    user = lab.git.gitea.credentials().username
    with lab.git.gitea.client() as api:
        wanted = {"name": f"{TENANT}-{name}", "scopes": ["read:package", "read:repository"]}
        created: str = api.post(f"/users/{user}/tokens", json=wanted).raise_for_status().json()["sha1"]
        return created


def revoke(lab: Lab, name: str) -> None:
    user = lab.git.gitea.credentials().username
    with lab.git.gitea.client() as api:
        api.delete(f"/users/{user}/tokens/{TENANT}-{name}").raise_for_status()


def login(stack: Environment, lab: Lab, password: str) -> dict[str, Any]:
    return {"username": lab.git.gitea.credentials().username, "password": stack.secret(password)}


def add(stack: Environment, lab: Lab) -> None:
    images = registry(lab)
    images.push_chart(Chart("greeter", "1.0.0", "registry.example/charts/app:1"))
    signer = Signer.new(lab.tools["cosign"], stack.project.folder.parent / "sources-signer")
    files = {"app/from-oci.yaml": config_map("from-oci"), "own/of-bucket.yaml": of_bucket()}
    signer.sign(images.push_manifests(ARTIFACT, "1.0.0", files), images)
    images.push_manifests(ARTIFACT, "2.0.0", {"app/unsigned.yaml": config_map("unsigned")})

    lab.repository(OWNER, "code", {"a.yaml": config_map("a")}, stack.project.folder.parent / "sources", private=True)
    https = lab.git.https_url(OWNER, "code")
    host = urlsplit(https).netloc
    authority = {"certificateAuthority": lab.git.certificate_authority.read_text()}
    pulling = login(stack, lab, token(lab, "first"))
    private = {"credentials": pulling, **authority}
    charts = f"https://{host}/api/packages/{OWNER}/helm"
    for name, namespace in ((TENANT, NAMESPACE), (OTHER, OTHER_NAMESPACE)):
        stack.project.tenant(name, {"namespaces": [{"name": namespace}], "sync": {"targetNamespace": namespace}})
    artifact = {
        "kind": "OCIRepository",
        "url": f"oci://{host}/{OWNER}/{ARTIFACT}",
        # By a tag: the client that lists tags takes a registry on loopback for one without TLS.
        "ref": {"tag": "1.0.0"},
        "verify": {"keys": {"ci": signer.public_key}},
        **private,
    }
    stack.config["tenants"][TENANT] = {
        "sources": {
            "manifests": artifact,
            "unsigned": artifact | {"ref": {"tag": "2.0.0"}},
            "assets": {
                "kind": "Bucket",
                "bucketName": BUCKET,
                "endpoint": store().endpoint,
                "credentials": {"accessKey": FIRST_KEY, "secretKey": stack.secret("first-secret")},
                "certificateAuthority": store().authority,
            },
            "charts": {"kind": "HelmRepository", "url": charts, "credentials": pulling, **authority},
            "oci-charts": {
                "kind": "HelmRepository",
                "url": f"oci://{host}/{OWNER}",
                "credentials": pulling,
                **authority,
            },
            "code": {"kind": "GitRepository", "url": https, "https": pulling, **authority},
        },
        "sync": {"source": "manifests"},
        "policies": {"sources": [f"bucket://{store().endpoint}/{BUCKET}"]},
    }
    # What is shared has credentials of its own, which the tenants can read.
    stack.config["shared"] = {
        "offered": {
            "tenants": [TENANT, OTHER],
            "source": {"kind": "HelmRepository", "url": charts, **private},
        },
        "plain": {
            "tenants": [OTHER],
            "source": {"kind": "OCIRepository", "url": artifact["url"], "ref": {"tag": "1.0.0"}, **private},
        },
    }
    stack.config["tenants"][OTHER] = {"sync": {"source": "plain", "path": "./app", "wait": False}}
