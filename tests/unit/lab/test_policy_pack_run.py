"""A policy pack that the language host runs: started with the stack, reached through the host."""

from __future__ import annotations

import sys
from pathlib import Path

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from dev.lab.language_host.policy_pack import PolicyPackRun, inherited

PACK = """\
import os, sys, time
from concurrent.futures import ThreadPoolExecutor
import grpc
from pulumi.runtime.proto import AnalyzerServicer, analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

class Pack(AnalyzerServicer):
    def GetPluginInfo(self, request, context):
        stack = os.environ.get("PULUMI_STACK", "none") + os.environ.get("PULUMI_CONFIG", "")
        return plugin_pb2.PluginInfo(version=stack)
    def ConfigureStack(self, request, context):
        return analyzer_pb2.AnalyzerStackConfigureResponse()
    def Analyze(self, request, context):
        context.abort(grpc.StatusCode.INTERNAL, "it broke")

server = grpc.server(ThreadPoolExecutor())
analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Pack(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(port, flush=True)
print("serving", file=sys.stderr, flush=True)
time.sleep(60)
"""


class Engine:
    """What the engine does with a run."""

    def __init__(self, folder: Path, source: str) -> None:
        (folder / "pack.py").write_text(source)
        self.run = PolicyPackRun([sys.executable, "pack.py"], folder, inherited(["LEVEL=high"]))
        self.responses = self.run.responses()
        port = int(next(self.responses).stdout)
        self.pack = analyzer_pb2_grpc.AnalyzerStub(grpc.insecure_channel(f"127.0.0.1:{port}"))


@pytest.fixture
def engine(tmp_path):
    started = Engine(tmp_path, PACK)
    yield started
    started.run.end()
    for _ in started.responses:
        pass


def test_a_pack_gets_the_stack_and_its_configuration_in_its_environment(engine):
    engine.pack.Handshake(analyzer_pb2.AnalyzerHandshakeRequest())
    engine.pack.ConfigureStack(analyzer_pb2.AnalyzerStackConfigureRequest(stack="staging", config={"a:b": "1"}))

    assert engine.pack.GetPluginInfo(empty_pb2.Empty()).version == 'staging{"a:b": "1"}'


def test_a_pack_runs_without_a_stack_if_the_engine_names_none(engine):
    assert engine.pack.GetPluginInfo(empty_pb2.Empty()).version == "none"


def test_an_error_of_the_pack_reaches_the_engine(engine):
    with pytest.raises(grpc.RpcError, match="it broke"):
        engine.pack.Analyze(analyzer_pb2.AnalyzeRequest())


def test_what_a_pack_prints_and_how_it_ends_reaches_the_engine(tmp_path):
    engine = Engine(tmp_path, "import sys; print('no such module', file=sys.stderr); sys.exit(3)")

    with pytest.raises(grpc.RpcError):
        engine.pack.GetPluginInfo(empty_pb2.Empty())

    printed, ended = engine.responses
    assert (printed.stderr, ended.exitcode) == (b"no such module\n", 3)


def test_the_end_of_a_run_ends_the_pack(tmp_path):
    engine = Engine(tmp_path, PACK)
    engine.pack.GetPluginInfo(empty_pb2.Empty())

    engine.run.end()

    *_, ended = engine.responses
    assert ended.exitcode == -15


def test_a_pack_does_not_inherit_the_path_of_the_host(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/lab")

    assert "PYTHONPATH" not in inherited(["LEVEL=high=1"])
    assert inherited(["LEVEL=high=1"])["LEVEL"] == "high=1"
    assert inherited(["PYTHONPATH=/own"])["PYTHONPATH"] == "/own"
