"""The token of a controller, used from elsewhere, and what it may do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.support.lab import KUBECTL, RunningCluster

Allowed = set[tuple[str, str, tuple[str, ...]]]


class Stolen:
    """The identity of a controller's pod, used from elsewhere."""

    def __init__(self, cluster: RunningCluster, controller: str, folder: Path) -> None:
        [pod] = [
            each
            for each in cluster.get("pods", namespace="flux-system")["items"]
            if each["metadata"]["labels"]["app"] == controller and "deletionTimestamp" not in each["metadata"]
        ]
        token = cluster.kubectl("create", "token", pod["spec"]["serviceAccountName"], "-n", "flux-system").stdout
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["users"] = [{"name": each["name"], "user": {"token": token}} for each in config["users"]]
        self._kubeconfig = folder / controller
        self._kubeconfig.write_text(yaml.safe_dump(config))

    def kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [str(KUBECTL), f"--kubeconfig={self._kubeconfig}", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def allowed(self, namespace: str) -> Allowed:
        """Everything that it may do there: verb, resource with its group, and names; all objects where empty."""
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": namespace},
        }
        answer = self.kubectl("create", "-f", "-", "-o", "json", "--validate=false", stdin=json.dumps(review))
        assert answer.returncode == 0, answer.stderr
        rules: list[dict[str, Any]] = json.loads(answer.stdout)["status"]["resourceRules"]
        return {
            (verb, f"{resource}.{group}".removesuffix("."), tuple(rule.get("resourceNames", ())))
            for rule in rules
            for verb in rule["verbs"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
        }


def touching(allowed: Allowed, *resources: str) -> Allowed:
    return {each for each in allowed if each[1] in resources}
