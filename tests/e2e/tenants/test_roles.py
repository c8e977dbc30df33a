"""What a tenant with all rights in its namespace cannot make Kubernetes' own controllers do."""

from __future__ import annotations

import json
from typing import Any

from tests.e2e.manifests import pod
from tests.e2e.tenants.given_roles import OWNER
from tests.support.environment import Environment
from tests.support.lab import eventually

ACCOUNT = f"system:serviceaccount:{OWNER}:{OWNER}"
NAME = "web"


def stateful_set(image: str) -> dict[str, Any]:
    labels = {"app": NAME}
    template = {"metadata": {"labels": labels}, "spec": pod(NAME, OWNER, image)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": NAME, "namespace": OWNER},
        "spec": {"serviceName": NAME, "selector": {"matchLabels": labels}, "template": template},
    }


def test_a_forged_revision_is_refused_and_a_rollback_works(stack: Environment) -> None:
    """The controller would make pods of a forged one, and nobody judges what it makes."""
    cluster = stack.cluster

    def image() -> str:
        found: str = cluster.get("statefulset", NAME, OWNER)["spec"]["template"]["spec"]["containers"][0]["image"]
        return found

    def revisions() -> list[dict[str, Any]]:
        found = cluster.get("controllerrevisions", namespace=OWNER)["items"]
        return [each for each in found if each["metadata"]["ownerReferences"][0]["name"] == NAME]

    # ---- control: the controller writes revisions, and the tenant goes back to one ----
    assert cluster.create(stateful_set("registry.example/web:1"), user=ACCOUNT) == ""
    eventually(lambda: len(revisions()) == 1, what="the first revision")
    patch = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "registry.example/web:2"}]
    change = ("patch", "statefulset", NAME, "-n", OWNER, "--type=json", "-p", json.dumps(patch))
    assert cluster.kubectl(*change, user=ACCOUNT).returncode == 0
    eventually(lambda: len(revisions()) == 2, what="the second revision")
    done = cluster.kubectl("rollout", "undo", f"statefulset/{NAME}", "-n", OWNER, user=ACCOUNT)
    assert done.returncode == 0 and image() == "registry.example/web:1", done.stderr

    # ---- a revision with a pod in the node's network ----
    first = min(revisions(), key=lambda each: each["revision"])
    metadata = {"name": f"{NAME}-forged", **{key: first["metadata"][key] for key in ("namespace", "labels")}}
    template = {"spec": {"template": {"spec": {"hostNetwork": True}}}}
    forged = {key: first[key] for key in ("apiVersion", "kind")} | {"metadata": metadata, "data": template}

    refused = "only Kubernetes may write ControllerRevisions"
    assert refused in cluster.create(forged | {"revision": 9}, user=ACCOUNT)
    # Kubernetes itself keeps what is in a revision, but not which one is the newest.
    merge = ("--type=merge", "-p", json.dumps({"revision": 9}))
    name = first["metadata"]["name"]
    assert refused in cluster.kubectl("patch", "controllerrevision", name, "-n", OWNER, *merge, user=ACCOUNT).stderr

    cluster.kubectl("delete", "statefulset", NAME, "-n", OWNER)
