"""The labels by which Flux's own tools know a release: `flux version`, `flux check` and `flux uninstall` read them.

`flux install` sets all three; the published `install.yaml` has them without the version.

Source: pkg/manifestgen/labels.go and cmd/flux/cluster_info.go of https://github.com/fluxcd/flux2 2.9
"""

from __future__ import annotations

from components.vocabulary.manifests import Manifest
from components.vocabulary.names import FLUX_NAMESPACE

VERSION_LABEL = "app.kubernetes.io/version"


def labelled(manifest: Manifest, version: str) -> Manifest:
    """An object of the release with its labels.

    `flux install` labels pods as well. They stay as they are: another label would restart every controller.

    Args:
        manifest: the object.
        version: of the release, e.g. `2.9.5`.
    """
    metadata = manifest["metadata"]
    labels = metadata.get("labels", {}) | {
        "app.kubernetes.io/instance": FLUX_NAMESPACE,
        "app.kubernetes.io/part-of": "flux",
        VERSION_LABEL: f"v{version}",
    }
    return manifest | {"metadata": metadata | {"labels": labels}}
