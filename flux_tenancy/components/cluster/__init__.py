"""The one cluster of the stack: its provider, a client, manifests, and what of earlier updates is in it.

Put here what holds for any Kubernetes object, whoever it is for.
"""

from flux_tenancy.components.cluster.component import Cluster, ClusterArgs
from flux_tenancy.components.cluster.config import ClusterConfig

__all__ = ["Cluster", "ClusterArgs", "ClusterConfig"]
