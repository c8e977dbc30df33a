"""A real Prometheus, kube-state-metrics and Alertmanager that use a cluster of the lab as the exported files say."""

from __future__ import annotations

import base64
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import yaml

from dev.lab.free_ports import free_port_base
from dev.lab.processes import LOOPBACK
from tests.support.http_double import Answer, Asked, serving
from tests.support.lab import eventually

INTERVAL = "2s"


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def ask(self, path: str, **parameters: str) -> Any:
        """What its API answers; the test fails if it is an error."""
        response = httpx.get(f"{self.url}/api/v1/{path}", params=parameters)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    def query(self, expr: str) -> list[tuple[dict[str, str], float]]:
        """The series of an expression, each with its value now."""
        return [(each["metric"], float(each["value"][1])) for each in self.ask("query", query=expr)["result"]]

    def value(self, expr: str) -> float | None:
        """The value of an expression with one series, or None if it has none."""
        found = self.query(expr)
        assert len(found) <= 1, found
        return found[0][1] if found else None


def tool(tools: Mapping[str, Path], program: str) -> Path:
    """The path of a tool that is pinned in one version."""
    [found] = (path for name, path in tools.items() if name.startswith(f"{program}@"))
    return found


@contextmanager
def _process(*command: str | Path, log: Path) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def _api_server(kubeconfig: Path) -> dict[str, Any]:
    """A job that reads the API server; a Prometheus in a cluster has one."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    given = {
        "ca": cluster["certificate-authority-data"],
        "cert": user["client-certificate-data"],
        "key": user["client-key-data"],
    }
    return {
        "job_name": "apiserver",
        "scheme": "https",
        "tls_config": {name: base64.b64decode(value).decode() for name, value in given.items()},
        "static_configs": [{"targets": [urlsplit(cluster["server"]).netloc]}],
    }


class AlertReceiver:
    """What Alertmanager posts to a loopback address, until the process ends.

    Attributes:
        url: where it posts to.
        alerts: each alert, as in its webhook's messages, with the time of arrival by `time.time`.
    """

    def __init__(self) -> None:
        self.alerts: list[tuple[float, dict[str, Any]]] = []
        self.url = f"http://{LOOPBACK}:{serving(self._keep).server_port}"

    def _keep(self, asked: Asked) -> Answer:
        self.alerts.extend((time.time(), each) for each in asked.json["alerts"])
        return Answer()

    def states(self, **labels: str) -> list[str]:
        """The states of the alert with these labels, in the order in which they came."""
        return [each["status"] for _, each in self.alerts if labels.items() <= each["labels"].items()]


@contextmanager
def monitored(
    tools: Mapping[str, Path], exported: Path, kubeconfig: Path, folder: Path, receiver: AlertReceiver
) -> Iterator[Prometheus]:
    """The programs, until the end of the block. Alerts wait for seconds instead of minutes.

    Args:
        tools: the lab's tools.
        exported: what `flux-tenancy monitoring export` has written.
        kubeconfig: of the cluster; in a cluster, Prometheus uses its service account.
        folder: an empty folder for data and logs.
        receiver: where Alertmanager posts alerts that have a contact.
    """
    port = free_port_base(1)
    scrape = yaml.safe_load((exported / "scrape.yaml").read_text())
    for job in scrape["scrape_configs"]:
        for discovery in job["kubernetes_sd_configs"]:
            discovery["kubeconfig_file"] = str(kubeconfig)
    state = {"job_name": "kube-state-metrics", "honor_labels": True}
    targets = {"static_configs": [{"targets": [f"{LOOPBACK}:{port + 1}"]}]}
    configuration = {
        "global": {"scrape_interval": INTERVAL, "evaluation_interval": INTERVAL},
        "rule_files": [str(folder / "rules.yaml")],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"{LOOPBACK}:{port + 3}"]}]}]},
        "scrape_configs": [*scrape["scrape_configs"], state | targets, _api_server(kubeconfig)],
    }
    rules = yaml.safe_load((exported / "rules.yaml").read_text())
    for rule in (each for group in rules["groups"] for each in group["rules"] if "for" in each):
        rule["for"] = "6s"
    webhook = {"url": receiver.url, "send_resolved": True}
    routing = {
        "route": {
            "receiver": "nobody",
            "group_by": ["alertname", "tenant"],
            "group_wait": "1s",
            "group_interval": "2s",
            "routes": [{"receiver": "contact", "matchers": ['contact!=""']}],
        },
        "receivers": [{"name": "nobody"}, {"name": "contact", "webhook_configs": [webhook]}],
    }
    for name, content in {"rules": rules, "prometheus": configuration, "alertmanager": routing}.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    with ExitStack() as running:
        running.enter_context(
            _process(
                tool(tools, "kube-state-metrics"),
                f"--kubeconfig={kubeconfig}",
                f"--custom-resource-state-config-file={exported / 'kube-state-metrics.yaml'}",
                "--resources=pods,resourcequotas",
                *(f"--{each}host={LOOPBACK}" for each in ("", "telemetry-")),
                f"--port={port + 1}",
                f"--telemetry-port={port + 2}",
                log=folder / "kube-state-metrics.log",
            )
        )
        running.enter_context(
            _process(
                tool(tools, "prometheus"),
                f"--config.file={folder / 'prometheus.yaml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={LOOPBACK}:{port}",
                log=folder / "prometheus.log",
            )
        )
        running.enter_context(
            _process(
                tool(tools, "alertmanager"),
                f"--config.file={folder / 'alertmanager.yaml'}",
                f"--storage.path={folder / 'alertmanager'}",
                f"--web.listen-address={LOOPBACK}:{port + 3}",
                "--cluster.listen-address=",
                log=folder / "alertmanager.log",
            )
        )
        found = Prometheus(f"http://{LOOPBACK}:{port}")
        eventually(lambda: _is_ready(found), what="Prometheus")
        yield found


def _is_ready(prometheus: Prometheus) -> bool:
    try:
        return httpx.get(f"{prometheus.url}/-/ready").status_code == 200
    except httpx.TransportError:
        return False
