"""Stands in for the go command in tests of the builder: as much of it as the builder asks, in milliseconds.

``packages.json`` in the module folder says which modules a package is made of. The environment says the
rest: FAKE_GO_LOG (file that gets a line for each build), FAKE_GO_MODULES (folder of the modules' files),
FAKE_GO_FAIL (package whose build fails), FAKE_GO_FAILURE (what it then prints), FAKE_GO_VERSION.
"""

import json
import os
import re
import sys
from pathlib import Path


def pins(go_mod: str) -> list[dict[str, str]]:
    return [{"Path": p, "Version": v} for p, v in re.findall(r"^\t(\S+) (v\S+)$", go_mod, re.MULTILINE)]


def module(path: str) -> dict[str, str]:
    [pin] = [pin for pin in pins(Path("go.mod").read_text()) if pin["Path"] == path]
    folder = Path(os.environ["FAKE_GO_MODULES"], path)
    return pin | {"Dir": str(folder), "Sum": f"h1:{path}@{pin['Version']}"}


def env(_: list[str]) -> None:
    version, cgo = os.environ.get("FAKE_GO_VERSION", "go1.26.8"), os.environ["CGO_ENABLED"]
    print(json.dumps({"GOVERSION": version, "GOOS": "linux", "GOARCH": "amd64", "CGO_ENABLED": cgo}))


def mod(arguments: list[str]) -> None:
    if arguments[0] == "edit":
        print(json.dumps({"Require": pins(Path(arguments[-1]).read_text()), "Replace": None, "Go": "1.26.0"}))
    else:
        print("\n".join(json.dumps(module(path)) for path in arguments[2:]))


def list_packages(arguments: list[str]) -> None:
    package = arguments[-1]
    own = {"Path": "own", "Main": True, "GoVersion": "1.26.0"}
    if package.startswith("./"):
        print(json.dumps({"ImportPath": f"own/{package[2:]}", "Dir": str(Path(package).absolute()), "Module": own}))
    for path in json.loads(Path("packages.json").read_text())[package]:
        entry = module(path)
        print(json.dumps({"ImportPath": path, "Dir": entry["Dir"], "Module": entry, "Stale": True}))


def build(arguments: list[str]) -> None:
    package = arguments[-1]
    with Path(os.environ["FAKE_GO_LOG"]).open("a") as log:
        log.write(f"{package}\n")
    for path in json.loads(Path("packages.json").read_text())[package]:
        print(path, file=sys.stderr)
    if os.environ.get("FAKE_GO_FAIL") == package:
        sys.exit(os.environ["FAKE_GO_FAILURE"])
    output = Path(arguments[arguments.index("-o") + 1])
    embedded = Path(package, "embedded.json")
    # A program that shows what it was called with, and what it was compiled with.
    output.write_text(
        f'#!/bin/sh\n# {" ".join(arguments)}\n# {embedded.read_text() if embedded.exists() else ""}\necho "$@" > "$4"\n'
    )
    output.chmod(0o755)


{"env": env, "mod": mod, "list": list_packages, "build": build}[sys.argv[1]](sys.argv[2:])
