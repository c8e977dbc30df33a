"""How many objects of each tenant the policies of a stack would refuse."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from kubernetes import client

from flux_tenancy.components.stack.files.names import stack_file_name
from flux_tenancy.operations.admission.findings import find
from flux_tenancy.operations.admission.policies import check_in_force, policies_in_force
from flux_tenancy.operations.stack.described_cluster import applied_config, content_policies


def count_violations(api: client.ApiClient, stack: str, project: Path) -> Counter[str]:
    """Dry-run every object that a content policy matches, and count those that would be refused, by tenant.

    Raises:
        OperationError: the stack has no policies, the cluster lacks some, or an answer does not come from them.
        ApiException: the API server refuses to list objects.
    """
    config = applied_config(stack, project)
    content = content_policies(config)
    check_in_force(stack_file_name(stack), config.policies, content, policies_in_force(api))
    return Counter(place.tenant for place in {each.place for each in find(api, content).findings})
