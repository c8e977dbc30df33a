"""One run of a Pulumi program: a `RunRequest` comes on standard input, the `RunResponse` goes to a descriptor."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from pathlib import Path

from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2


def run(request: language_pb2.RunRequest) -> language_pb2.RunResponse:
    """Run the program in this process.

    The SDK has already reported errors as diagnostics, so the response asks the engine to bail out without another
    message.
    """
    directory = request.info.program_directory or request.pwd
    entry_point = str(Path(directory, request.info.entry_point or request.program))
    sys.path.insert(0, directory)
    sys.argv[1:] = []

    def program() -> None:
        runpy.run_path(entry_point, run_name="__main__")

    response = LanguageServer(program).Run(request, None)
    return language_pb2.RunResponse(bail=bool(response.error))


if __name__ == "__main__":
    # The engine cancels with an interrupt and reports it; a traceback would only hide that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    answer = int(sys.argv[1])
    response = run(language_pb2.RunRequest.FromString(sys.stdin.buffer.read()))
    with os.fdopen(answer, "wb") as stream:
        stream.write(response.SerializeToString())
