"""`pulumi-language-python`: the gRPC server that the engine starts; it prints its port and serves until stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import LanguageRuntimeServicer, language_pb2, language_pb2_grpc, plugin_pb2

# The engine sends whole configurations and component inputs in one message; this is its own limit.
MESSAGE_LIMIT_BYTES = 400 * 1024 * 1024


class PythonLanguageHost(LanguageRuntimeServicer):
    """Serves one `pulumi` command; every `Run` is a fresh Python process, as an `up` runs the program twice."""

    def __init__(self, engine_address: str) -> None:
        self._engine_address = engine_address
        self._stopped = threading.Event()
        self._programs: set[subprocess.Popen[bytes]] = set()

    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        self._engine_address = request.engine_address
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        python = _interpreter(request.info)
        return language_pb2.GetRequiredPackagesResponse(packages=list(_installed_plugins(python)))

    def About(self, request: language_pb2.AboutRequest, context: grpc.ServicerContext) -> language_pb2.AboutResponse:
        return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.split()[0])

    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        # Like the official host, never install a project's packages where others are: not into our own environment.
        if virtualenv := dict(request.info.options).get("virtualenv"):
            folder = Path(request.info.root_directory, str(virtualenv))
            if not folder.exists():
                subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        command = [str(_interpreter(request.info)), "-m", "pip", "install", "-r", "requirements.txt"]
        done = subprocess.run(command, cwd=request.directory, env=_inherited(), capture_output=True, check=False)
        yield language_pb2.InstallDependenciesResponse(stdout=done.stdout, stderr=done.stderr)
        if done.returncode:
            context.abort(grpc.StatusCode.INTERNAL, f"pip ended with exit code {done.returncode}")

    def Run(self, request: language_pb2.RunRequest, context: grpc.ServicerContext) -> language_pb2.RunResponse:
        request.args[:] = [self._engine_address]
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb") as answer:
            program = subprocess.Popen(
                [str(_interpreter(request.info)), "-P", str(Path(__file__).with_name("program.py")), str(writing)],
                stdin=subprocess.PIPE,
                cwd=request.info.program_directory or request.pwd,
                env=_inherited(),
                pass_fds=[writing],
            )
            os.close(writing)
            assert program.stdin is not None  # since it is a pipe
            self._programs.add(program)
            try:
                program.stdin.write(request.SerializeToString())
                program.stdin.close()
                response = answer.read()
                program.wait()
            finally:
                self._programs.discard(program)
        if self._stopped.is_set():
            return language_pb2.RunResponse(bail=True)
        # Without an answer, the program has exited (sys.exit, a signal) before it could send one.
        if program.returncode and not response:
            return language_pb2.RunResponse(error=f"the program ended with exit code {program.returncode}")
        return language_pb2.RunResponse.FromString(response)

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        for program in list(self._programs):
            program.send_signal(signal.SIGINT)
        self._stopped.set()
        return empty_pb2.Empty()

    def wait(self) -> None:
        """Block until the engine cancels this host or a signal asks it to end."""
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, lambda *_: self._stopped.set())
        self._stopped.wait()


def _inherited() -> dict[str, str]:
    """The environment of a process for the user: the host's without the lab's own path."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def _interpreter(info: language_pb2.ProgramInfo) -> Path:
    """The interpreter of the virtual environment in `Pulumi.yaml` (`runtime.options.virtualenv`), or our own."""
    options = dict(info.options)
    if "virtualenv" in options:
        python = Path(info.root_directory, str(options["virtualenv"]), "bin", "python")
        if python.exists():
            return python
    return Path(sys.executable)


def _installed_plugins(python: Path) -> Iterator[plugin_pb2.PackageDependency]:
    """The plugins that the installed Pulumi SDKs need, from their `pulumi-plugin.json`."""
    command = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    for manifest in sorted(Path(packages).glob("*/pulumi-plugin.json")):
        plugin = json.loads(manifest.read_text())
        if plugin.get("resource"):
            yield plugin_pb2.PackageDependency(
                name=plugin["name"], kind="resource", version="v" + plugin["version"].removeprefix("v")
            )


def serve(engine_address: str) -> None:
    """Serve on a free port of the loopback interface, print it, and return when the engine is done."""
    limits = [("grpc.max_receive_message_length", MESSAGE_LIMIT_BYTES), ("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=limits)
    host = PythonLanguageHost(engine_address)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    host.wait()
    server.stop(grace=1).wait()


if __name__ == "__main__":
    serve(sys.argv[-1] if len(sys.argv) > 1 else "")
