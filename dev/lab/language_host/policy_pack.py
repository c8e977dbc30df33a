"""A policy pack of a `pulumi` command: a process that the engine reaches through a server of the language host.

The SDK for policy packs takes the stack and its configuration from the environment of its process, but the engine sends
them only when the pack serves. So the host serves first, starts the pack with what it receives, and forwards requests.

Source: RunPlugin in sdk/python/cmd/pulumi-language-python/main.go and sdk/policy_proxy.go of Pulumi 3.259
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NoReturn

import grpc
from pulumi.runtime.proto import analyzer_pb2, language_pb2

_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
_HANDSHAKE, _CONFIGURE = "Handshake", "ConfigureStack"


class PolicyPackRun(grpc.GenericRpcHandler):
    """One run of a policy pack.

    Attributes:
        port: of the server that the engine has to reach.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Serve; the pack starts with the first request that it has to answer.

        Args:
            command: the pack's command line.
            folder: the pack's folder, in which it runs.
            environment: its environment, without the stack.
        """
        self._command, self._folder, self._environment = command, folder, environment
        self._output: queue.Queue[language_pb2.RunPluginResponse | None] = queue.Queue()
        self._starting = threading.Lock()
        self._pack: subprocess.Popen[bytes] | None = None
        self._channel: grpc.Channel | None = None
        self._server = grpc.server(ThreadPoolExecutor(max_workers=4), options=_UNLIMITED)
        self._server.add_generic_rpc_handlers((self,))
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def responses(self) -> Iterator[language_pb2.RunPluginResponse]:
        """What the engine is told of the run until it ends: the port first, then what the pack prints."""
        yield language_pb2.RunPluginResponse(stdout=f"{self.port}\n".encode())
        while (response := self._output.get()) is not None:
            yield response
        self._server.stop(grace=None)
        if self._pack is not None:
            self._pack.terminate()
            yield language_pb2.RunPluginResponse(exitcode=self._pack.wait())

    def end(self) -> None:
        """End the run."""
        self._output.put(None)

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        name = details.method.rpartition("/")[2]

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            if name == _HANDSHAKE:
                return analyzer_pb2.AnalyzerHandshakeResponse().SerializeToString()
            stack = analyzer_pb2.AnalyzerStackConfigureRequest.FromString(request) if name == _CONFIGURE else None
            try:
                return self._started(stack).unary_unary(details.method, _as_it_is, _as_it_is)(request)
            except grpc.RpcError as error:
                _refuse(context, error)

        return grpc.unary_unary_rpc_method_handler(answer)

    def _started(self, stack: analyzer_pb2.AnalyzerStackConfigureRequest | None) -> grpc.Channel:
        """A channel to the pack, which is started with the stack if it does not run yet."""
        with self._starting:
            if self._channel is None:
                self._pack = subprocess.Popen(
                    self._command,
                    cwd=self._folder,
                    env={**self._environment, **(_variables(stack) if stack else {})},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
                assert self._pack.stdout is not None and self._pack.stderr is not None  # since they are pipes
                port = self._pack.stdout.readline().decode().strip()
                for stream, is_output in ((self._pack.stdout, True), (self._pack.stderr, False)):
                    threading.Thread(target=self._forward, args=(stream, is_output), daemon=True).start()
                # A pack that could not start has printed why; its address is then one that refuses connections.
                self._channel = grpc.insecure_channel(f"127.0.0.1:{port or 0}", _UNLIMITED)
            return self._channel

    def _forward(self, stream: IO[bytes], is_output: bool) -> None:
        while line := stream.readline():
            response = language_pb2.RunPluginResponse
            self._output.put(response(stdout=line) if is_output else response(stderr=line))
        if not is_output:  # closed by the end of the pack, after all that it had to say
            self.end()


def inherited(environment: Sequence[str]) -> dict[str, str]:
    """The environment of a process for the user: the host's without the lab's own path, with what the engine sets.

    Args:
        environment: what the engine sets, as `NAME=value`.
    """
    pairs = (entry.partition("=") for entry in environment)
    host = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**host, **{name: value for name, _, value in pairs}}


def _as_it_is(message: bytes) -> bytes:
    return message


def _variables(stack: analyzer_pb2.AnalyzerStackConfigureRequest) -> dict[str, str]:
    """The stack as the SDK reads it from the environment."""
    return {
        "PULUMI_ORGANIZATION": stack.organization or "organization",
        "PULUMI_PROJECT": stack.project,
        "PULUMI_STACK": stack.stack,
        "PULUMI_DRY_RUN": "true" if stack.dry_run else "false",
        "PULUMI_CONFIG": json.dumps(dict(stack.config)),
    }


def _refuse(context: grpc.ServicerContext, error: grpc.RpcError) -> NoReturn:
    assert isinstance(error, grpc.Call)  # as every error of a request is
    context.abort(error.code(), error.details())
