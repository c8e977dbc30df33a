"""What a tenant may do that takes from its neighbours, within the limits and policies of the platform.

The attacker's repository has everything that these refer to; what starts an attack is objects of its namespace.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import yaml

from flux_tenancy.components.config.types import seconds
from flux_tenancy.components.policies.config import PoliciesConfig
from flux_tenancy.components.tenant.limits import TenantLimits
from flux_tenancy.components.vocabulary.manifests import Manifest, merge_patch
from tests.support.largest_pod import largest_pod
from tests.support.policy_cases import git, kustomization, made, release, service

LOAD = 300
"""ConfigMaps of each Kustomization of the busy tenant; they fit its quota since all apply the same ones."""
PATTERNS_BRANCH = "patterns"
"""A branch whose archive takes the time of a worker."""
LARGE_BRANCH, LARGE_MIB = "large", 1024
"""A branch with one file of zeros, and the file's size; Git stores a thousandth of it."""

_LIMITS, _POLICIES = TenantLimits(), PoliciesConfig()
# The tenant's own sync is one of them.
_SYNCS = _LIMITS.most_kustomizations - 1
_RELEASES = _LIMITS.most_helm_releases
_INTERVAL = "30s"
"""The shortest interval that the policies allow by default."""
_SLOW_OBJECTS = 12_000
"""kustomize compares each object with all others: with these, a build takes minutes."""
_SLOW = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: slow-{}}}\n"
_REVISIONS = 20
"""Revisions of a release, all of which helm-controller reads at once."""
_CHART_OBJECTS = 30
"""ConfigMaps of each release that is repeated; those of all releases fit the quota."""
_PATTERNS, _FILES = 50_000, 2_000
"""Patterns of a `.sourceignore`, which no policy sees, and files: each file is held against each pattern."""

_CONNECTIONS, _LEVELS = 10, 3
_REFERENCES = {
    "endless-file": "file:///dev/zero",
    "endless-http": "http://example.com/",
    "endless-tls": "https://example.com/",
}
"""Charts with a schema that refers to another document."""


@dataclass(frozen=True)
class Site:
    """Where an attack is: the tenant, whose namespace, source and account have its name, and what it refers to.

    Attributes:
        tenant: the name.
        url: its repository.
        silent: a host that accepts connections and never answers.
    """

    tenant: str
    url: str
    silent: str

    def sync(self, name: str, path: str, **spec: object) -> Manifest:
        source = {"kind": "GitRepository", "name": self.tenant}
        fields = {"serviceAccountName": self.tenant, "sourceRef": source, "path": path, "interval": _INTERVAL}
        fields |= {"targetNamespace": self.tenant}
        return kustomization(name=name, namespace=self.tenant, **fields | spec)

    def source(self, name: str, url: str, **spec: object) -> Manifest:
        return _named(name, git(url, namespace=self.tenant, interval=_INTERVAL, **spec))

    def release(self, name: str, chart: str, **spec: object) -> Manifest:
        template = {"chart": chart, "sourceRef": {"kind": "GitRepository", "name": self.tenant}}
        fields = {"serviceAccountName": self.tenant, "interval": _INTERVAL} | spec
        return _named(name, release(namespace=self.tenant, template=template, **fields))


@dataclass(frozen=True)
class Attack:
    """One way to take from neighbours.

    Attributes:
        name: for the report.
        objects: what the tenant creates.
        insists: whether it also asks Flux to reconcile each of its objects every second.
        lasts: whether a controller goes on with an object that is being deleted.
        asked: what it asks for in dry runs, again and again, over as many connections.
        ends: a controller of the tenant that ends again and again.
    """

    name: str
    objects: Callable[[Site], list[Manifest]] = lambda _: []
    insists: bool = False
    lasts: bool = False
    asked: Callable[[Site], list[Manifest]] = lambda _: []
    ends: str = ""


def _named(name: str, manifest: Manifest) -> Manifest:
    named: Manifest = merge_patch(manifest, {"metadata": {"name": name}})
    return named


def _load(site: Site) -> list[Manifest]:
    return [site.sync(f"load-{number}", "./load") for number in range(_SYNCS)]


def _slow_builds(site: Site) -> list[Manifest]:
    return [site.sync(f"slow-{number}", "./slow") for number in range(_SYNCS)]


def _waits(site: Site) -> list[Manifest]:
    absent = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "namespace": site.tenant}]
    longest = {"healthChecks": absent, "timeout": _POLICIES.maximum_timeout}
    return [site.sync(f"wait-{number}", "./staging", **longest) for number in range(_SYNCS)]


def _silent_sources(site: Site) -> list[Manifest]:
    # A source has no hours.
    longest = {"timeout": f"{seconds(_POLICIES.maximum_timeout):.0f}s"}
    return [site.source(f"silent-{number}", f"{site.silent}/{number}.git", **longest) for number in range(_SYNCS)]


def _patterns(site: Site) -> list[Manifest]:
    return [site.source(f"patterns-{number}", site.url, ref={"branch": PATTERNS_BRANCH}) for number in range(_SYNCS)]


def _large_file(site: Site) -> list[Manifest]:
    return [site.source("large", site.url, ref={"branch": LARGE_BRANCH}, timeout="10m")]


def _large_secrets(site: Site) -> list[Manifest]:
    """A release whose history is as large, when it is unpacked, as the policies allow."""
    name = "history"
    # Helm stores it in base64, and gzip makes a thousandth of one letter.
    letters = _POLICIES.maximum_release_size * 1024 * 3 // 4 * 900
    content = {"name": name, "namespace": site.tenant, "info": {"status": "superseded"}, "manifest": "a" * letters}
    stored = base64.b64encode(gzip.compress(json.dumps(content).encode()))
    secrets = []
    for version in range(1, _REVISIONS + 1):
        labels = {"owner": "helm", "name": name, "status": "superseded", "version": str(version)}
        secret = made("Secret", name=f"sh.helm.release.v1.{name}.v{version}", namespace=site.tenant, labels=labels)
        secrets.append(secret | {"type": "helm.sh/release.v1", "data": {"release": base64.b64encode(stored).decode()}})
    return [*secrets, site.release(name, "./repeated", releaseName=name)]


def _growing_template(site: Site) -> list[Manifest]:
    return [site.release("growing", "./growing")]


def _remediation(site: Site) -> list[Manifest]:
    endless = {"install": {"remediation": {"retries": -1}}}
    return [site.release(f"repeated-{number}", "./repeated", **endless) for number in range(_RELEASES)]


def _largest_pods(site: Site) -> list[Manifest]:
    return [largest_pod(site.tenant)] * _CONNECTIONS


def _includes(site: Site) -> list[Manifest]:
    """Each of these would have the content of the one before twice."""
    pairs = [[{"repository": {"name": f"level-{level}"}, "toPath": at} for at in "ab"] for level in range(_LEVELS)]
    return [site.source(f"level-{level + 1}", site.url, include=pair) for level, pair in enumerate(pairs)]


def _references(site: Site) -> list[Manifest]:
    return [site.release(name, f"./{name}", values={"text": "a"}) for name in _REFERENCES]


ATTACKS = (
    Attack("busy at each interval", _load),
    Attack("busy all the time", _load, insists=True),
    Attack("builds that take minutes", _slow_builds, lasts=True),
    Attack("health checks that wait 1 h", _waits, lasts=True),
    Attack("sources that never answer", _silent_sources, lasts=True),
    Attack("patterns that take long", _patterns, lasts=True),
    Attack("a large file", _large_file),
    Attack("a history of large releases", _large_secrets),
    Attack("a template that grows", _growing_template),
    Attack("endless remediation", _remediation),
    Attack("dry runs of the largest pod", asked=_largest_pods),
    Attack("chains of includes", asked=_includes),
    Attack("schemas that refer to endless documents", _references),
    Attack("its source-controller ends all the time", ends="source-controller"),
)


def attackers_files(tenant: str) -> dict[str, str]:
    """The attacker's repository, by path."""
    named = partial(made, "ConfigMap", namespace=tenant)
    refused = merge_patch(_named("{{ .Release.Name }}", service(type="NodePort")), {"metadata": {"namespace": tenant}})
    repeated = [named(name=f"{{{{ .Release.Name }}}}-{number}") for number in range(_CHART_OBJECTS)]
    absent = yaml.safe_dump(made("ConfigMap", name="absent", namespace=tenant))
    grown = '{{ $text := "grows" }}{{ range until 40 }}{{ $text = print $text $text }}{{ end }}{{ $text }}\n'
    return {
        "load/objects.yaml": yaml.safe_dump_all([named(name=f"load-{number}") for number in range(LOAD)]),
        # Written as text, because a YAML library takes as long as the attack.
        "slow/objects.yaml": "".join(map(_SLOW.format, range(_SLOW_OBJECTS))),
        # It fails after all that, so that nothing is applied.
        "slow/kustomization.yaml": yaml.safe_dump({"resources": ["objects.yaml"], "patches": [{"patch": absent}]}),
        **chart_files("growing", grown),
        # The policies refuse the last object, after the others are there.
        **chart_files("repeated", yaml.safe_dump_all([*repeated, refused])),
        **{path: text for name in _REFERENCES for path, text in chart_files(name, "").items()},
        **{f"{name}/values.schema.json": json.dumps({"$ref": url}) for name, url in _REFERENCES.items()},
    }


def patterns_files() -> dict[str, str]:
    """The files of the branch that takes the time of a worker."""
    patterns = "\n".join(f"**/a*/**/b*/**/{number}" for number in range(_PATTERNS))
    return {".sourceignore": patterns} | {f"patterns/a/b/a/b/{number}": "" for number in range(_FILES)}


def chart_files(folder: str, templates: str) -> dict[str, str]:
    """A chart with one file of templates."""
    metadata = yaml.safe_dump({"apiVersion": "v2", "name": folder, "version": "1.0.0"})
    return {f"{folder}/Chart.yaml": metadata, f"{folder}/templates/all.yaml": templates}
