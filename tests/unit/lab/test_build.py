"""The builder, with a Go command that only records its arguments: what is built when, and which errors occur."""

from __future__ import annotations

import hashlib
import io
import json
import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from builder_project import BuilderProject, make_project
from rich.console import Console

from dev.lab import build, build_key
from dev.lab.build_lock import build_lock
from dev.lab.errors import LabError
from dev.lab.go_command import Go
from dev.lab.progress import BuildProgress
from dev.lab.tools_table import Purpose
from dev.lab.vet import vet

BOTH = ["alpha", "beta"]
ALPHA, BETA = "example.org/alpha", "./beta"


@pytest.fixture
def builder_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuilderProject:
    """A separate checkout, and on PATH a Go command that returns in milliseconds."""
    programs = tmp_path / "bin"
    programs.mkdir()
    fake = Path(__file__).with_name("fake_go.py").read_text()
    (programs / "go").write_text(f"#!{sys.executable} -SE\n{fake}")
    (programs / "go").chmod(0o755)
    for name in ("alpha", "shared", "files"):
        (tmp_path / "modules/example.org" / name).mkdir(parents=True)
    project = make_project(tmp_path)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setenv("FAKE_GO_LOG", str(project.build_log))
    monkeypatch.setenv("FAKE_GO_MODULES", str(tmp_path / "modules"))
    return project


def test_missing_tools_are_built_once_and_never_compiled_at_the_same_time(
    builder_project: BuilderProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_GO_SECONDS", "0.5")
    first = build.ensure(builder_project.settings, BOTH)
    assert builder_project.builds() == [ALPHA, BETA]
    assert all(os.access(file, os.X_OK) for file in first.values())
    assert "[2/2] beta: ready" in capsys.readouterr().err

    assert build.ensure(builder_project.settings, BOTH) == first
    assert builder_project.builds() == []
    assert capsys.readouterr().err == "", "what is finished is not looked at again"


def _rebuilt(project: BuilderProject, change: Callable[[], object]) -> list[str]:
    """What is built of both tools after a change."""
    build.ensure(project.settings, BOTH)
    project.builds()
    change()
    build.ensure(project.settings, BOTH)
    return project.builds()


@pytest.mark.parametrize(
    ("change", "rebuilt"),
    [
        (lambda project: project.pin(alpha="v1.2.4"), [ALPHA]),
        (lambda project: project.pin(shared="v1.0.1"), [ALPHA, BETA]),
        (lambda project: project.pin(files="v1.0.1"), []),
        (lambda project: (project.module / "beta/main.go").write_text("package main // changed\n"), [BETA]),
        (lambda project: project.change_tool("alpha", ldflags="-X main.version=2"), [ALPHA]),
        (lambda project: project.change_tool("alpha", room={"compiled": 1, "kept": 1}), []),
    ],
    ids=["its pin", "a shared pin", "a pin of none", "its source", "its linker flags", "its room"],
)
def test_a_change_rebuilds_only_the_tools_that_contain_it(
    builder_project: BuilderProject, change: Callable[[BuilderProject], object], rebuilt: list[str]
) -> None:
    assert _rebuilt(builder_project, lambda: change(builder_project)) == rebuilt


def test_other_flags_of_the_compiler_and_another_go_version_rebuild_everything(
    builder_project: BuilderProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = _rebuilt(builder_project, lambda: monkeypatch.setattr(build_key, "COMPILED_ALIKE", ()))
    version = _rebuilt(builder_project, lambda: monkeypatch.setenv("FAKE_GO_VERSION", "go1.26.9"))
    assert flags == version == [ALPHA, BETA]


def test_older_builds_are_deleted(builder_project: BuilderProject) -> None:
    paths: list[Any] = []
    for patch in range(3):
        builder_project.pin(alpha=f"v1.2.{patch}")
        paths += build.ensure(builder_project.settings, ["alpha"]).values()
    assert [path.exists() for path in paths] == [False, True, True]


@pytest.mark.parametrize(
    ("first_needed", "needed"),
    [
        ("up", {"up": BOTH, "test": BOTH, "test-all": BOTH}),
        ("test", {"up": ["alpha"], "test": BOTH, "test-all": BOTH}),
        ("test-all", {"up": ["alpha"], "test": ["alpha"], "test-all": BOTH}),
    ],
)
def test_a_purpose_includes_the_tools_of_those_before_it(
    builder_project: BuilderProject, first_needed: Purpose, needed: dict[Purpose, list[str]]
) -> None:
    builder_project.change_tool("beta", purpose=first_needed)
    assert {purpose: build.tools_for(builder_project.settings, purpose) for purpose in needed} == needed


def test_copied_files_are_compiled_and_the_checkout_is_not_changed(builder_project: BuilderProject) -> None:
    _module_file("files", "data/embedded.json").write_text("embedded!")
    builder_project.change_tool("beta", copies=[{"module": "example.org/files", "paths": ["data/embedded.json"]}])
    before = _names(builder_project.settings.project)
    tools = build.ensure(builder_project.settings, ["beta"])
    assert "# beta/embedded.json: embedded!" in tools["beta"].read_text()
    assert _names(builder_project.settings.project) == before


@pytest.fixture
def trimmed(builder_project: BuilderProject) -> None:
    """The lab's replacement of a file of ``shared``, of which alpha contains only a part."""
    for name in ("go.mod", "kept/upstream.go", "kept/kinds.go", "dropped/large.go", "dropped/below/larger.go"):
        _module_file("shared", name).write_text(f"shared's {name}")
    _module_file("shared", "kept/upstream.go").chmod(0o444)
    own = builder_project.module / "_shared/kept/kinds.go"
    own.parent.mkdir(parents=True)
    own.write_text("the lab's kinds.go")
    trim = {"module": "example.org/shared", "folder": "_shared", "omit": ["dropped/*", "kept/k*.go"]}
    builder_project.change_tool("alpha", trims=[trim])


@pytest.mark.usefixtures("trimmed")
def test_a_trimmed_module_has_the_labs_files_and_none_that_is_omitted(builder_project: BuilderProject) -> None:
    before = _contents(builder_project.settings.project)
    program = build.ensure(builder_project.settings, ["alpha"])["alpha"]
    assert [line for line in program.read_text().splitlines() if "_changed/" in line] == [
        "# _changed/example.org/shared/go.mod: shared's go.mod",
        "# _changed/example.org/shared/kept/kinds.go: the lab's kinds.go",
        "# _changed/example.org/shared/kept/upstream.go: shared's kept/upstream.go",
    ]
    assert _contents(builder_project.settings.project) == before


def test_a_pattern_that_matches_no_file_of_a_trimmed_module_is_an_error(builder_project: BuilderProject) -> None:
    _module_file("shared", "go.mod").write_text("module shared")
    builder_project.change_tool("alpha", trims=[{"module": "example.org/shared", "omit": ["gone/*"]}])
    with pytest.raises(LabError, match=r"no file of example.org/shared v.* matches gone/\*"):
        build.ensure(builder_project.settings, ["alpha"])


@pytest.mark.parametrize(
    ("file", "pins", "rebuilt"),
    [
        ("the lab's", {}, [ALPHA]),
        ("kept/new.go", {"shared": "v1.0.1"}, [ALPHA, BETA]),
        ("dropped/large.go", {"shared": "v1.0.1"}, [BETA]),
    ],
)
@pytest.mark.usefixtures("trimmed")
def test_a_tool_is_rebuilt_for_changes_of_the_compiled_part_of_a_trimmed_module(
    builder_project: BuilderProject, file: str, pins: dict[str, str], rebuilt: list[str]
) -> None:
    own = builder_project.module / "_shared/kept/kinds.go"

    def change() -> None:
        (own if file == "the lab's" else _module_file("shared", file)).write_text("another")
        builder_project.pin(**pins)

    assert _rebuilt(builder_project, change) == rebuilt


def _edit(line: str) -> dict[str, str]:
    return {"module": "example.org/shared", "file": "cmd/main.go", "line": line, "by": '\thost := os.Getenv("IP")'}


def test_an_edited_module_has_the_labs_lines(builder_project: BuilderProject) -> None:
    _module_file("shared", "go.mod").write_text("module shared")
    _module_file("shared", "cmd/main.go").write_text('package main\n\thost := ""\n')
    builder_project.change_tool("alpha", edits=[_edit('\thost := ""')])
    before = _contents(builder_project.settings.project)
    program = build.ensure(builder_project.settings, ["alpha"])["alpha"]
    assert "# _changed/example.org/shared/go.mod: module shared" in program.read_text()
    assert [line for line in program.read_text().splitlines() if "host :=" in line] == ['\thost := os.Getenv("IP")']
    assert _contents(builder_project.settings.project) == before


@pytest.mark.parametrize("content", ["package main\n", '\thost := ""\n\thost := ""\n'])
def test_a_line_to_replace_that_is_not_there_exactly_once_is_an_error(
    builder_project: BuilderProject, content: str
) -> None:
    _module_file("shared", "go.mod").write_text("module shared")
    _module_file("shared", "cmd/main.go").write_text(content)
    builder_project.change_tool("alpha", edits=[_edit('\thost := ""')])
    with pytest.raises(LabError, match=r'cmd/main.go of example.org/shared v.* exactly once: host := ""'):
        build.ensure(builder_project.settings, ["alpha"])


def test_assets_are_in_the_folder_of_the_program_and_can_be_deleted(builder_project: BuilderProject) -> None:
    page = _module_file("files", "web/templates/page.html")
    page.write_text("page")
    page.chmod(0o444)
    builder_project.change_tool("alpha", assets=[{"module": "example.org/files", "paths": ["web/templates"]}])
    program = build.ensure(builder_project.settings, ["alpha"])["alpha"]
    asset = program.parent / "templates/page.html"
    assert asset.read_text() == "page"
    assert asset.stat().st_mode & 0o200

    builder_project.builds()
    builder_project.pin(files="v1.0.1")
    build.ensure(builder_project.settings, ["alpha"])
    assert builder_project.builds() == [ALPHA], "another version of the assets is another tool"


def test_a_document_is_published_with_its_digest(builder_project: BuilderProject) -> None:
    document = {"file": "made.yaml", "modules": ["example.org/files"], "arguments": ["--extra"]}
    builder_project.change_tool("beta", document=document)
    made = build.ensure(builder_project.settings, ["beta"])["beta"]
    assert made.name == "made.yaml"
    assert made.read_text().endswith("--extra\n")
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    assert made.with_name("made.yaml.sha256").read_text() == f"{digest}  made.yaml\n"


def test_too_little_disk_space_is_an_error(builder_project: BuilderProject, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(builder_project.settings.project)
    monkeypatch.setattr("dev.lab.tool_cache.shutil.disk_usage", lambda _: usage._replace(free=50 * 10**6))
    with pytest.raises(LabError) as error:
        build.ensure(builder_project.settings, BOTH)
    cache = builder_project.settings.cache
    assert error.value.message == f"building the missing tools needs 0.4 GB in {cache}, but only 0.1 GB are free"
    assert "FLUX_TENANCY_CACHE" in error.value.remedy
    assert builder_project.builds() == []


def test_a_failed_build_shows_the_end_of_its_output_and_can_be_continued(
    builder_project: BuilderProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_FAIL", BETA)
    monkeypatch.setenv("FAKE_GO_FAILURE", "\n".join(f"line {n}" for n in range(100)))
    with pytest.raises(LabError) as error:
        build.ensure(builder_project.settings, BOTH)
    log = builder_project.settings.cache / "build/logs/beta.log"
    assert "building beta failed" in error.value.message
    assert "line 99" in error.value.message and "line 1\n" not in error.value.message
    assert str(log) in error.value.remedy
    assert "line 1\n" in log.read_text()
    assert not list(builder_project.settings.cache.glob("tools/beta/*"))

    builder_project.builds()
    monkeypatch.delenv("FAKE_GO_FAIL")
    build.ensure(builder_project.settings, BOTH)
    assert builder_project.builds() == [BETA]


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_build_stops_its_commands_and_can_be_continued(
    builder_project: BuilderProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = {f"compile {BETA}": str(builder_project.settings.project / "never")}
    monkeypatch.setenv("FAKE_GO_WAITS", json.dumps(waits))

    class Interrupted(BuildProgress):
        def finish(self, tool: str, seconds: float) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        build.ensure(builder_project.settings, BOTH, Interrupted(Console(file=io.StringIO())))
    assert _go_commands() == []

    builder_project.builds()
    monkeypatch.delenv("FAKE_GO_WAITS")
    build.ensure(builder_project.settings, BOTH)
    assert builder_project.builds() == [BETA]


def _go_commands() -> list[str]:
    return [" ".join(child.cmdline()) for child in psutil.Process().children() if "build" in child.cmdline()]


def test_the_users_go_settings_do_not_affect_builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=mod -race")
    monkeypatch.setenv("GOWORK", str(tmp_path / "go.work"))
    monkeypatch.setenv("CGO_ENABLED", "1")
    monkeypatch.setenv("GOPROXY", "https://proxy.example.org")
    environment = Go(tmp_path / "go-cache", tmp_path / "tmp").environment
    assert environment["GOFLAGS"] == "-mod=readonly"
    assert environment["GOWORK"] == "off"
    assert environment["CGO_ENABLED"] == "0"
    assert environment["GOCACHE"] == str(tmp_path / "go-cache")
    assert environment["GOPROXY"] == "https://proxy.example.org"


def test_a_report_of_go_vet_is_an_error(builder_project: BuilderProject, monkeypatch: pytest.MonkeyPatch) -> None:
    vet(builder_project.settings)
    monkeypatch.setenv("FAKE_GO_VET", "beta/main.go:3:2: self-assignment of x to x")

    with pytest.raises(LabError, match=r"beta/main.go:3:2: self-assignment"):
        vet(builder_project.settings)


def test_a_second_builder_waits_and_names_the_first(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path / "lock", held, release))
    holder.start()
    assert held.wait(20)
    messages: list[str] = []

    def say(text: str) -> None:
        messages.append(text)
        release.set()

    with build_lock(tmp_path / "lock", say):
        pass
    holder.join()
    [message] = messages
    assert f"process {holder.pid}" in message


def _hold(lock: Path, held, release) -> None:
    with build_lock(lock, print):
        held.set()
        release.wait(20)


def _module_file(module: str, name: str) -> Path:
    """A file of one of the stand-in modules, in folders that exist."""
    file = Path(os.environ["FAKE_GO_MODULES"], "example.org", module, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def _contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _names(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*")}
