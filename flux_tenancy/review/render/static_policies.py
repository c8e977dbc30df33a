"""A stack's native policies as files that an API server loads when it starts, and that nobody can delete by its API.

Policies that are objects bind everybody but those who may delete them. An API server with `staticManifestsDir` in its
admission configuration enforces those in its files as well, also against cluster-admin, and reads changed files by
itself. Names of such policies end in a suffix that its API reserves for them, so both kinds can be in force at once.

Source: https://kubernetes.io/docs/reference/access-authn-authz/manifest-admission-control/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.review.render.files import as_yaml, writing
from flux_tenancy.review.render.rendered import RenderedObject

SUFFIX = ".static.k8s.io"
"""Names of static policies and bindings end in it."""
_POLICY = "ValidatingAdmissionPolicy"
_BINDING = "ValidatingAdmissionPolicyBinding"
_FILE = "{stack}-policies.yaml"


def static_policies(objects: Iterable[RenderedObject]) -> Iterator[Manifest]:
    """The policies and bindings among a render's objects, by their static names and without annotations.

    Args:
        objects: those of a render.
    """
    for each in objects:
        if each.kind in (_POLICY, _BINDING):
            specification = dict(each.manifest["spec"])
            if each.kind == _BINDING:
                specification["policyName"] += SUFFIX
            metadata = {"name": each.name + SUFFIX}
            yield {
                "apiVersion": each.manifest["apiVersion"],
                "kind": each.kind,
                "metadata": metadata,
                "spec": specification,
            }


def write_static_policies(stack: str, policies: Iterable[Manifest], out: Path) -> Path:
    """Write all policies of a stack to one file; returns its path.

    Args:
        stack: name of the stack.
        policies: policies and bindings.
        out: the folder, which an API server reads as a whole.

    Raises:
        OperationError: the file cannot be written.
    """
    file = out / _FILE.format(stack=stack)
    with writing(file):
        out.mkdir(parents=True, exist_ok=True)
        file.write_text("---\n".join(map(as_yaml, policies)), encoding="utf-8")
    return file
