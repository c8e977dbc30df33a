"""Flux's controllers by the names that their manifests carry."""

from __future__ import annotations

from enum import StrEnum


class Controller(StrEnum):
    """A controller of Flux; the value is the name of its Deployment and of its `app.kubernetes.io/component` label.

    Source: https://fluxcd.io/flux/components/
    """

    SOURCE = "source-controller"
    KUSTOMIZE = "kustomize-controller"
    HELM = "helm-controller"
    NOTIFICATION = "notification-controller"
    IMAGE_REFLECTOR = "image-reflector-controller"
    IMAGE_AUTOMATION = "image-automation-controller"
    SOURCE_WATCHER = "source-watcher"


DEFAULT_CONTROLLERS = (Controller.SOURCE, Controller.KUSTOMIZE, Controller.HELM, Controller.NOTIFICATION)
RECONCILERS = (Controller.KUSTOMIZE, Controller.HELM)
"""Those that apply what others wrote."""
# Nothing that this program registers is reconciled without these two.
REQUIRED_CONTROLLERS = (Controller.SOURCE, Controller.KUSTOMIZE)


def account_of(controller: Controller) -> str:
    """The service account that the pods of a controller run as with narrow rights."""
    return f"{controller.value}-{'impersonator' if controller in RECONCILERS else 'restricted'}"
