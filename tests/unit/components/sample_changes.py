"""What the engine tells of an object that an update has changed."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi


def changed(
    kind: str,
    name: str,
    namespace: str = "",
    labels: Mapping[str, str] | None = None,
    generations: tuple[int | None, int | None] = (None, None),
    parents: str = "",
) -> pulumi.ResourceHookArgs:
    """An object that was updated, or created where it had no generation before."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), "labels": dict(labels or {})}
    before, after = generations
    return pulumi.ResourceHookArgs(
        urn=f"urn:pulumi:staging::flux-tenancy::{parents}kubernetes:v1:{kind}::{name}",
        id=name,
        name=name,
        type=f"kubernetes:v1:{kind}",
        new_inputs={"kind": kind, "metadata": metadata},
        old_outputs=None if before is None else {"metadata": {"generation": before}},
        new_outputs={"metadata": {"generation": after}},
    )
