"""A tenant that gets messages in a channel, on its commits and on its pull request."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from dev.lab.git_host import BRANCH
from tests.support.environment import Environment, base
from tests.support.lab import Lab, eventually
from tests.support.message_receiver import receiver

TENANT = NAMESPACE = "notified"
OWNER, NAME = "notified", "apps"
PRODUCTION = "production"
"""The branch that the pull request is to change; its own is the one that this environment follows."""
PULL_REQUEST = 1
PREVIEW = "preview"
"""The tenant's own Kustomization, which names the pull request."""
FIRST_PATH = "/channel/first"


def service(name: str, kind: str) -> str:
    spec = {"type": kind, "ports": [{"port": 80}], "selector": {"app": name}}
    return json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec})


def add(stack: Environment, lab: Lab) -> None:
    url = lab.git.https_url(OWNER, NAME)
    _repository(lab)
    stack.project.tenant(
        TENANT,
        base(lab, f"{OWNER}/{NAME}", NAMESPACE, interval="1h", webhook={})
        | {"policies": {"notifications": [receiver().host, url.split("/")[2]]}},
    )
    stack.onboard(TENANT, "./staging")
    # The sync does not wait for the preview, which is to fail.
    stack.config["tenants"][TENANT]["sync"]["wait"] = False
    authority = lab.git.certificate_authority.read_text()
    stack.config["tenants"][TENANT]["notifications"] = {
        "channel": {
            "type": "generic",
            "secretAddress": stack.secret(receiver().url(FIRST_PATH)),
            "certificateAuthority": receiver().authority,
            "severity": "error",
            "metadata": {"env": "staging"},
        },
        "review": {
            "type": "giteapullrequestcomment",
            "address": url,
            "certificateAuthority": authority,
            "token": stack.secret(_token(lab, "review", "read:user", "write:issue")),
        },
        "status": {
            "type": "gitea",
            "address": url,
            "certificateAuthority": authority,
            "token": stack.secret(_token(lab, "status", "write:repository")),
        },
    }


def _repository(lab: Lab) -> None:
    """A pull request whose branch a Kustomization of the tenant applies."""
    preview = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {
            "name": PREVIEW,
            "annotations": {"event.toolkit.fluxcd.io/change_request": str(PULL_REQUEST)},
        },
        "spec": {
            "interval": "1h",
            "path": "./app",
            "prune": True,
            "serviceAccountName": TENANT,
            "sourceRef": {"kind": "GitRepository", "name": TENANT},
            "targetNamespace": NAMESPACE,
        },
    }
    files = {"staging/preview.yaml": json.dumps(preview), "app/inside.yaml": service("inside", "ClusterIP")}
    with tempfile.TemporaryDirectory() as folder:
        lab.repository(OWNER, NAME, files, Path(folder), private=True)
    production = {"new_branch_name": PRODUCTION, "old_branch_name": BRANCH}
    request = {"head": BRANCH, "base": PRODUCTION, "title": "Open the shop to the world"}
    with lab.git.gitea.client() as api:
        path = f"/repos/{OWNER}/{NAME}"
        # The host learns of pushed branches a moment after the push.
        eventually(lambda: api.post(f"{path}/branches", json=production).is_success, what="branch")
        commit(lab, {"app/second.yaml": service("second", "ClusterIP")})
        eventually(lambda: api.post(f"{path}/pulls", json=request).is_success, what="pull request")
        assert api.get(f"{path}/pulls/{PULL_REQUEST}").is_success


def commit(lab: Lab, files: dict[str, str]) -> str:
    """Push files to the branch of the pull request; returns the commit."""
    return lab.git.commit_files(OWNER, NAME, files, "Change the shop")


def _token(lab: Lab, name: str, *scopes: str) -> str:
    """A token of the Git host with these rights alone."""
    user = lab.git.gitea.credentials().username
    with lab.git.gitea.client() as api:
        created = api.post(f"/users/{user}/tokens", json={"name": f"{TENANT}-{name}", "scopes": scopes})
        token: str = created.raise_for_status().json()["sha1"]
        return token
