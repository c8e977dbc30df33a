"""Stands in for the go command in tests of the builder: the part that the builder uses, in milliseconds.

``packages.json`` in the module folder says which modules a package is made of; a replaced one is the folder that
stands in for it. The environment says the rest:

FAKE_GO_LOG: file that gets a line for each build.
FAKE_GO_MODULES: folder of the modules' files.
FAKE_GO_COMPILED: packages that are compiled already.
FAKE_GO_WAITS: by "compile" or "link" and a package, a pattern of the file that this step waits for.
FAKE_GO_SECONDS: how long each of these steps lasts.
FAKE_GO_FAIL, FAKE_GO_FAILURE: package whose linking fails, and what is printed then.
FAKE_GO_VERSION: version of Go.
FAKE_GO_VET: what go vet reports.
"""

import json
import os
import re
import sys
import time
from pathlib import Path


def pins(go_mod: str) -> list[dict[str, str]]:
    return [{"Path": p, "Version": v} for p, v in re.findall(r"^\t(\S+) (v\S+)$", go_mod, re.MULTILINE)]


def module(path: str) -> dict[str, str]:
    [pin] = [pin for pin in pins(Path("go.mod").read_text()) if pin["Path"] == path]
    folder = Path(os.environ["FAKE_GO_MODULES"], path)
    return pin | {"Dir": str(folder), "Sum": f"h1:{path}@{pin['Version']}"}


def replaced() -> dict[str, str]:
    return dict(re.findall(r"^replace (\S+) => (\S+)$", Path("go.mod").read_text(), re.MULTILINE))


def env(_: list[str]) -> None:
    version, cgo = os.environ.get("FAKE_GO_VERSION", "go1.26.8"), os.environ["CGO_ENABLED"]
    print(json.dumps({"GOVERSION": version, "GOOS": "linux", "GOARCH": "amd64", "CGO_ENABLED": cgo}))


def mod(arguments: list[str]) -> None:
    if arguments[1].startswith("-replace="):
        path, folder = arguments[1].removeprefix("-replace=").split("=")
        with Path("go.mod").open("a") as go_mod:
            go_mod.write(f"replace {path} => {folder}\n")
    elif arguments[0] == "edit":
        print(json.dumps({"Require": pins(Path(arguments[-1]).read_text()), "Replace": None, "Go": "1.26.0"}))
    else:
        print("\n".join(json.dumps(module(path)) for path in arguments[2:]))


def list_packages(arguments: list[str]) -> None:
    package = arguments[-1]
    own = {"Path": "own", "Main": True, "GoVersion": "1.26.0"}
    contained = json.loads(Path("packages.json").read_text())[package]
    for path in contained:
        pinned = module(path)
        folder, entry = pinned["Dir"], dict[str, object](pinned)
        if path in replaced():
            folder = str(Path(replaced()[path]).absolute())
            entry = {"Path": path, "Version": pinned["Version"], "Replace": {"Path": replaced()[path]}}
        print(json.dumps({"ImportPath": path, "Dir": folder, "Module": entry}))
    if package.startswith("./"):
        print(json.dumps({"ImportPath": main(package), "Dir": str(Path(package).absolute()), "Module": own}))


def main(package: str) -> str:
    return f"own/{package[2:]}" if package.startswith("./") else package


def wait(step: str, package: str) -> None:
    pattern = json.loads(os.environ.get("FAKE_GO_WAITS", "{}")).get(f"{step} {package}")
    time.sleep(float(os.environ.get("FAKE_GO_SECONDS", "0")))
    end = time.monotonic() + 20
    while pattern and not list(Path("/").glob(pattern.removeprefix("/"))):
        if time.monotonic() > end:
            sys.exit(f"there is no {pattern}")
        time.sleep(0.01)


def build(arguments: list[str]) -> None:
    package = arguments[-1]
    with Path(os.environ["FAKE_GO_LOG"]).open("a") as log:
        log.write(f"{package}\n")
    compiling = Path(os.environ["GOTMPDIR"], "compiling")
    compiling.touch(exist_ok=False)  # An error if two compile at the same time.
    for path in json.loads(Path("packages.json").read_text())[package]:
        if path not in [main(package), *os.environ.get("FAKE_GO_COMPILED", "").split()]:
            print(path, file=sys.stderr, flush=True)
    wait("compile", package)
    compiling.unlink()
    print(main(package), file=sys.stderr, flush=True)
    wait("link", package)
    if os.environ.get("FAKE_GO_FAIL") == package:
        sys.exit(os.environ["FAKE_GO_FAILURE"])
    output = Path(arguments[arguments.index("-o") + 1])
    used = [Path(package, "embedded.json")]
    for folder in replaced().values():
        used += Path(folder).rglob("*")
    comments = "".join(f"# {file}: {file.read_text()}\n" for file in sorted(used) if file.is_file())
    # A program that prints its arguments, and what it was compiled from.
    output.write_text(f'#!/bin/sh\n# {" ".join(arguments)}\n{comments}echo "$@" > "$4"\n')
    output.chmod(0o755)


def vet(_: list[str]) -> None:
    sys.exit(os.environ.get("FAKE_GO_VET"))


{"env": env, "mod": mod, "list": list_packages, "build": build, "vet": vet}[sys.argv[1]](sys.argv[2:])
