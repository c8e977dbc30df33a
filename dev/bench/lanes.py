"""What lanes cost at rest: seconds of a first `pulumi up`, memory and CPU of Flux's controllers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import psutil
import yaml

from dev.bench.controllers import controller_processes
from dev.bench.measure import checked
from dev.bench.report import Results
from dev.bench.rig import Rig
from dev.bench.tenant_client import TenantClient
from flux_tenancy.components.cluster.client import path_of
from flux_tenancy.components.sync.status import status_of
from flux_tenancy.components.vocabulary.names import DEFAULT_LANE
from tests.support.lab import eventually
from tests.support.policy_cases import kustomization, made

TENANTS = 8
"""Tenants of the stack, which are spread over its lanes."""
FIELDS = {"RSS": "VmRSS", "anonymous": "RssAnon"}
"""Headings of memory and their names in /proc/<pid>/status."""

NOTES = (
    f"A first `pulumi up` of Flux, native policies and {TENANTS} tenants, which are spread over the lanes, and then "
    "all of Flux's controllers at rest, with one Kustomization of a tenant each ready.",
    "Each figure behind the seconds is for one lane: the sum over all controllers, less that without lanes, divided "
    "by the number of lanes.",
    "MiB. `anonymous`: what a lane adds to a node that runs other lanes, where the controllers' programs are in the "
    "page cache already. `RSS`: the same with these programs, as on a node that runs no other lane.",
    "CPU: thousandths of a core, over half a minute.",
)

_COLUMNS = {
    "lanes": "d", "first up s": ".1f", "s": ".1f", **dict.fromkeys(FIELDS, ".0f"), "CPU m": ".0f",
}  # fmt: skip
_REST_SECONDS, _CPU_SECONDS, _TIMEOUT_SECONDS = 60.0, 30.0, 300.0


@dataclass(frozen=True)
class Cost:
    """What a stack with a number of lanes takes.

    Attributes:
        seconds: of its first `pulumi up`.
        memory: of all controllers, in MiB, by heading.
        cpu: of all controllers, in thousandths of a core.
    """

    seconds: float
    memory: Mapping[str, float]
    cpu: float


def measure_lanes(rig: Rig, counts: Sequence[int], say: Callable[[str], None]) -> dict[int, Cost]:
    """What stacks without lanes and with these numbers of lanes take; raises LabError if a command fails."""
    rig.lab.start_git_host()
    files = {"staging/config.yaml": yaml.safe_dump(made("ConfigMap"))}
    url = rig.lab.repository("bench", "rest", files, rig.project.folder / "repositories")
    rig.configure(
        {f"team-{number}": url for number in range(TENANTS)},
        policies={"engine": "native", "sources": {"plainHttp": True}},
        kyverno=None,
    )
    costs = {}
    with TenantClient(rig.cluster.kubeconfig, rig.admin_token()) as client:
        for count in (0, *counts):
            lanes = [DEFAULT_LANE, *(f"lane-{number}" for number in range(2, count + 1))][:count]
            for number, tenant in enumerate(rig.sections["tenants"].values()):
                tenant |= {"lane": lanes[number % count]} if count else {}
            rig.configure(flux=rig.sections["flux"] | ({"lanes": dict.fromkeys(lanes, {})} if lanes else {}))
            checked(rig.pulumi("destroy", "--yes", "--skip-preview"))
            begin = time.monotonic()
            rig.up()
            seconds = time.monotonic() - begin
            costs[count] = _at_rest(client, seconds)
            say(f"{count} lanes: {costs[count]}")
    return costs


def _at_rest(client: TenantClient, seconds: float) -> Cost:
    for number in range(TENANTS):
        sync = path_of(kustomization(name=f"team-{number}", namespace=f"team-{number}"))
        eventually(partial(_is_ready, client, sync), _TIMEOUT_SECONDS, sync)
    time.sleep(_REST_SECONDS)
    processes = list(controller_processes(client))
    used = [psutil.Process(each.pid) for each in processes]

    def cpu_seconds() -> float:
        return sum(sum(each.cpu_times()[:2]) for each in used)

    before = cpu_seconds()
    time.sleep(_CPU_SECONDS)
    cpu = (cpu_seconds() - before) / _CPU_SECONDS * 1000
    memory = {heading: sum(each.memory(field) for each in processes) / 2**20 for heading, field in FIELDS.items()}
    return Cost(seconds, memory, cpu)


def _is_ready(client: TenantClient, path: str) -> bool:
    return status_of(client.read(path)).ready == "True"


def results(costs: Mapping[int, Cost]) -> Results:
    """Each number of lanes compared with none."""
    rows, none = [], costs[0]
    for count, cost in costs.items():
        lanes = count or 1
        base = none if count else Cost(0.0, dict.fromkeys(FIELDS, 0.0), 0.0)
        memory = [(cost.memory[heading] - base.memory[heading]) / lanes for heading in FIELDS]
        added = (cost.seconds - none.seconds) / lanes
        values = (count, cost.seconds, added, *memory, (cost.cpu - base.cpu) / lanes)
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    raw = [{"lanes": count, **vars(cost)} for count, cost in costs.items()]
    return Results("lanes", "What a lane costs at rest", _COLUMNS, rows, NOTES, raw)
