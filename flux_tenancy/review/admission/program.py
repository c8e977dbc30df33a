"""Asks what an API server would answer to requests, without one: the program `offline-admission`, one call at a time.

It is built from the packages of kube-apiserver (`flux_tenancy/admission`), so schemas, defaults and CEL are those of
the pinned Kubernetes; its go.sum pins every module. `go install` cannot build it, since Kubernetes itself needs
`replace` directives in the go.mod.

Source: https://go.dev/ref/mod#go-install
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import flux_tenancy
from flux_tenancy.components.config.errors import present
from flux_tenancy.components.config.messages import Wording
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.project.errors import OperationError

PROGRAM = "offline-admission"
"""Its name."""
SOURCES = Path(flux_tenancy.__file__).parent / "admission"
"""Its Go module."""
COMMAND = "flux-tenancy review build-admission"
_ENVIRONMENT = {"GOFLAGS": "-mod=readonly", "GOWORK": "off", "CGO_ENABLED": "0"}
_FAILED = Wording("FT-REV-305", "{program} was not built: {reason}", "correct it and run `{command}` again")


GENERATED_CLIENTS = tuple(
    f"k8s.io/client-go/{each}" for each in ("applyconfigurations", "informers", "kubernetes", "listers")
)
"""Roots of packages that only call others."""


def compiler_flags(rarely_run: Iterable[str]) -> tuple[str, ...]:
    """Flags of `go build` without debug information, which takes an eighth of the time.

    An installed package may be inside of a project's Git repository, of which the program is to hold nothing.

    Args:
        rarely_run: roots of packages in which nothing is inlined, which takes a quarter of their time.
    """
    return (
        "-trimpath",
        "-buildvcs=false",
        "-gcflags=all=-dwarf=false",
        *(f"-gcflags={root}/...=-dwarf=false -l" for root in rarely_run),
    )


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
        raise OperationError(
            _FAILED(program=PROGRAM, reason=f"neither HOME nor {CACHE_VARIABLE} is set", command=COMMAND)
        )
    if program.is_file():
        return program
    unfinished = program.with_name(f"{PROGRAM}.{os.getpid()}")
    command = [
        "go",
        "build",
        *compiler_flags(GENERATED_CLIENTS),
        "-ldflags",
        linker_flags(),
        "-o",
        str(unfinished),
        ".",
    ]
    try:
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            command, cwd=SOURCES, env={**environ, **_ENVIRONMENT}, check=True, stderr=subprocess.PIPE, text=True
        )
        unfinished.replace(program)
    except FileNotFoundError:
        raise OperationError(_FAILED(program=PROGRAM, reason="Go is not installed", command=COMMAND)) from None
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


ADMISSION_FAILED = Wording("FT-REV-302", "{program} failed: {reason}", f"remove it and run `{COMMAND}`")

VARIABLE = "FLUX_TENANCY_ADMISSION"
"""The environment variable with the path of the program."""
_TIMEOUT_SECONDS = 300
# Go collects garbage whenever the heap has doubled, which is a sixth of the time of a large render. Here it may be four
# times as large as what is in use.
# Source: https://go.dev/doc/gc-guide
_GO = {"GOGC": "300"}


@dataclass(frozen=True)
class User:
    """Who asks.

    Attributes:
        groups: its groups; members of `system:masters` may do everything.
    """

    name: str
    groups: tuple[str, ...] = ()


PLATFORM_USER = User("pulumi", ("system:masters", "system:authenticated"))
"""Who applies a stack."""


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
        object: the object as the request leaves it; None for DELETE.
        old: the object before; None for CREATE, except of a subresource.
        subresource: the part of the object that it is for.
        verbs: what RBAC must let the user do with such an object; empty for no question.
        namespace: that of a namespaced object that names none.
        count: how many such objects quotas count.
    """

    operation: str
    object: Manifest | None
    old: Manifest | None = None
    subresource: str = ""
    user: User = PLATFORM_USER
    verbs: tuple[str, ...] = ()
    namespace: str = ""
    count: int = 1


RBAC, POD_SECURITY, LIMIT_RANGER, QUOTA = "RBAC", "PodSecurity", "LimitRanger", "ResourceQuota"
"""What refuses a request beside policies."""
NO_SCHEMA = "no schema for "
"""How the message about an object of an unknown kind begins."""


@dataclass(frozen=True)
class FieldError:
    """What is wrong with an object.

    Attributes:
        path: the field, e.g. `spec.interval`; empty for the object as a whole.
        message: in the words of Kubernetes.
    """

    path: str
    message: str


@dataclass(frozen=True)
class Objection:
    """A failed validation of a policy.

    Attributes:
        policy: name of the ValidatingAdmissionPolicy, or one of the names below.
        denied: whether the request is refused; otherwise the policy only warns.
        message: the policy's own.
    """

    policy: str
    denied: bool
    message: str


@dataclass(frozen=True)
class Answer:
    """The answer to a request.

    Attributes:
        errors: what is wrong with the object; policies do not see one that is invalid.
        objections: of all policies.
    """

    errors: tuple[FieldError, ...] = ()
    objections: tuple[Objection, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether the object would not be created, or not as it is."""
        return bool(self.errors) or any(each.denied for each in self.objections)


@dataclass(frozen=True)
class Surroundings:
    """What of a cluster the answers depend on.

    Attributes:
        namespaces: Namespaces; any other has neither labels nor annotations.
        access: roles and bindings of Kubernetes, by which policies judge users.
        quotas: ResourceQuotas; what is accepted counts, on top of `status.used`.
    """

    definitions: Sequence[Manifest] = ()
    policies: Sequence[Manifest] = ()
    namespaces: Sequence[Manifest] = ()
    access: Sequence[Manifest] = field(default=())
    quotas: Sequence[Manifest] = ()
    limits: Sequence[Manifest] = ()


def find_program(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The program that answers: the one that a variable names, on PATH, or built before; None if there is none."""
    named = environment.get(VARIABLE) or shutil.which(PROGRAM, path=environment.get("PATH"))
    found = Path(named) if named else built_program(environment)
    return found if found and os.access(found, os.X_OK) else None


def ask(program: Path, surroundings: Surroundings, requests: Iterable[Request]) -> list[Answer]:
    """The answers to requests, in their order; none changes what the next one finds, except for quotas.

    Raises:
        OperationError: the program fails.
    """
    given = {
        "definitions": list(surroundings.definitions),
        "policies": list(surroundings.policies),
        "namespaces": list(surroundings.namespaces),
        "access": list(surroundings.access),
        "quotas": list(surroundings.quotas),
        "limits": list(surroundings.limits),
        "requests": [_as_data(request) for request in requests],
    }
    try:
        done = subprocess.run(
            [program],
            input=json.dumps(given),
            env={**_GO, **os.environ},
            capture_output=True,
            encoding="utf-8",
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperationError(ADMISSION_FAILED(program=program, reason=error)) from None
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0]
        raise OperationError(ADMISSION_FAILED(program=program, reason=reason))
    return [
        Answer(
            tuple(FieldError(each["path"], each["message"]) for each in answer["errors"]),
            tuple(Objection(each["policy"], each["denied"], each["message"]) for each in answer["refusals"]),
        )
        for answer in json.loads(done.stdout)
    ]


def _as_data(request: Request) -> Manifest:
    objects: Manifest = {"object": request.object, "old": request.old}
    if request.verbs:
        objects |= {"verbs": list(request.verbs), "namespace": request.namespace}
    if request.count > 1:
        objects["count"] = request.count
    return {
        "operation": request.operation,
        "subresource": request.subresource,
        "user": request.user.name,
        "groups": list(request.user.groups),
    } | {key: manifest for key, manifest in objects.items() if manifest is not None}


CACHE_VARIABLE = "FLUX_TENANCY_CACHE"


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """The folder; None if neither the variable nor a home folder says where it is."""
    home = environ.get("XDG_CACHE_HOME") or (Path(environ["HOME"], ".cache") if "HOME" in environ else None)
    own = environ.get(CACHE_VARIABLE) or (Path(home, "flux-tenancy") if home else None)
    return Path(own) if own else None
