"""Builds `offline-admission` from its sources in the product, whose go.sum pins every module.

`go install` cannot build them, since Kubernetes itself needs `replace` directives in the go.mod.

Source: https://go.dev/ref/mod#go-install
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import flux_tenancy
from flux_tenancy.components.config.invariants import present
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.project.cache import VARIABLE, cache_folder
from flux_tenancy.project.errors import OperationError

PROGRAM = "offline-admission"
"""Its name."""
SOURCES = Path(flux_tenancy.__file__).parent / "admission"
"""Its Go module."""
COMMAND = "flux-tenancy review build-admission"
# An installed package may be inside of a project's Git repository. Debug information takes an eighth of the time.
_FLAGS = ("-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false")
_ENVIRONMENT = {"GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}
_FAILED = Wording("FT-REV-305", "{program} was not built: {reason}", "correct it and run `{command}` again")


def built_program(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Where the program of these sources is, whether or not it is built; None if there is no folder for caches."""
    own = cache_folder(environ)
    return own / "admission" / _digest()[:16] / PROGRAM if own else None


def build_admission(environ: Mapping[str, str] = os.environ) -> Path:
    """Build the program, unless it is built; returns its path.

    Raises:
        OperationError: Go is missing or too old, or a module cannot be downloaded.
    """
    program = built_program(environ)
    if program is None:
        raise OperationError(_FAILED(program=PROGRAM, reason=f"neither HOME nor {VARIABLE} is set", command=COMMAND))
    if program.is_file():
        return program
    unfinished = program.with_name(f"{PROGRAM}.{os.getpid()}")
    command = ["go", "build", *_FLAGS, "-ldflags", linker_flags(), "-o", str(unfinished), "."]
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            command, cwd=SOURCES, env={**environ, **_ENVIRONMENT}, check=True, stderr=subprocess.PIPE, text=True
        )
        unfinished.replace(program)
    except FileNotFoundError:
        raise OperationError(
            Message("FT-REV-304", f"Go is not installed, and builds {PROGRAM}", f"install Go and run `{COMMAND}` again")
        ) from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or [str(error)])[-1]
        raise OperationError(_FAILED(program=PROGRAM, reason=reason, command=COMMAND)) from None
    except OSError as error:
        raise OperationError(_FAILED(program=PROGRAM, reason=error, command=COMMAND)) from None
    return program


def linker_flags() -> str:
    """What makes the program answer as its version of Kubernetes; without, it would be an unknown one."""
    version = kubernetes_version()
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    fields = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return " ".join(["-s", "-w", *(f"-X {package}.{key}={value}" for key, value in fields.items())])


def kubernetes_version() -> str:
    """The version of Kubernetes as which it answers, e.g. `1.37.2`."""
    found = re.search(r"^\tk8s\.io/kubernetes v(\S+)$", (SOURCES / "go.mod").read_text(), re.MULTILINE)
    return present(found, "the program is built from this module")[1]


@cache
def _digest() -> str:
    digests = (hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(SOURCES.iterdir()))
    return hashlib.sha256("".join(digests).encode()).hexdigest()
