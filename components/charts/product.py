"""A product that a stack installs by its Helm chart."""

from __future__ import annotations

from dataclasses import dataclass

from components.charts.wordings import ReleaseWordings


@dataclass(frozen=True)
class Product:
    """What is known of a product before its chart is read.

    Attributes:
        name: name of its section of the configuration, of its chart and of its release.
        namespace: namespace that it is installed in.
        says: what is said about its chart and its release.
    """

    name: str
    namespace: str
    says: ReleaseWordings
