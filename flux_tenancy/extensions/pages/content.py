"""The page as one file, which loads nothing: the JSON of `tenant list`, `tenant show` and `isolation`, together.

Its text is data, which the script sets as text. The policy of the page allows only this script and this style, by their
digests, so that text from a cluster could not run even if it became markup.

Source: https://www.w3.org/TR/CSP3/#framework-directive-source-list
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from string import Template
from typing import Any

from kubernetes import client

from flux_tenancy.components.config.errors import Problem
from flux_tenancy.components.config.messages import Message, printable
from flux_tenancy.components.config.types import now
from flux_tenancy.components.policies.policy import THREATS
from flux_tenancy.components.stack.files.tenant_files import MergedTenant
from flux_tenancy.isolation.report import FORMAT
from flux_tenancy.operations.admission.findings import Violation
from flux_tenancy.operations.admission.report import refused_objects
from flux_tenancy.operations.stack.connected import connect_to_read, reaching
from flux_tenancy.operations.tenants.budgets import ONE_CLUSTER
from flux_tenancy.operations.tenants.details import TenantDetails, details_entry, live_details
from flux_tenancy.operations.tenants.overview import Health, TenantLine, observe, said_of
from flux_tenancy.project.described_stack import described_tenants
from flux_tenancy.project.errors import OperationError, invalid
from flux_tenancy.version import VERSION


def read_stack(stack: str, project: Path, policies: bool, budgets: Mapping[str, float]) -> dict[str, Any]:
    """A stack and its tenants; why nothing is known of them is part of the answer.

    Args:
        stack: name of the stack.
        project: folder of the project.
        policies: whether to ask the policies, by dry runs, what they would refuse.
        budgets: the share of its late minutes that each tenant has left, if it is known.
    """
    refused: list[Violation] = []

    def violations(api: client.ApiClient, stack: str) -> Counter[str]:
        refused.extend(refused_objects(api, stack, project))
        return Counter(each.tenant for each in {each.place for each in refused})

    described = described_tenants(stack, project)
    try:
        with reaching(stack):
            api = connect_to_read(stack, project)
            found, unknown = observe(api, stack, violations if policies else None)
            found = replace(found, budgets=budgets)
            tenants = []
            for name, merged in described.items():
                if isinstance(merged, Problem):
                    error = invalid(merged)
                    line = TenantLine(name, Health.FAILED, message=said_of(error))
                    details = TenantDetails(stack, line, next=(error.message.remedy,))
                else:
                    details = live_details(api, name, stack, merged.value, found)
                own = [each for each in refused if each.place.tenant == name]
                tenants.append(_tenant(details, merged, own))
    except OperationError as failure:
        return {"stack": stack, "error": said_of(failure)}
    return {"stack": stack, "error": "", "violationsError": unknown, "tenants": tenants}


def _tenant(details: TenantDetails, merged: MergedTenant | Problem, refused: list[Violation]) -> dict[str, Any]:
    described = {} if isinstance(merged, Problem) else merged.value
    people = described.get("people")
    return {
        "tenant": details.line.name,
        **details_entry(details),
        "budget": details.line.budget,
        "violations": details.line.violations,
        "refused": [asdict(each) for each in refused],
        "people": [
            {"role": role.removesuffix("s"), "kind": each["kind"], "name": each["name"]}
            for role, listed in (people if isinstance(people, Mapping) else {}).items()
            for each in (listed if isinstance(listed, list) else ())
            if isinstance(each, Mapping) and {"kind", "name"} <= each.keys()
        ],
    }


def read_isolation(file: Path, stacks: Sequence[str]) -> dict[str, Any]:
    """A report of the isolation suite, with the names of the threats.

    Raises:
        OperationError: the file cannot be read, or is none, or the page has several stacks.
    """
    if len(stacks) > 1:
        raise OperationError(ONE_CLUSTER(of=file, shown="page", stacks=" and ".join(stacks)))
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
        if report["format"] == FORMAT:
            return {**report, "threats": {number: each.attempt for number, each in THREATS.items()}}
        problem = f"has the format {printable(str(report['format']))}, not {FORMAT}"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        problem = "is not a report of the isolation suite"
    remedy = f"write it again: `flux-tenancy isolation -o json -f {file.name}`"
    raise OperationError(Message("FT-PAG-001", f"{file} {problem}", remedy))


_PAGE = Path(__file__).with_name("page.html")


def as_html(stacks: Sequence[dict[str, Any]], isolation: dict[str, Any] | None) -> str:
    """The page.

    Args:
        stacks: each as `read_stack` returns it.
        isolation: a report as `read_isolation` returns it; None if there is none.
    """
    data = {"made": now().strftime("%Y-%m-%dT%H:%M:%SZ"), "version": VERSION, "stacks": stacks, "isolation": isolation}
    style, script = (_PAGE.with_suffix(each).read_text(encoding="utf-8") for each in (".css", ".js"))
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'",
        style=style,
        script=script,
        # A `<` in data could end its element: https://html.spec.whatwg.org/#restrictions-for-contents-of-script-elements
        data=json.dumps(_shown(data)).replace("<", "\\u003c"),
    )


def _shown(value: Any) -> Any:
    """Data without characters that hide or reorder text."""
    if isinstance(value, dict):
        return {printable(str(key)): _shown(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_shown(each) for each in value]
    return printable(value) if isinstance(value, str) else value


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
