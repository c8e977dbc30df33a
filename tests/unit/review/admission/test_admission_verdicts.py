"""What the program that answers for an API server is given, and what becomes of its answers."""

from __future__ import annotations

import io
import json
import sys
import tarfile

import pytest
import yaml
from sample_objects import kubernetes, render_of
from sample_project import rendered

from flux_tenancy.components.policies.config import PolicyMode
from flux_tenancy.components.policies.native_only import tenant_labels
from flux_tenancy.components.vocabulary.manifests import resource_type
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.admission.check import (
    FOUND,
    NOT_CHECKED,
    admission_answers,
    check_admission,
    refusals,
    schema_errors,
)
from flux_tenancy.review.admission.program import (
    VARIABLE,
    Answer,
    FieldError,
    Objection,
    Request,
    Surroundings,
    ask,
    find_program,
)
from flux_tenancy.review.render.rendered import GENERATED, PLATFORM, RenderedObject

ACCEPTED: dict[str, list[str]] = {"errors": [], "refusals": []}
SAID = Objection("flux-tenancy-allowed-sources", True, "not allowed")


def program(folder, *lines):
    """A program that keeps its input and runs these lines of Python on it."""
    file = folder / "offline-admission"
    body = [
        "import json, sys",
        "given = json.load(sys.stdin)",
        f"json.dump(given, open({str(folder / 'given')!r}, 'w'))",
    ]
    file.write_text("\n".join([f"#!{sys.executable}", *body, *lines]))
    file.chmod(0o755)
    return file


def accepting(folder):
    return program(folder, f"print(json.dumps([{ACCEPTED}] * len(given['requests'])))")


def given(folder):
    return json.loads((folder / "given").read_text())


def test_the_program_is_taken_from_the_variable_before_the_path(tmp_path):
    named, on_path = tmp_path / "a", tmp_path / "b"
    for folder in (named, on_path):
        folder.mkdir()
        accepting(folder)

    environment = {VARIABLE: str(named / "offline-admission"), "PATH": str(on_path)}
    assert find_program(environment) == named / "offline-admission"
    assert find_program({"PATH": str(on_path)}) == on_path / "offline-admission"
    assert find_program({VARIABLE: "", "PATH": str(on_path)}) == on_path / "offline-admission"
    assert find_program({"PATH": str(tmp_path)}) is None
    assert find_program({VARIABLE: str(tmp_path / "none"), "PATH": ""}) is None


def test_answers_are_in_the_order_of_the_requests(tmp_path):
    error = {"errors": [{"path": "spec.a", "message": "unknown field"}], "refusals": []}
    refused = {"errors": [], "refusals": [{"policy": "a", "denied": False, "message": "b"}]}
    tool = program(tmp_path, f"print(json.dumps({[error, refused]}))")

    found = ask(tool, Surroundings(), [Request("CREATE", {}), Request("DELETE", None, old={})])

    assert found == [Answer((FieldError("spec.a", "unknown field"),)), Answer(objections=(Objection("a", False, "b"),))]
    assert [sorted(each) for each in given(tmp_path)["requests"]] == [
        ["groups", "object", "operation", "subresource", "user"],
        ["groups", "old", "operation", "subresource", "user"],
    ]


def test_a_program_that_fails_is_an_error_with_its_first_line(tmp_path):
    tool = program(tmp_path, "sys.exit('no such kind\\nat server.go')")

    with pytest.raises(OperationError) as caught:
        ask(tool, Surroundings(), [])
    assert caught.value.message.text.endswith("failed: no such kind")
    assert caught.value.message.code == "FT-REV-302"


def test_the_platform_creates_every_object_of_a_render_between_its_namespaces_and_policies(tmp_path):
    project = tmp_path / "project"
    render = rendered(project, policies={"engine": "native"})

    answers = admission_answers(accepting(tmp_path), render, project)

    asked = given(tmp_path)
    assert len(answers) == len(asked["requests"]) == sum(each.is_kubernetes for each in render.objects)
    assert {each["operation"] for each in asked["requests"]} == {"CREATE"}
    assert all("system:masters" in each["groups"] for each in asked["requests"])
    assert "apps" in [each["metadata"]["name"] for each in asked["namespaces"]]
    assert {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} == {
        each["kind"] for each in asked["policies"]
    }


def test_what_only_an_update_can_know_is_left_out(tmp_path):
    secret = kubernetes("Secret", GENERATED, "apps", data=GENERATED, spec={"a": [GENERATED, "b"]})

    admission_answers(accepting(tmp_path), render_of(secret), tmp_path)

    [asked] = given(tmp_path)["requests"]
    assert GENERATED not in json.dumps(asked)
    assert asked["object"]["metadata"] == {"name": "generated", "namespace": "apps"}
    assert asked["object"]["spec"] == {"a": ["b"]}


def definition(kind):
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    manifest = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a"},
        "spec": {"group": "policies.kyverno.io", "names": names},
    }
    return yaml.safe_dump(manifest, sort_keys=False)


def with_kyverno(project, *objects):
    """A render with Kyverno's chart, which has two kinds as templates of Helm."""
    templates = {kind: definition(kind) for kind in ("ValidatingPolicy", "Other")}
    (project / ".charts").mkdir()
    with tarfile.open(project / ".charts" / "abc.tgz", "w:gz") as archive:
        for name, text in templates.items():
            content = f"{{{{- if .Values.a }}}}\n---\n{text}{{{{- end }}}}\n".encode()
            entry = tarfile.TarInfo(f"kyverno/templates/{name}.yaml")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    release = {"kind": "Release", "metadata": {"name": "kyverno"}, "properties": {"chart": "sha256:abc"}}
    return render_of(RenderedObject(PLATFORM, "kubernetes:helm.sh/v3:Release", "kyverno", release), *objects)


def kyverno_policy(name, **variables):
    spec = {
        "matchConstraints": {"resourceRules": []},
        "matchConditions": [],
        "variables": [{"name": key, "expression": value} for key, value in variables.items()],
        "validations": [{"expression": "false"}],
        "validationActions": ["Deny"],
        "autogen": {},
    }
    manifest = {"apiVersion": "policies.kyverno.io/v1", "kind": "ValidatingPolicy", "metadata": {"name": name}}
    return RenderedObject(
        PLATFORM, "kubernetes:policies.kyverno.io/v1:ValidatingPolicy", name, manifest | {"spec": spec}
    )


def test_kyvernos_kinds_come_from_its_chart_if_the_render_has_objects_of_them(tmp_path):
    render = with_kyverno(tmp_path, kyverno_policy("own"))

    admission_answers(accepting(tmp_path), render, tmp_path)

    [found] = given(tmp_path)["definitions"]
    assert found["spec"]["names"]["kind"] == "ValidatingPolicy"


def test_policies_of_kyverno_alone_are_asked_as_policies_of_the_api_server(tmp_path):
    content, users, own = "flux-tenancy-allowed-sources", "flux-tenancy-tenant-access", "own"
    policies = [kyverno_policy(content), kyverno_policy(users, platform="true"), kyverno_policy(own)]

    admission_answers(accepting(tmp_path), with_kyverno(tmp_path, *policies), tmp_path)

    policy, binding = given(tmp_path)["policies"]
    assert (policy["kind"], policy["metadata"]["name"]) == ("ValidatingAdmissionPolicy", content)
    assert "autogen" not in policy["spec"] and policy["spec"]["validations"] == [{"expression": "false"}]
    assert binding["spec"] == {"policyName": content, "validationActions": ["Deny"]}


def test_policies_that_read_other_objects_are_left_out_and_the_others_asked_beside_those_of_kyverno(tmp_path):
    content = "flux-tenancy-allowed-sources"
    labels = [
        RenderedObject(PLATFORM, resource_type(each), each["metadata"]["name"], each)
        for each in tenant_labels(PolicyMode.ENFORCE, makes_namespaces=False)
    ]

    admission_answers(accepting(tmp_path), with_kyverno(tmp_path, kyverno_policy(content), *labels), tmp_path)

    names = [each["metadata"]["name"] for each in given(tmp_path)["policies"]]
    assert names == [*["flux-tenancy-tenant-labels"] * 2, *[content] * 2]


def test_a_policy_of_kyverno_that_exempts_objects_of_the_platform_is_asked_as_if_by_the_platform(tmp_path):
    """Only Kyverno can ask who the user is in its own way, and the platform is who applies a render."""
    exempting = {"platform": "resource.Post('…').status.allowed", "platform_object": "variables.platform"}

    render = with_kyverno(tmp_path, kyverno_policy("flux-tenancy-source-options", **exempting))
    admission_answers(accepting(tmp_path), render, tmp_path)

    policy, _ = given(tmp_path)["policies"]
    assert policy["spec"]["variables"] == [
        {"name": "platform", "expression": "true"},
        {"name": "platform_object", "expression": "variables.platform"},
    ]


SOURCE = kubernetes("GitRepository", "app", "apps")


def test_a_refusal_is_new_if_the_policy_did_not_refuse_the_object_before():
    render, after = render_of(SOURCE), {SOURCE.key: Answer(objections=(SAID,))}
    warned = {SOURCE.key: Answer(objections=(Objection(SAID.policy, False, SAID.message),))}

    [new] = refusals({SOURCE.key: Answer()}, after, render)
    assert (new.owner, new.policy, new.object, new.newly) == (
        "dev-team",
        "allowed-sources",
        "GitRepository apps/app",
        True,
    )
    assert [each.newly for each in refusals(None, after, render)] == [True]
    assert [each.newly for each in refusals(after, after, render)] == [False]
    assert [each.newly for each in refusals(warned, after, render)] == [True]


def test_a_refusal_is_a_risk_that_names_policy_object_and_message():
    denied, audited = (
        next(iter(refusals(None, {SOURCE.key: Answer(objections=(each,))}, render_of(SOURCE))))
        for each in (SAID, Objection(SAID.policy, False, SAID.message))
    )

    assert denied.statement.risk
    assert denied.statement.text == "policy allowed-sources refuses GitRepository apps/app: not allowed"
    assert "would refuse" in audited.statement.text


def test_an_error_of_a_schema_names_file_and_field_on_one_line():
    answers = {SOURCE.key: Answer((FieldError("spec.a\x1b[31m", "unknown\nfield"),))}

    [error] = schema_errors(render_of(SOURCE, kubernetes("ConfigMap", "a", "apps")), answers)

    assert str(error) == "dev-team/apps/gitrepository-app.yaml: spec.a [31m: unknown field"


DENIED, AUDITED = ({"policy": SAID.policy, "denied": each, "message": "not allowed"} for each in (True, False))


@pytest.mark.parametrize(
    ("answers", "out", "error"),
    [
        (
            [{"errors": [], "refusals": [AUDITED]}],
            "1 objects match their schemas, and no admission policy refuses any",
            [],
        ),
        (
            [{"errors": [{"path": "spec.a", "message": "unknown field"}], "refusals": [DENIED]}],
            "",
            [
                f"error: an API server would reject 1 of 1 objects ({FOUND.code}):",
                "  dev-team/apps/gitrepository-app.yaml: spec.a: unknown field",
                "  policy allowed-sources refuses GitRepository apps/app: not allowed",
            ],
        ),
        (
            [{"errors": [], "refusals": [DENIED]}, {"errors": [], "refusals": [AUDITED]}],
            "",
            [
                f"error: an API server would reject 1 of 2 objects ({FOUND.code}):",
                "  policy allowed-sources refuses ConfigMap apps/a: not allowed",
            ],
        ),
    ],
    ids=["only audited", "rejected", "rejected and audited"],
)
def test_the_check_fails_with_all_findings_and_counts_what_is_not_only_audited(
    tmp_path, monkeypatch, capsys, answers, out, error
):
    monkeypatch.setenv(VARIABLE, str(program(tmp_path, f"print(json.dumps({answers}))")))
    objects = (SOURCE, kubernetes("ConfigMap", "a", "apps"))[: len(answers)]

    assert check_admission(render_of(*objects), tmp_path) is not bool(error)

    printed = capsys.readouterr()
    assert (printed.out.strip(), printed.err.splitlines()) == (out, error)


def test_without_the_program_the_check_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FLUX_TENANCY_CACHE", str(tmp_path))

    assert check_admission(render_of(SOURCE), tmp_path)

    said = capsys.readouterr().err
    assert said.startswith("note: schemas and policies were not checked: ")
    assert NOT_CHECKED.code in said


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("ConfigMap", {"changed", "added"}), ("Namespace", {"same", "changed", "added"})],
    ids=["an object", "what decides on others"],
)
def test_only_what_may_get_another_answer_is_asked_again(tmp_path, kind, asked):
    same = kubernetes("ConfigMap", "same", "apps")
    before = render_of(same, kubernetes(kind, "changed", x=1), kubernetes("ConfigMap", "gone"))
    after = render_of(same, kubernetes(kind, "changed", x=2), kubernetes("ConfigMap", "added"))

    answers = admission_answers(accepting(tmp_path), after, tmp_path, before)

    assert {name for _, name in answers} == {f"apps/{name}" if name == "same" else name for name in asked}
    assert {each["object"]["metadata"]["name"] for each in given(tmp_path)["requests"]} == asked


def test_nothing_is_asked_where_nothing_changes(tmp_path):
    same = render_of(kubernetes("ConfigMap", "same", "apps"))

    assert admission_answers(tmp_path / "missing", same, tmp_path, same) == {}
