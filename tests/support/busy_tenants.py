"""Tenants that work while something else happens: their commits, and each sync that failed meanwhile."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.lab import KUBECTL, SUPERSEDED, Lab, Loop, RunningCluster

_KINDS = ("gitrepositories", "kustomizations")
# What Flux says of an object on which it still works, or waits for another one.
_WORKING = ("Progressing", "ProgressingWithRetry", "DependencyNotReady")
# What it says of a sync that waits: for its source, which a new source-controller has not fetched yet, or because it
# has given up its wait for health for a newer revision. Flux reports neither as an event.
_WAITING = ("Source is not ready, artifact not found", SUPERSEDED)


@dataclass(frozen=True)
class Repository:
    """A repository of a tenant, and the ConfigMap in it that changes with each commit.

    Attributes:
        tenant: whose; its source has the tenant's name.
        name: of the repository; its owner has the tenant's name.
        namespace: the tenant's first.
        file: the path of the ConfigMap in the repository.
        object: the name of the ConfigMap.
    """

    tenant: str
    name: str
    namespace: str
    file: str
    object: str

    def content(self, number: int) -> str:
        data = {"number": str(number)}
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.object}, "data": data})


class Committing(Loop):
    """Commits to each repository in turn, and asks Flux to fetch it, as a webhook would."""

    pause = 1.0

    def __init__(self, lab: Lab, cluster: RunningCluster, *repositories: Repository) -> None:
        super().__init__()
        self._lab, self._cluster, self._repositories = lab, cluster, repositories

    def once(self) -> None:
        number = self.rounds + 1
        for each in self._repositories:
            self._lab.git.commit_files(each.tenant, each.name, {each.file: each.content(number)}, f"Number {number}")
            self._cluster.reconcile("gitrepository", each.tenant, each.namespace)

    def applied(self) -> dict[str, int]:
        """The number of the commit that each tenant runs."""
        found = {
            each.tenant: self._cluster.get("configmap", each.object, each.namespace) for each in self._repositories
        }
        return {tenant: int(manifest["data"].get("number", 0)) for tenant, manifest in found.items()}


class FailedSyncs:
    """A watch of Flux's objects in all namespaces, so that no state between two looks is missed.

    Attributes:
        states: how many states were seen.
        waits: in how many of them a sync waited.
        found: the reasons and messages of all others that were not ready.
    """

    def __init__(self, cluster: RunningCluster) -> None:
        self._command = (str(KUBECTL), f"--kubeconfig={cluster.kubeconfig}", "get", "--all-namespaces", "--watch")
        self.states = self.waits = 0
        self.found: list[str] = []

    def __enter__(self) -> FailedSyncs:
        commands = [(*self._command, kind, "--output=json") for kind in _KINDS]
        self._watches = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
        self._readers = [threading.Thread(target=self._read, args=(watch,)) for watch in self._watches]
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        for watch in self._watches:
            watch.terminate()
        for reader in self._readers:
            reader.join()

    def _read(self, watch: subprocess.Popen[str]) -> None:
        text, _ = watch.communicate()
        self.count(text)

    def count(self, text: str) -> None:
        """Count the states that kubectl has written."""
        for manifest in _documents(text):
            self.states += 1
            for reason, message in _not_ready(manifest):
                if message.startswith(_WAITING):
                    self.waits += 1
                elif reason not in _WORKING:
                    name = f"{manifest['metadata']['namespace']}/{manifest['metadata']['name']}"
                    self.found.append(f"{manifest['kind']} {name}: {reason}: {message}")


def _documents(text: str) -> Iterator[dict[str, Any]]:
    """The objects that kubectl has written, one after the other; the last one may be cut off."""
    decoder, at = json.JSONDecoder(), 0
    while (at := text.find("{", at)) >= 0:
        try:
            manifest, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return
        yield manifest


def _not_ready(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in manifest.get("status", {}).get("conditions", ()):
        if each["type"] == "Ready" and each["status"] == "False":
            yield each["reason"], each["message"]
