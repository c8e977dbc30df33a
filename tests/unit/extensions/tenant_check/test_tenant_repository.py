"""What is read of a repository, and what is said of what is not rendered."""

from __future__ import annotations

import pytest

from flux_tenancy.extensions.tenant_check.manifests import read_repository
from flux_tenancy.project.errors import OperationError

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"
SYNCS = [
    {"kind": "Kustomization", "metadata": {"name": name}, "spec": {"path": "./app", "sourceRef": {"name": source}}}
    for name, source in (("own", "own"), ("more", "own"), ("other", "elsewhere"))
]
# Says what it has been given, as the object that it renders.
FLATE = """#!/bin/sh
echo "apiVersion: v1"
echo "kind: ConfigMap"
echo "metadata: {name: rendered}"
echo "data: {arguments: '$1 $2 $3 $5 $6', app: '$(cat "$4/app/a.yaml" | tail -1)'}"
echo "---"
cat "$4/flux-tenancy-platform/syncs.yaml"
"""


@pytest.fixture(autouse=True)
def path(tmp_path, monkeypatch):
    """A PATH without flate, except where a test puts one there."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path / "bin"


def repository(folder, **files):
    for name, text in files.items():
        file = folder / "repository" / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".yaml").write_text(text)
    return folder / "repository"


def names(found):
    return [(each.manifest["metadata"]["name"], each.file, each.line) for each in found.objects]


def test_each_document_of_each_file_is_an_object(tmp_path):
    many = f"# first\n{CONFIG_MAP % 'a'}---\n{CONFIG_MAP % 'b'}---\napiVersion: v1\nkind: List\nitems: [%s]\n"
    item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}"
    folder = repository(tmp_path, app__many=many % item, values="a: 1\n", **{".hidden__a": CONFIG_MAP % "hidden"})

    found = read_repository(folder, SYNCS)

    assert names(found) == [("a", "app/many.yaml", 2), ("b", "app/many.yaml", 6), ("c", "app/many.yaml", 10)]
    assert found.unrendered == []


def test_what_only_flux_renders_is_named(tmp_path):
    release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n"
    folder = repository(
        tmp_path,
        app__kustomization="resources: [release.yaml]\n",
        app__release=release,
        charts__web__Chart="name: web\n",
        charts__web__templates__all="{{ not yaml\n",
    )

    found = read_repository(folder, SYNCS)

    assert names(found) == [("web", "app/release.yaml", 1)]
    assert found.unrendered == [
        "charts/web: a chart",
        "app/kustomization.yaml: Kustomize's patches and generators",
        "app/release.yaml: the chart of HelmRelease web",
    ]


def test_flate_renders_a_copy_with_the_syncs_of_this_repository(tmp_path, path):
    (path / "flate").write_text(FLATE)
    (path / "flate").chmod(0o755)
    folder = repository(tmp_path, app__a="first: 1\nlast: 2\n")

    found = read_repository(folder, SYNCS)

    rendered, *syncs = found.objects
    assert rendered.manifest["data"] == {
        "arguments": "build all --path --skip-secrets=false --skip-crds=false",
        "app": "last: 2",
    }
    assert [each.manifest["metadata"]["name"] for each in syncs] == ["own", "more"]
    assert sorted(each.name for each in folder.iterdir()) == ["app"]
    assert names(read_repository(folder, SYNCS, render=False)) == []


def test_an_error_of_flate_is_shown(tmp_path, path):
    (path / "flate").write_text("#!/bin/sh\necho 'no chart\nfor web' >&2\nexit 1\n")
    (path / "flate").chmod(0o755)

    with pytest.raises(OperationError, match="no chart for web"):
        read_repository(repository(tmp_path, app__a="a: 1\n"), SYNCS)


@pytest.mark.parametrize(("text", "reason"), [("a: [\n", "line 2: "), ("a: 1\na: 2\n", "line 2: duplicate key 'a'")])
def test_a_file_that_is_no_yaml_is_named_with_its_line(tmp_path, text, reason):
    with pytest.raises(OperationError) as raised:
        read_repository(repository(tmp_path, bad=text), SYNCS)

    assert "bad.yaml cannot be read: " in raised.value.report and reason in raised.value.report


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(OperationError, match="missing.yaml cannot be read: No such file"):
        read_repository(tmp_path / "missing.yaml", SYNCS)
