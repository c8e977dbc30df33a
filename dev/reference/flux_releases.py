"""Compare two Flux releases: what is new in the second that could open something to tenants, or take something away.

    python -m dev.reference.flux_releases 2.9.5 2.9.6 --sources "$(go env GOMODCACHE)/github.com/fluxcd"

`ASPECTS` is the checklist for a new release. Each difference needs a decision: a policy that knows it, or an entry in
`DECISIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from flux_tenancy.components.config.yaml_files import FastLoader
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS, LOCKDOWN_FLAGS
from flux_tenancy.components.installs.flux.release import controller_images
from flux_tenancy.components.policies.policy import PolicyName
from flux_tenancy.components.policies.policy_files import policy_text
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.operations.releases import FLUX_INDEX, flux_releases, read
from flux_tenancy.project.errors import OperationError

_ALLOWED = policy_text(PolicyName.ALLOWED_FIELDS).values
FIELDS: Mapping[str, list[str]] = _ALLOWED["fields"]
"""The fields of `spec` that tenants may set, by kind."""
BELOW: Mapping[str, Mapping[str, list[str]]] = _ALLOWED["below"]
"""The fields that a part of `spec` may have, by kind and path."""
Manifests = Sequence[Mapping[str, Any]]
_DEFINITION = "CustomResourceDefinition"
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_IMAGE = re.compile(r".*/([a-z-]+):v(\d+\.\d+\.\d+)")
_FLAG = re.compile(r'flag\.\w+\(\s*&?\w+,\s*(?:"([\w-]+)"|(?:\w+\.)?(\w+)),')
_GATE = re.compile(r'^\t\w+\s*=\s*"(\w+)"', re.MULTILINE)
_RETIRED = re.compile(r"retiredFeatures = .*?^}", re.MULTILINE | re.DOTALL)
_RETIRED_GATE = re.compile(r"^\t(?:\w+\.FeatureGate)?(\w+):", re.MULTILINE)
_DOMAIN = re.compile(r"\b(?:[a-z0-9-]+\.)+fluxcd\.io\b")
_SECTION = re.compile(r"^## (\d+\.\d+\.\d+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_GO_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_GO_FIELD = re.compile(r'^\t(?:\w+ )?(\S+) `json:"([^",]*)(,[^"]*)?"`', re.MULTILINE)
_API_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")
_BREAKING = re.compile(r"breaking change[:*\s]+(.*?)(?:\.\s|\n\n|\Z)", re.IGNORECASE | re.DOTALL)

_OBJECT_IDENTITY = "until 2.9 set by the multi-tenant profile; from 2.10 on always on (lockdown.yaml)"
_MUTUAL_TLS = "for the platform team: the profile neither sets nor refuses it"
_LOGINS = "closed to tenants by the policy tenant-access"

DECISIONS: Mapping[str, str] = {
    # Flux 2.10
    **{
        f"flag {controller} --{flag}": _MUTUAL_TLS
        for controller, peer in (
            ("kustomize-controller", "ControllerFlagAuthorizedArtifactServerSPIFFEID"),
            ("source-controller", "ControllerFlagAuthorizedArtifactClientSPIFFEID"),
        )
        for flag in (
            peer,
            "ControllerFlagAuthorizedEventServerSPIFFEID",
            "ControllerFlagSPIFFEBrokerEndpoint",
            "ControllerFlagSPIFFEBrokerID",
        )
    },
    "flag kustomize-controller --override-manager-before-dry-run": "for the platform team: it names field managers",
    "gate kustomize-controller DisableCommitStatusEvent": "for the platform team: it sends fewer events",
    "gate kustomize-controller ObjectLevelWorkloadIdentity (retired)": _OBJECT_IDENTITY,
    "gate source-controller ObjectLevelWorkloadIdentity (retired)": _OBJECT_IDENTITY,
    "annotation kustomize-controller credential.auth.fluxcd.io": _LOGINS,
    "annotation kustomize-controller transit-engine.auth.fluxcd.io": _LOGINS,
    "annotation source-controller credential.auth.fluxcd.io": _LOGINS,
    "breaking source-controller 1.10.0": "tokens are granted by name (docs/lockdown.md#controllers-rights)",
    "field ArtifactGenerator.spec.artifacts[].copy[].optional": "open: it only allows that nothing is copied",
    **{
        f"field {path}": "closed to tenants by the policy allowed-fields"
        for path in (
            "ArtifactGenerator.spec.artifacts[].inputsFrom",
            "ArtifactGenerator.spec.artifacts[].namespace",
            "ArtifactGenerator.spec.managedNamespaces",
            "ArtifactGenerator.spec.serviceAccountName",
            "HelmRelease.spec.chart.kind",
            "HelmRelease.spec.chart.spec.(sourcev1.OCIRepositorySpec)",
        )
    },
}
"""The decision by the key of the difference: which table, policy or page takes care of it.

A changed role has no entry: the next change would pass with it.
"""


class UnreadableError(Exception):
    """A release cannot be read as it is named."""


@dataclass(frozen=True)
class Release:
    """What a release has.

    Attributes:
        title: what it is called.
        manifests: its objects, or the definitions of some controllers.
        versions: the versions of its controllers.
        sources: folders with the sources of its controllers, as far as they are there.
        types: definitions that were read from the types of an API, for controllers without sources.
    """

    title: str
    manifests: Manifests
    versions: Mapping[str, str]
    sources: Mapping[str, Path] = field(default_factory=dict)
    types: Manifests = ()


@dataclass(frozen=True)
class Aspect:
    """One thing to look at in every release.

    Attributes:
        name: what differs, as the keys of decisions begin.
        question: what to decide.
        find: all that a release has of it, by key, with a value that shows whether it is the same.
        needs_sources: whether it is read from the sources of the controllers.
        shows_gone: whether to show what the second release does not have any more.
    """

    name: str
    question: str
    find: Callable[[Release], Mapping[str, object]]
    needs_sources: bool = False
    shows_gone: bool = True


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes:
        key: aspect and name, e.g. `field ArtifactGenerator.spec.artifacts[].namespace`.
        state: `new`, `gone` or `changed`.
        decision: what was decided about it; empty if nothing was.
        detail: what it says, for those of which the name is not enough.
    """

    key: str
    state: str
    decision: str
    detail: str = ""


def _flags(release: Release) -> dict[str, object]:
    return {
        f"{controller} --{found[1] or found[2]}": ""
        for controller, folder in release.sources.items()
        for file in ("main.go", "cmd/main.go")
        for found in _FLAG.finditer(_text(folder / file))
    }


def _gates(release: Release) -> dict[str, object]:
    found: dict[str, object] = {}
    for controller, folder in release.sources.items():
        text = _text(folder / "internal/features/features.go")
        retired = _RETIRED.search(text)
        gone = _RETIRED_GATE.findall(retired[0]) if retired else []
        found |= {f"{controller} {gate}": "" for gate in _GATE.findall(text) if gate not in gone}
        found |= {f"{controller} {gate} (retired)": "" for gate in gone}
    return found


def _annotations(release: Release) -> dict[str, object]:
    """The domains of annotations, labels and finalizers, wherever a controller's sources and documents name one."""
    return {
        f"{controller} {domain}": ""
        for controller, folder in release.sources.items()
        for file in sorted((*folder.rglob("*.go"), *folder.rglob("*.md")))
        for domain in _DOMAIN.findall(_text(file))
    }


def _breaking(release: Release) -> dict[str, object]:
    return {
        f"{controller} {section[1]}": " ".join(found[1].split())
        for controller, folder in release.sources.items()
        for section in _SECTION.finditer(_text(folder / "CHANGELOG.md"))
        for found in _BREAKING.finditer(section[2])
    }


def _fields(release: Release) -> dict[str, object]:
    """The fields of `spec` at any depth, of the kinds that tenants may write, e.g. `Alert.spec.eventSources[].name`."""
    return {
        f"{kind}.spec.{path}": ""
        for manifest in (*release.manifests, *release.types)
        if manifest["kind"] == _DEFINITION and (kind := manifest["spec"]["names"]["kind"]) in FIELDS
        for version in manifest["spec"]["versions"]
        for path in _paths(version["schema"]["openAPIV3Schema"].get("properties", {}).get("spec", {}))
    }


def _paths(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, below in schema.get("properties", {}).items():
        yield name
        yield from (f"{name}.{path}" for path in _paths(below))
        yield from (f"{name}[].{path}" for path in _paths(below.get("items", {})))


def _roles(release: Release) -> dict[str, object]:
    return {
        f"{manifest['kind']}/{manifest['metadata']['name']}": manifest.get("rules", [])
        for manifest in release.manifests
        if manifest["kind"] in ("ClusterRole", "Role")
    }


def _kinds(release: Release) -> dict[str, object]:
    return {
        f"{manifest['spec']['names']['kind']} {version['name']}": ""
        for manifest in release.manifests
        if manifest["kind"] == _DEFINITION
        for version in manifest["spec"]["versions"]
        if version.get("served", True)
    }


ASPECTS = (
    Aspect("flag", "does it belong to the lockdown, or must it be refused?", _flags, needs_sources=True),
    Aspect("gate", "does the profile set it, or must it be refused?", _gates, needs_sources=True),
    Aspect("kind", "may tenants write it, and does the stack use this version of it?", _kinds),
    Aspect("field", "may tenants set it, and which policy checks its value?", _fields, shows_gone=False),
    Aspect("role", "do the controllers get a right that they do not need, or lose one that they need?", _roles),
    Aspect("annotation", "what can a tenant select with it?", _annotations, needs_sources=True, shows_gone=False),
    Aspect("breaking", "what of a stack does it break?", _breaking, needs_sources=True, shows_gone=False),
)
"""What to look at in every release of Flux."""


def differences(old: Release, new: Release, decisions: Mapping[str, str] = DECISIONS) -> list[Difference]:
    """What differs between two releases, aspect by aspect; controllers whose sources one of them lacks are left out.

    Args:
        old, new: the releases.
        decisions: what was decided, by the key of the difference.
    """
    both = old.sources.keys() & new.sources.keys()
    old, new = (replace(each, sources={name: each.sources[name] for name in both}) for each in (old, new))
    return [each for aspect in ASPECTS for each in _of_aspect(aspect, old, new, decisions)]


def _of_aspect(aspect: Aspect, old: Release, new: Release, decisions: Mapping[str, str]) -> Iterator[Difference]:
    before, after = aspect.find(old), aspect.find(new)
    for name in sorted(before.keys() | after.keys()):
        if name in before and name in after and before[name] == after[name]:
            continue
        state = "new" if name not in before else "gone" if name not in after else "changed"
        if state == "gone" and not aspect.shows_gone:
            continue
        around = name.rpartition(".")[0].removesuffix("[]")
        # What is inside of something new needs no decision of its own, unless a policy opens that.
        if around in after.keys() - before.keys() and not _known(aspect.name, around, state):
            continue
        key = f"{aspect.name} {name}"
        detail = after.get(name)
        decision = decisions.get(key) or _known(aspect.name, name, state)
        yield Difference(key, state, decision, detail if isinstance(detail, str) else "")


def _known(aspect: str, name: str, state: str) -> str:
    """What the tables of this program already say about a difference; empty if nothing."""
    flag = name.rpartition("--")[2]
    if aspect == "flag" and flag in FORBIDDEN_FLAGS:
        return "refused in flux.extraArgs"
    if aspect == "flag" and state == "new" and flag in {each.name for each in LOCKDOWN_FLAGS}:
        return "set by the multi-tenant profile"
    if aspect == "field":
        kind, path = name.split(".spec.", 1)
        part, _, field_name = path.rpartition(".")
        if field_name in (BELOW.get(kind, {}).get(part, ()) if part else FIELDS[kind]):
            return "open, and listed in the policy allowed-fields"
    return ""


def compare_releases(old: str, new: str, sources: Path | None = None, flux_index: str = "") -> tuple[str, bool]:
    """A report in Markdown about the differences of two releases, and whether all of them are decided.

    Args:
        old: version, or file with an install manifest.
        new: the same; or controllers with their versions, e.g. `source-controller@1.10.1`, that replace those of `old`.
        sources: folder with the sources of controllers as Go's module cache has them, e.g. `source-controller@v1.10.1`.
        flux_index: list of Flux releases, as GitHub's API has it; by default, that of GitHub.

    Raises:
        UnreadableError, OperationError: a release or the sources of a named controller cannot be read.
    """
    before = _release(old, sources, flux_index)
    after = _with_controllers(before, new, sources) if "@" in new else _release(new, sources, flux_index)
    found = differences(before, after)
    undecided = [each for each in found if not each.decision]
    lines = [f"### Flux {before.title} → {after.title}: {_counted(found)}, {len(undecided)} undecided", ""]
    for aspect in ASPECTS:
        own = [each for each in found if each.key.split(" ", 1)[0] == aspect.name]
        lines += [*map(_line, own)]
        if any(not each.decision for each in own):
            lines.append(f"  Decide for each {aspect.name}: {aspect.question}")
    lines += _not_compared(before, after)
    return "\n".join(lines), not undecided


def _counted(found: Sequence[Difference]) -> str:
    return "1 difference" if len(found) == 1 else f"{len(found)} differences"


def _line(each: Difference) -> str:
    detail = f" ({each.detail})" if each.detail else ""
    return f"- {each.state}: {each.key}{detail}: {each.decision or '**undecided**'}"


def _not_compared(old: Release, new: Release) -> Iterator[str]:
    missing = sorted(old.versions.keys() - (old.sources.keys() & new.sources.keys()))
    aspects = ", ".join(each.name for each in ASPECTS if each.needs_sources)
    if missing:
        yield f"\nNot compared ({aspects}), because their sources are not there: {', '.join(missing)}."
    if same := sorted(name for name in old.versions if old.versions[name] == new.versions.get(name)):
        yield f"\nUnchanged: {', '.join(same)}."


def _release(named: str, sources: Path | None, flux_index: str) -> Release:
    address = named
    if _VERSION.fullmatch(named):
        found = next((each for each in flux_releases(flux_index or FLUX_INDEX) if each.version == named), None)
        if found is None:
            raise UnreadableError(f"Flux {named} is not in the list of releases; name its install manifest")
        # Computing it compares it with the one that is published.
        _ = found.sha256
        address = found.file
    manifests = _manifests(read(address), address)
    images = filter(None, map(_IMAGE.fullmatch, controller_images(manifests)))
    versions = {image[1]: image[2] for image in images}
    return Release(named, manifests, versions, _sources(versions, sources))


def _manifests(content: bytes, address: str) -> list[dict[str, Any]]:
    try:
        found = [each for each in yaml.load_all(content, FastLoader) if each]
    except yaml.YAMLError:
        found = [None]
    if not found or not all(isinstance(each, dict) and {"kind", "metadata"} <= each.keys() for each in found):
        raise UnreadableError(f"{address} is not an install manifest of Flux; name the install.yaml of a release")
    return found


def _with_controllers(old: Release, named: str, sources: Path | None) -> Release:
    """The old release with other versions of some controllers; of their objects, with the new definitions."""
    parts = (each.strip().partition("@") for each in named.split(","))
    versions = {name: version for name, _, version in parts}
    found = _sources(versions, sources)
    apis = _folders(versions.keys() - found.keys(), versions, sources, "/api")
    unknown = sorted(versions.keys() - {each.value for each in Controller})
    if unknown or (missing := sorted(versions.keys() - found.keys() - apis.keys())):
        named = ", ".join(map(repr, unknown or missing))
        raise UnreadableError(f"there are no sources of {named} in {sources or 'any folder'}; name it with --sources")
    definitions = [
        manifest
        for folder in found.values()
        for file in sorted((folder / "config/crd/bases").glob("*.yaml"))
        for manifest in _manifests(file.read_bytes(), str(file))
    ]
    replaced = {each["metadata"]["name"] for each in definitions}
    kept = [each for each in old.manifests if each["metadata"]["name"] not in replaced]
    types = [each for name in sorted(apis) for each in _read_definitions(apis[name], FIELDS)]
    own = {name: each for name, each in old.sources.items() if name not in apis}
    return Release(named, [*kept, *definitions], {**old.versions, **versions}, {**own, **found}, types)


def _sources(versions: Mapping[str, str], folder: Path | None) -> dict[str, Path]:
    return _folders(versions, versions, folder)


def _folders(
    names: Iterable[str], versions: Mapping[str, str], folder: Path | None, module: str = ""
) -> dict[str, Path]:
    """The folders with these versions of controllers; a module of a later major version is one folder deeper."""
    found: dict[str, Path] = {}
    for name in names if folder is not None else ():
        version = versions[name]
        major = version.split(".", 1)[0]
        for path in (f"{name}{module}@v{version}", f"{name}{module}/v{major}@v{version}"):
            if folder is not None and (folder / path).is_dir():
                found[name] = folder / path
    return found


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _read_definitions(api: Path, kinds: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The definitions of some kinds with the properties of their `spec`, each in the version that clients prefer.

    They are read from the Go types of a controller's API, which is a module of its own and is published also where the
    controller's is not; CustomResourceDefinitions are generated from them.
    Source: https://book.kubebuilder.io/reference/markers/crd

    A struct of another package that is inlined is one property with its name in parentheses.

    Args:
        api: folder of the API's module, with a folder for each version.
        kinds: the kinds to look for.
    """
    versions = sorted((each for each in api.iterdir() if _API_VERSION.fullmatch(each.name)), key=_priority)
    found: dict[str, dict[str, Any]] = {}
    for structs in map(_structs, versions):
        found |= {kind: _go_schema(structs, f"{kind}Spec", ()) for kind in kinds if f"{kind}Spec" in structs}
    return [
        {
            "kind": "CustomResourceDefinition",
            "spec": {
                "names": {"kind": kind},
                "versions": [{"schema": {"openAPIV3Schema": {"properties": {"spec": schema}}}}],
            },
        }
        for kind, schema in found.items()
    ]


def _priority(version: Path) -> tuple[bool, str]:
    """Stable versions come last.

    Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    found = _API_VERSION.fullmatch(version.name)
    return found is not None and found[1] is None, version.name


def _structs(folder: Path) -> dict[str, str]:
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("*_types.go")))
    return {found[1]: found[2] for text in texts for found in _GO_STRUCT.finditer(text)}


def _go_schema(structs: Mapping[str, str], name: str, inside: tuple[str, ...]) -> dict[str, Any]:
    """The schema of a struct; without properties for one of another package, and for one that contains itself."""
    properties: dict[str, Any] = {}
    for type_, key, options in _GO_FIELD.findall(structs[name]) if name in structs and name not in inside else ():
        element = type_.removeprefix("[]").removeprefix("*")
        below = _go_schema(structs, element, (*inside, name))
        if key:
            properties[key] = {"items": below} if type_.startswith("[]") else below
        elif "inline" in options:
            properties |= below.get("properties", {}) if element in structs else {f"({element})": {}}
    return {"properties": properties} if properties else {}


app = typer.Typer()


@app.command()
def main(
    old: Annotated[str, typer.Argument(help="Version, or file of an install manifest.")],
    new: Annotated[
        str,
        typer.Argument(
            help="The same; or controllers of Flux with their versions, such as source-controller@1.10.1, separated by "
            "commas, that replace those of the old release."
        ),
    ],
    sources: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the sources of Flux's controllers, or of their APIs, as Go's module cache has them in "
            "github.com/fluxcd. Without it, flags, feature gates and annotations are not compared."
        ),
    ] = None,
    flux_index: Annotated[
        str, typer.Option(help="URL or file with a list of Flux releases, by default GitHub's.")
    ] = "",
) -> None:
    """Compare two Flux releases; exits with 1 if a difference is neither known to a policy nor decided."""
    try:
        report, decided = compare_releases(old, new, sources, flux_index)
    except (UnreadableError, OperationError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    typer.echo(report)
    if not decided:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
