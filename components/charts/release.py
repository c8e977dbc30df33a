"""A product's Helm release as one resource: as resources of its own, a chart would take a minute to preview."""

from __future__ import annotations

from typing import Any

import pulumi

from components.charts.chart import Chart
from components.charts.product import Product
from components.vocabulary.manifests import Manifest

RELEASE_TYPE = "kubernetes:helm.sh/v3:Release"

# Enough to go back by hand; each revision is a Secret of several hundred kilobytes.
KEPT_REVISIONS = 3
# Pulled images included, for a rolling update of all replicas.
TIMEOUT_SECONDS = 600


def release(
    product: Product,
    chart: Chart,
    values: Manifest,
    description: str | None,
    opts: pulumi.ResourceOptions,
    **inputs: Any,
) -> pulumi.CustomResource:
    """Register the release.

    Args:
        product: the product.
        chart: its chart.
        values: values of the chart; Pulumi drops an empty list, so that the chart would use its default.
        description: description of the release in Helm's record; a new one makes Pulumi upgrade the release.
        opts: options of the resource.
        inputs: further inputs of the resource.
    """
    described = {"description": description} if description else {}
    properties: dict[str, Any] = {
        "name": product.name,
        "namespace": product.namespace,
        "chart": chart.path,
        "values": values,
        "maxHistory": KEPT_REVISIONS,
        "timeout": TIMEOUT_SECONDS,
    }
    return pulumi.CustomResource(RELEASE_TYPE, product.name, properties | described | inputs, opts)
