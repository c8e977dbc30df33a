"""All that a stack is, in a form in which two of them can be compared: the cluster, the state, the Git host."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.lab import RunningCluster, eventually

# What comes and goes by itself, or is named and numbered by chance.
_PASSING = re.compile(
    r"events|pods|replicasets|endpoints|endpointslices|leases|controllerrevisions|componentstatuses|nodes|apiservices|"
    r".*reports|.*\.metrics\.k8s\.io|policyreports.*|csinodes|flowschemas.*|prioritylevelconfigurations.*|"
    r"ipaddresses.*|servicecidrs.*|.*\.reports\.kyverno\.io|updaterequests.*"
)
_METADATA = ("name", "namespace", "labels", "annotations", "finalizers")
_ANNOTATIONS = re.compile(r"deployment\.kubernetes\.io/revision|reconcile\.fluxcd\.io/requestedAt")
_RANDOM = re.compile(r"\b(artifacts|git|signers|sops)-([0-9a-f]{32}|[0-9a-f]{8})\b")
_HOOK = "helm.sh/hook"
_UID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


@dataclass(frozen=True)
class Snapshot:
    """All that a stack is: in the cluster, in the state, at the Git host."""

    objects: dict[str, list[str]]
    state: list[str]
    keys: list[tuple[str, str]]
    webhooks: int

    def difference(self, other: Snapshot) -> dict[str, Any]:
        """What the other one has differently, by what it is."""
        names = self.objects.keys() | other.objects.keys()
        found: dict[str, Any] = {
            name: (self.objects.get(name), other.objects.get(name))
            for name in names
            if self.objects.get(name) != other.objects.get(name)
        }
        for part in ("state", "keys", "webhooks"):
            before, after = getattr(self, part), getattr(other, part)
            if before != after:
                both = isinstance(before, list)
                found[part] = ([*_without(before, after)], [*_without(after, before)]) if both else (before, after)
        return found

    def await_same(self, taken: Callable[[], Snapshot]) -> None:
        """Wait until a snapshot has no difference; raises AssertionError with the last one."""
        last: list[dict[str, Any]] = []

        def same() -> bool:
            last[:] = [self.difference(taken())]
            return not last[0]

        try:
            eventually(same, timeout=90)
        except AssertionError:
            raise AssertionError(json.dumps(last, indent=1, default=str)[:20000]) from None


def _without(entries: list[Any], others: list[Any]) -> Iterator[Any]:
    rest = [*others]
    for entry in entries:
        if entry in rest:
            rest.remove(entry)
        else:
            yield entry


def objects(cluster: RunningCluster) -> dict[str, list[str]]:
    """All objects of the cluster that somebody has described, by kind and name, as text."""
    kinds = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").stdout.split()
    wanted = [kind for kind in kinds if not _PASSING.fullmatch(kind.split(".")[0]) and not _PASSING.fullmatch(kind)]
    done = cluster.kubectl("get", ",".join(wanted), "-A", "-o", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = {}
    for each in json.loads(done.stdout)["items"]:
        # Helm's records, and the Job that Kyverno's chart leaves after each upgrade.
        if each.get("type") == "helm.sh/release.v1" or _HOOK in each["metadata"].get("annotations", {}):
            continue
        text = _UID.sub("uid", _RANDOM.sub(r"\1-random", json.dumps(_described(each), sort_keys=True)))
        metadata = each["metadata"]
        name = _RANDOM.sub(r"\1-random", f"{metadata.get('namespace', '')}/{metadata['name']}")
        found.setdefault(f"{each['apiVersion']} {each['kind']} {name}", []).append(text)
    return found


def _described(found: dict[str, Any]) -> dict[str, Any]:
    """An object without what the cluster, its controllers and chance have added."""
    metadata = {key: found["metadata"][key] for key in _METADATA if key in found["metadata"]}
    annotations = metadata.get("annotations", {})
    metadata["annotations"] = {key: text for key, text in annotations.items() if not _ANNOTATIONS.fullmatch(key)}
    if "name" in metadata:
        metadata["name"] = _RANDOM.sub(r"\1-random", metadata["name"])
    kept = {key: value for key, value in found.items() if key not in ("status", "metadata")} | {"metadata": metadata}
    if found["kind"] == "Secret" and not re.search(r"-(git|signers|sops)-", found["metadata"]["name"]):
        kept["data"] = sorted(found.get("data", {}))
    if found["kind"] == "Service":
        kept["spec"] = {key: value for key, value in found["spec"].items() if not key.startswith("clusterIP")}
    for webhook in kept.get("webhooks", ()):
        webhook["clientConfig"].pop("caBundle", None)
    if found["kind"] == "CustomResourceDefinition":
        kept["spec"] = {key: value for key, value in found["spec"].items() if key != "conversion"}
    return kept
