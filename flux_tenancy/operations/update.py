"""An update of a stack: repairs drift, then runs `pulumi up`, and applies only what was approved.

While objects are being deleted, the Kubernetes plugin prints their Events, which contain text of tenants. So Pulumi
never writes to the terminal itself.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from flux_tenancy.components.config.errors import coded, present
from flux_tenancy.components.config.messages import Message, printable, without_controls
from flux_tenancy.components.engine.pulumi_command import changing_options
from flux_tenancy.components.stack.cluster.deletions import OLDER
from flux_tenancy.operations.drift.repair import repair
from flux_tenancy.operations.stack.pulumi_cli import PULUMI_NOT_FOUND, UNKNOWN_TO_PULUMI, refresh_root, run_pulumi
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.approval.guard import RECORDED_FIRST, UNAPPROVABLE, VARIABLE

_DIGEST = "sha256:"
# The outputs are several pages; `pulumi stack output` prints them.
_PLAIN = ("--non-interactive", "--color=never", "--suppress-outputs")
# By default, the engine also writes the whole state twice for each object: a first update costs the square of these.
# It writes the state at its end in any case, also after a failure and an interrupt.
# Source: SkipCheckpoints in sdk/go/common/env/env.go of Pulumi
_STATE_AT_THE_END = {"PULUMI_SKIP_CHECKPOINTS": "true"}
# By default, the Kubernetes plugin sends at most 50 requests a second, for which an update of many tenants waits. The
# API server protects itself, by priority and fairness.
# Source: PULUMI_K8S_CLIENT_QPS in provider/pkg/provider/provider.go of pulumi-kubernetes
_REQUESTS = {"PULUMI_K8S_CLIENT_QPS": "200", "PULUMI_K8S_CLIENT_BURST": "400"}


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the engine and its plugins in an update; limits that are set already stay."""
    return {**_REQUESTS, **environ, **_STATE_AT_THE_END}


def update(
    stack: str,
    project: Path,
    approved: str | None = None,
    yes: bool = False,
    compare_ready: bool = False,
    older: bool = False,
) -> dict[str, str]:
    """Repair a stack and update it.

    An interrupted creation stays in the state until somebody clears it, with a warning in each update. After an update
    that has succeeded, the object exists, so it is cleared.

    Args:
        approved: the digest of the approved render, or the path of its digest.json, relative to the current folder;
            None leaves it to the environment.
        compare_ready: whether to compare which syncs are ready with the previous update.
        older: whether to apply files that do not descend from those of the previous update.

    Returns:
        The syncs that were ready after the previous update and are not after this one, by name, each with Flux's
        message; they are printed. Empty without `compare_ready`.

    Raises:
        OperationError: the repair or the update failed.
        typer.Exit: something else was approved; the reason is printed.
        typer.Abort: the user has declined the update.
        KeyboardInterrupt: the user has interrupted the update.
    """
    if approved is not None:
        # The repair and the program of the stack read it; a path counts from the project's folder there.
        is_path = approved and not approved.startswith(_DIGEST)
        os.environ[VARIABLE] = str(Path(approved).absolute()) if is_path else approved
    if older:
        os.environ[OLDER] = "true"
    if VARIABLE in os.environ and (options := changing_options(processes=())):
        raise OperationError(UNAPPROVABLE(option=" and ".join(options)))
    earlier = repair(stack, project, update_follows=True)
    before = _statuses(stack, project) if compare_ready else {}
    if not yes:
        _pulumi("preview", ["--stack", stack, *_PLAIN], stack, project)
        typer.confirm(f"Perform this update of stack {stack}?", abort=True)
    options = ["--stack", stack, "--yes", "--skip-preview", *_PLAIN]
    if not earlier.cluster:
        # By the cluster in the state, an update recognizes the objects of one that was killed (`cluster.ownership`).
        typer.echo("The first update records the cluster in the state before it creates anything.", err=True)
        first = [*options, *(f"--target={each}" for each in RECORDED_FIRST)]
        _pulumi("up", first, stack, project)
    _pulumi("up", options, stack, project)
    if earlier.interrupted:
        # What a killed update has written and this one does not want; before it, that was left to it.
        repair(stack, project)
        typer.echo("The interrupted update before this one is completed; no `pulumi refresh` is needed.", err=True)
    _clear_interrupted(stack, project)
    see = f"Outputs: `pulumi stack output --stack {stack}`. Tenants: `flux-tenancy tenant list --stack {stack}`."
    typer.echo(see, err=True)
    if not compare_ready:
        return {}
    after = _statuses(stack, project)
    lost = {
        name: printable(status["message"])
        for name, status in after.items()
        if status["ready"] != "True" and before.get(name, {}).get("ready") == "True"
    }
    for name, reason in lost.items():
        message = Message(
            "FT-OPS-343",
            f"{name} was ready after the previous update and is not any more: {reason}",
            f"see `flux-tenancy tenant show` with `--stack {stack}`",
        )
        typer.echo(f"error: {coded(message)}", err=True)
    return lost


def _pulumi(command: str, options: Sequence[str], stack: str, project: Path) -> None:
    """Run `pulumi up` or `pulumi preview`.

    Raises:
        OperationError: it fails, or cannot be run.
        KeyboardInterrupt: the user has interrupted it.
    """
    if _run(["pulumi", command, *options], project):
        raise OperationError(
            Message(
                "FT-OPS-315",
                f"`pulumi {command}` of stack {stack} failed",
                "correct the error above and run the command again; if another update is in progress, wait for it, or "
                f"if that was killed, run `pulumi cancel --stack {stack}` first",
            )
        )


def _statuses(stack: str, project: Path) -> dict[str, Any]:
    """The status of each tenant's sync and of the platform's in the outputs of the last update; empty before the first.

    Raises:
        OperationError: Pulumi cannot be run, or fails.
    """
    try:
        outputs = json.loads(run_pulumi(["stack", "output", "--json"], stack, project))
    except OperationError as error:
        if error.message.code == UNKNOWN_TO_PULUMI.code:
            return {}
        raise
    owners = {f"tenant {name}": tenant for name, tenant in outputs.get("tenants", {}).items()}
    owners["the platform's sync"] = outputs.get("flux", {}).get("sync", {})
    return {name: owner["status"] for name, owner in owners.items() if "status" in owner}


def _clear_interrupted(stack: str, project: Path) -> None:
    """Clear interrupted creations from the state, if there are some."""
    deployment = json.loads(run_pulumi(["stack", "export"], stack, project)).get("deployment") or {}
    pending = deployment.get("pending_operations") or ()
    if any(each["type"] == "creating" for each in pending):
        refresh_root(stack, project, "--clear-pending-creates")


def _run(command: list[str], folder: Path) -> int:
    """Run a command and print its output without control characters; returns its exit status.

    Ctrl-C reaches Pulumi itself, which then ends the update in order. Killing it would leave operations pending.

    Raises:
        OperationError: it cannot be run.
        KeyboardInterrupt: it has ended after an interrupt.
    """
    interrupted = False
    try:
        running = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        raise OperationError(PULUMI_NOT_FOUND()) from None
    while True:
        try:
            for line in present(running.stdout, "it is a pipe"):
                typer.echo(without_controls(line.removesuffix("\n")))
            status = running.wait()
        except KeyboardInterrupt:
            interrupted = True
            continue
        if interrupted and status:
            raise KeyboardInterrupt
        return status
