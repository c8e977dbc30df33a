"""Messages of a run: each ends with its code in brackets, as configuration errors do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pulumi
from pulumi.runtime import resource, rpc_manager
from pulumi.runtime.proto import source_pb2

from flux_tenancy.components.config.errors import coded

if TYPE_CHECKING:
    from flux_tenancy.components.config.messages import Message


def leave_out_debugging() -> None:
    """Register resources without stack traces, source positions and the SDK's debug messages from now on.

    The SDK sends five messages for each resource, and stops the program until the engine has answered each. The engine
    shows them with `--debug` only. Messages of the program itself stay.

    Source: log.debug in resource.py and rpc_manager.py of sdk/python/lib/pulumi/runtime of Pulumi;
    https://github.com/pulumi/pulumi/issues/7292
    """
    resource._get_stack_trace = source_pb2.StackTrace
    for module in (resource, rpc_manager):
        vars(module)["log"] = SimpleNamespace(**{**vars(pulumi.log), "debug": lambda *_: None})


def error(message: Message) -> None:
    """Log an error that does not stop the program."""
    pulumi.log.error(coded(message))


def warn(message: Message) -> None:
    """Log a warning."""
    pulumi.log.warn(coded(message))


def info(message: Message) -> None:
    """Log information that needs no action."""
    pulumi.log.info(coded(message))


def run_error(cause: Message | Exception) -> pulumi.RunError:
    """An error that ends the program without a traceback."""
    return pulumi.RunError(coded(cause))
