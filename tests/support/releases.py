"""The releases that the lab builds: tests name a version only where they are about that very version."""

from __future__ import annotations

import re

import yaml

from tests.support.project import CHECKOUT


def flux_image(controller: str, release: str = "flux") -> str:
    """The image of a controller, without its registry, as a folder of `dev/lab/tools` pins it."""
    return f"{controller}:v{_pinned(release, controller)}"


def _pinned(release: str, module: str, of: str = "github.com/fluxcd") -> str:
    pins = (CHECKOUT / "dev" / "lab" / "tools" / release / "go.mod").read_text()
    [version] = re.findall(rf"^(?:\t|require ){re.escape(f'{of}/{module}')} v([0-9.]+)$", pins, re.M)
    return str(version)


def _bundled() -> str:
    """The version of the bundle for `make up`: its own module may not be available."""
    tools = yaml.safe_load((CHECKOUT / "dev" / "lab" / "tools.yaml").read_text())
    [bundle] = [each for each in tools if each["name"].startswith("flux-bundle-") and each["module"] == "flux"]
    return str(bundle["version"]).removeprefix("v")


FLUX_VERSION = _bundled()
"""The release of Flux that the lab builds for `make up`."""
OLDER_FLUX_VERSION = _pinned("flux-older", "flux2/v2")
"""The release before it, from which the tests upgrade."""
FLUX_BUNDLE = f"flux-bundle-{FLUX_VERSION}"
"""The tool that is its bundle of manifests."""
KUBERNETES_VERSION = _pinned("kubernetes", "kubernetes", "k8s.io")
"""The Kubernetes of the lab's clusters."""
OLDER_KUBERNETES = tuple(_pinned(folder, "kubernetes", "k8s.io") for folder in ("kubernetes-1.33", "kubernetes-1.35"))
"""The oldest versions that the program and Flux's newest releases accept, of which the lab has a control plane."""
