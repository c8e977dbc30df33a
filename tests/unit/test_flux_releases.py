"""The comparison of two Flux releases: what it finds by itself, and what it takes for decided."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from dev.reference.flux_releases import ASPECTS, DECISIONS, Release, app, differences
from tests.support.project import CHECKOUT

OLD, NEW = "1.9.5", "1.10.1"
IDENTITY = "annotation source-controller credential.auth.fluxcd.io"


def definition(kind: str, **fields: Any) -> dict[str, Any]:
    """A definition; a list of names is a list of objects with these fields."""
    properties: dict[str, Any] = {
        name: {"items": {"properties": {each: {} for each in below}}} if below else {} for name, below in fields.items()
    }
    schema = {"properties": {"spec": {"properties": properties}}}
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]
    metadata = {"name": kind.lower()}
    spec = {"names": {"kind": kind}, "versions": versions}
    return {"kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def role(name: str, *verbs: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": list(verbs)}]
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def deployment(version: str) -> dict[str, Any]:
    containers = [{"image": f"ghcr.io/fluxcd/source-controller:v{version}"}]
    spec = {"template": {"spec": {"containers": containers}}}
    return {"kind": "Deployment", "metadata": {"name": "source-controller"}, "spec": spec}


def found(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> dict[str, str]:
    """The state of each undecided difference."""
    all_ = differences(Release("a", old, {}), Release("b", new, {}), {})
    return {each.key: each.state for each in all_ if not each.decision}


def write_sources(folder: Path, version: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / f"source-controller@v{version}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Two versions of a controller, in the words of Flux's sources."""
    gates = 'const (\n\tCache = "CacheSecrets"\n)\n'
    write_sources(
        tmp_path,
        OLD,
        {
            "main.go": 'flag.StringVar(&a, "events-addr", "", "Where.")\nflag.BoolVar(&b, "old-one", false, "")\n',
            "internal/features/features.go": gates,
            "doc.go": "// reconcile.fluxcd.io/requestedAt\n",
            "CHANGELOG.md": "# Changelog\n\n## 1.9.5\n\nFixes.\n",
        },
    )
    breaking = "Breaking change:** the default roles no longer grant tokens. See the docs.\n"
    write_sources(
        tmp_path,
        NEW,
        {
            "main.go": 'flag.StringVar(&a, "events-addr", "", "")\nflag.StringVar(&c, spiffe.FlagBroker, "", "")\n',
            "internal/features/features.go": gates
            + "var retiredFeatures = map[string]string{\n\tauth.FeatureGateObjectIdentity: auth.Reason,\n}\n",
            "doc.go": "// reconcile.fluxcd.io/requestedAt\n",
            "docs/spec.md": "- `credential.auth.fluxcd.io/audiences`: a list\n",
            "CHANGELOG.md": f"# Changelog\n\n## 1.10.0\n\n**{breaking}\n## 1.9.5\n\nFixes.\n",
        },
    )
    return tmp_path


def manifest(folder: Path, *documents: dict[str, Any]) -> str:
    file = folder / f"install-{len(list(folder.glob('install*')))}.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return str(file)


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def test_a_new_field_at_any_depth_is_found_unless_a_policy_lists_it():
    old = [definition("ArtifactGenerator", sources=["kind"])]
    new = [definition("ArtifactGenerator", sources=["kind", "name"], artifacts=["name", "namespace"], unheardOf=[])]

    assert found(old, new) == {
        "field ArtifactGenerator.spec.artifacts[].namespace": "new",
        "field ArtifactGenerator.spec.unheardOf": "new",
    }


def test_kinds_that_tenants_may_not_write_are_found_as_kinds_and_fields_that_are_gone_are_no_danger():
    old = [definition("Bucket", unheardOf=[])]

    assert found(old, [definition("Bucket"), definition("FluxInstance", unheardOf=[])]) == {
        "kind FluxInstance v1": "new"
    }


def test_roles_that_changed_came_or_went_are_found():
    old = [role("same", "get"), role("changed", "get", "create"), role("gone", "get")]
    new = [role("same", "get"), role("changed", "get"), role("came", "get")]

    assert found(old, new) == {
        "role ClusterRole/came": "new",
        "role ClusterRole/changed": "changed",
        "role ClusterRole/gone": "gone",
    }


def test_flags_gates_annotations_and_breaking_changes_are_read_from_the_sources(sources: Path, tmp_path: Path) -> None:
    install = manifest(tmp_path, deployment(OLD))

    code, out, _ = run(install, manifest(tmp_path, deployment(NEW)), "--sources", str(sources))

    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("- ")] == [
        "- new: flag source-controller --FlagBroker: **undecided**",
        "- gone: flag source-controller --old-one: **undecided**",
        "- new: gate source-controller ObjectIdentity (retired): **undecided**",
        f"- new: {IDENTITY}: {DECISIONS[IDENTITY]}",
        "- new: breaking source-controller 1.10.0 (the default roles no longer grant tokens): "
        f"{DECISIONS['breaking source-controller 1.10.0']}",
    ]


def test_controllers_can_be_compared_without_the_rest_of_their_release(sources: Path, tmp_path: Path) -> None:
    crd = sources / f"source-controller@v{NEW}" / "config/crd/bases/a.yaml"
    crd.parent.mkdir(parents=True)
    crd.write_text(yaml.safe_dump(definition("Bucket", unheardOf=[])))
    install = manifest(tmp_path, deployment(OLD), definition("Bucket"))

    code, out, _ = run(install, f"source-controller@{NEW}", "--sources", str(sources))

    assert code == 1
    assert "- new: field Bucket.spec.unheardOf: **undecided**" in out


def test_equal_releases_have_nothing_to_decide_and_what_could_not_be_compared_is_told(tmp_path: Path) -> None:
    install = manifest(tmp_path, deployment(OLD), role("a", "get"))

    code, out, _ = run(install, install)

    assert code == 0
    assert "0 differences, 0 undecided" in out
    assert "Not compared (flag, gate, annotation, breaking), because their sources are not there: source-cont" in out


API = """package v1

type ArtifactGeneratorSpec struct {
\t// Sources is a list.
\t// +required
\tSources []SourceReference `json:"sources"`

\t// +optional
\tManagedNamespaces *ManagedNamespaces `json:"managedNamespaces,omitempty"`
\tsourcev1.OCIRepositorySpec `json:",inline"`
\tCommon `json:",inline"`
}

type SourceReference struct {
\tKind string `json:"kind"`
\tNested []SourceReference `json:"nested,omitempty"`
}

type ManagedNamespaces struct {
\tAllowedNames []string `json:"allowedNames"`
}

type Common struct {
\tLabels map[string]string `json:"labels,omitempty"`
}
"""


def test_fields_are_read_from_the_types_of_an_api_where_the_controller_is_not_there(tmp_path: Path) -> None:
    for version, text in {"v1": API, "v1beta1": API.replace("kind", "obsolete"), "internal": "type a"}.items():
        file = tmp_path / f"source-watcher/api/v2@v2.3.1/{version}/artifactgenerator_types.go"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    old = definition("ArtifactGenerator", sources=["kind"])
    install = manifest(tmp_path, deployment(OLD), old)

    code, out, _ = run(install, "source-watcher@2.3.1", "--sources", str(tmp_path))

    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("- ")] == [
        "- new: field ArtifactGenerator.spec.(sourcev1.OCIRepositorySpec): **undecided**",
        "- new: field ArtifactGenerator.spec.labels: **undecided**",
        "- new: field ArtifactGenerator.spec.managedNamespaces: closed to tenants by the policy allowed-fields",
        "- new: field ArtifactGenerator.spec.sources[].nested: **undecided**",
    ]
    assert "because their sources are not there: source-controller." in out


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("2.9.5", "2.9.4", "is not in the list of releases"),
        ("text", "text", "is not an install manifest"),
        ("empty", "empty", "is not an install manifest"),
        ("install", "source-controller@9.9.9", "there are no sources of"),
        ("install", "another@1.0.0", "there are no sources of"),
        ("install", f"source-controller@{NEW},notification-controller", "there are no sources of"),
        ("install", f"source-controller@{NEW},", "there are no sources of"),
        ("install", "nowhere.yaml", "nowhere.yaml"),
    ],
)
def test_what_cannot_be_read_is_told_with_the_way_out(tmp_path: Path, old: str, new: str, reason: str) -> None:
    (tmp_path / "text").write_text("- a\n")
    (tmp_path / "index.json").write_text(json.dumps([]))
    (tmp_path / "empty").write_text("")
    named = {
        "text": str(tmp_path / "text"),
        "empty": str(tmp_path / "empty"),
        "install": manifest(tmp_path, deployment(OLD)),
    }

    exit_code, _, error = run(named.get(old, old), named.get(new, new), "--flux-index", str(tmp_path / "index.json"))

    assert exit_code == 2
    assert reason in error


def test_a_decision_is_about_an_aspect_of_the_checklist_and_never_about_a_role():
    aspects = {each.name for each in ASPECTS} - {"role"}

    assert {key.split(" ", 1)[0] for key in DECISIONS} <= aspects


def test_the_documented_comparison_has_the_decisions_of_today():
    page = (CHECKOUT / "dev" / "docs" / "flux-releases.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("- new: ") and "--sources" not in line]

    undocumented = [line for line in lines if not any(is_line_of(line, *decision) for decision in DECISIONS.items())]

    assert len(lines) > 10 and undocumented == []


def is_line_of(line: str, key: str, decision: str) -> bool:
    return line.startswith((f"- new: {key}: ", f"- new: {key} (")) and line.endswith(f": {decision}")
