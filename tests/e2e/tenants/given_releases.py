"""A tenant with several syncs that depend on each other, and with charts as data from each kind of source."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from tests.support.charts import Chart
from tests.support.environment import Environment
from tests.support.lab import Lab
from tests.support.registry import Registry

TENANT, NAMESPACE = "releasing", "releasing-apps"
IMAGE = "registry.example/charts/app:1"
# Source: https://fluxcd.io/flux/components/helm/helmreleases/#recommended-settings
CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
SECRET = "a,{secret}"
"""A secret value that Helm would take apart if it read it as its own syntax."""


def config_map(name: str, **data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


FILES = {
    "variables/map.yaml": config_map("variables", region="eu"),
    "settings/map.yaml": config_map("settings", region="${region}", color="blue"),
    "unset/map.yaml": config_map("unset", value="${nobody_sets_this}"),
    "chart/Chart.yaml": "apiVersion: v2\nname: of-git\nversion: 0.1.0\n",
    "chart/templates/map.yaml": config_map("of-git", size="{{ .Values.size }}"),
}


def base(lab: Lab) -> dict[str, Any]:
    """The tenant's base file."""
    url = lab.git.https_url(TENANT, "code")
    host = urlsplit(url).netloc
    authority = {"certificateAuthority": lab.git.certificate_authority.read_text()}
    return {
        "namespaces": [{"name": NAMESPACE}],
        "source": {"url": url, **authority},
        "sources": {
            "charts": {"kind": "HelmRepository", "url": f"https://{host}/api/packages/{TENANT}/helm", **authority},
            "menu": {
                "kind": "OCIRepository",
                "url": f"oci://{host}/{TENANT}/menu",
                # By a tag: the client that lists tags takes a registry on loopback for one without TLS.
                "ref": {"tag": "1.0.0"},
                "layerSelector": {"mediaType": CHART_LAYER, "operation": "copy"},
                **authority,
            },
        },
        "sync": {
            "path": "./settings",
            "dependsOn": ["variables"],
            "postBuild": {"substituteFrom": [{"kind": "ConfigMap", "name": "variables"}]},
            "patches": [
                {"target": {"kind": "ConfigMap"}, "merge": {"data": {"color": "red"}}},
                {"target": {"name": "settings"}, "operations": [{"op": "add", "path": "/data/size", "value": "1"}]},
            ],
            "targetNamespace": NAMESPACE,
        },
        "syncs": {
            "variables": {"path": "./variables", "targetNamespace": NAMESPACE},
            "unset": {
                "path": "./unset",
                "targetNamespace": NAMESPACE,
                "postBuild": {"substitute": {"region": "eu"}},
            },
        },
        "releases": {
            "greeter": {"source": "charts", "chart": "greeter", "version": "1.x", "values": {"message": "of all"}},
            "menu": {"source": "menu", "dependsOn": ["greeter"]},
            "of-git": {"chart": "./chart", "values": {"size": "small"}},
            "absent": {"source": "charts", "chart": "nobody-has-this"},
        },
    }


def add(stack: Environment, lab: Lab) -> None:
    registry = Registry(lab.git.gitea, TENANT)
    for name, version in (("greeter", "1.0.0"), ("greeter", "1.1.0"), ("greeter", "2.0.0"), ("menu", "1.0.0")):
        registry.push_chart(Chart(name, version, IMAGE))
    lab.repository(TENANT, "code", FILES, stack.project.folder.parent / "releases")
    stack.project.tenant(TENANT, base(lab))
    stack.config["tenants"][TENANT] = {
        "releases": {
            "greeter": {"values": {"message": "of this environment"}},
            "menu": {"secretValues": {"message": stack.secret(SECRET)}},
        }
    }
