"""Secrets of a stack are encrypted in its file, and no message ever shows a part of one."""

import pytest
import sample_keys as keys
import yaml
from pydantic import BaseModel
from sample_sources import own_source
from sample_stack import CLUSTER, CLUSTER_KEYS, DEV_TEAM_BASE, FLUX, Secret, load, problems

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.git.config import GitSource
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import ProjectFile, read_project_file
from flux_tenancy.components.stack.files.secrets import ANY, secret_keys
from flux_tenancy.components.stack.files.stack_file import ADDED, CHANGED, MISSING, read_stack_file
from tests.support.messages import said

SSH_BASE = DEV_TEAM_BASE.replace("https://git.example.com", "ssh://git@github.com")
KEY = keys.private_text(keys.ed25519_key(), keys.OPENSSH)
APP_KEY = keys.private_text(keys.rsa_key(2048), keys.TRADITIONAL)


KUBECONFIG_IN_PLAIN_TEXT = said("FT-CFG-640", "", "cluster.kubeconfigContent", "")


def plain_text(key: str) -> str:
    """The problem of a secret in the stack's file."""
    return f"Pulumi.staging.yaml: {key}: {said('FT-CFG-640', '', key, '')}"


def plain_text_elsewhere(key: str) -> Message:
    """What is said of a secret in a file that all stacks share."""
    return said("FT-CFG-640", " in Pulumi.staging.yaml", key, "")


def test_every_key_that_takes_a_secret_is_found_from_its_type():
    source = {("deployKey",), ("https", "password"), ("https", "bearerToken"), ("githubApp", "privateKey")}
    decryption = {("age", "identities"), ("openpgp", "privateKeys")}
    credentials = ("password", "dockerConfig", "secretKey", "serviceAccountKey", "accountKey", "sasKey")
    further = {
        *source,
        *(("credentials", key) for key in credentials),
        ("clientCertificate", "privateKey"),
        ("proxy", "password"),
    }
    places = {("flux",), ("tenancy",), ("tenants", ANY)}

    assert set(secret_keys(StackConfig)) == {
        ("cluster", "kubeconfigContent"),
        ("github", "owners", ANY, "token"),
        ("github", "owners", ANY, "app", "privateKey"),
        *(("flux", "sync", "source", *key) for key in source),
        *(("tenants", ANY, "source", *key) for key in source),
        *(("tenants", ANY, "sources", ANY, *key) for key in further),
        *(("shared", ANY, "source", *key) for key in further),
        ("tenants", ANY, "releases", ANY, "secretValues", ANY),
        *(("flux", "sync", "decryption", *key) for key in decryption),
        *(("tenants", ANY, "sync", "decryption", *key) for key in decryption),
        *((*place, "notifications", ANY, key) for place in places for key in ("secretAddress", "token", "password")),
    }


def test_a_secret_in_a_list_is_found_too():
    class Holder(BaseModel):
        sources: tuple[GitSource, ...]

    assert ("", ANY, "deployKey") in secret_keys(Holder)


def test_encrypted_secrets_are_taken_and_hidden_from_whoever_prints_them(tmp_path):
    config = load(
        tmp_path,
        bases={"dev-team": SSH_BASE},
        tenants={"dev-team": {"source": {"deployKey": Secret(KEY)}}},
        github={"owners": {"acme": {"app": {"appId": 1, "installationId": 2, "privateKey": Secret(APP_KEY)}}}},
        cluster={"kubeconfigContent": Secret("token: pa55word")},
    )

    deploy_key, app = own_source(config).deploy_key, config.github.owners["acme"].app
    assert deploy_key is not None and deploy_key.get_secret_value() == KEY
    assert app is not None and app.private_key.get_secret_value() == APP_KEY
    shown = repr(config) + str(config)
    assert not [text for text in (KEY.splitlines()[1], APP_KEY.splitlines()[1], "pa55word") if text in shown]


@pytest.mark.parametrize("stack_file", [True, False])
def test_a_secret_in_plain_text_is_refused_and_not_shown(tmp_path, stack_file):
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  flux-tenancy:cluster:\n    kubeconfigContent: 'token: pa55word'\n" if stack_file else ""
    )

    assert problems(tmp_path, cluster={"kubeconfigContent": "token: pa55word"}) == [
        plain_text("cluster.kubeconfigContent")
    ]


def test_a_secret_in_plain_text_beside_an_encrypted_one_is_refused(tmp_path):
    bases = {"dev-team": SSH_BASE, "ops-team": SSH_BASE.replace("apps", "tools")}
    tenants = {"dev-team": {"source": {"deployKey": KEY}}, "ops-team": {"source": {"deployKey": Secret(KEY)}}}
    owners = {"acme": {"token": "pa55word"}, "other": {"token": Secret("pa55word")}}

    assert set(problems(tmp_path, bases=bases, tenants=tenants, github={"owners": owners})) >= {
        plain_text("tenants.dev-team.source.deployKey"),
        plain_text("github.owners.acme.token"),
    }


def test_a_key_or_value_that_yaml_and_pulumi_read_in_two_ways_is_refused_all_the_same(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  flux-tenancy:github:\n    owners: {123: {token: yes}, acme: {token: {secure: v1:AAAA}}}\n"
    )
    owners = {"123": {"token": "yes"}, "acme": {"token": "pa55word"}}

    assert problems(tmp_path, github={"owners": owners}, secret_keys={"github"}) == [
        plain_text("github.owners.123.token")
    ]


@pytest.mark.parametrize("key", ["broken", 5555, ["pa55word"], {"secret": "pa55word"}])
def test_what_has_to_be_renewed_gets_no_second_remark_whatever_else_is_wrong_with_it(tmp_path, key):
    tenants = {"dev-team": {"source": {"deployKey": key}}}

    assert problems(tmp_path, bases={"dev-team": SSH_BASE}, tenants=tenants, flux=FLUX | {"sha256": "?"}) == [
        "Pulumi.staging.yaml: flux.sha256: "
        + said("FT-CFG-006", "a SHA-256 digest", "9f86d08…, with 64 lowercase hexadecimal digits").of("?"),
        plain_text("tenants.dev-team.source.deployKey"),
    ]


@pytest.mark.parametrize(
    ("base", "stack"),
    [
        ({"deployKey": KEY}, {}),
        ({"deployKey": "pa55word"}, {"deployKey": Secret(KEY)}),
        ({"https": {"username": "bot", "password": "pa55word"}}, {}),
    ],
    ids=["a key", "a key that the stack replaces", "a password"],
)
def test_a_secret_in_a_tenants_base_is_refused_since_all_environments_would_share_it(tmp_path, base, stack):
    source = yaml.safe_load(DEV_TEAM_BASE if "https" in base else SSH_BASE)
    source["source"] |= base
    # That another tenant's is encrypted does not change it.
    tenants = {"dev-team": {"source": stack}, "ops-team": {"source": {"https": {"password": Secret("other")}}}}
    bases = {"dev-team": yaml.safe_dump(source), "ops-team": DEV_TEAM_BASE.replace("apps", "tools")}

    [problem] = problems(tmp_path, bases=bases, tenants=tenants)

    path = "source.https.password" if "https" in base else "source.deployKey"
    assert problem == f"tenants/dev-team.yaml: {path}: {plain_text_elsewhere(f'tenants.dev-team.{path}')}"
    assert "pa55word" not in problem


@pytest.mark.parametrize(
    ("key", "path"), [("deployKey", "source.deployKey"), ("url", "source.url"), ("branch", "source.branch")]
)
def test_an_encrypted_value_in_a_tenants_base_is_refused_since_nobody_decrypts_it(tmp_path, key, path):
    base = yaml.safe_load(SSH_BASE)
    base["source"][key] = {"secure": "v1:AAAA"}

    found = problems(tmp_path, bases={"dev-team": yaml.safe_dump(base)}, tenants={"dev-team": {}})

    reason = said("FT-CFG-643", "Pulumi.staging.yaml", f"tenants.dev-team.{path}", "")
    assert [problem for problem in found if problem.startswith(f"tenants/dev-team.yaml: {path}: ")] == [
        f"tenants/dev-team.yaml: {path}: {reason}"
    ]


def test_messages_hide_what_is_encrypted_and_show_the_rest_of_the_same_section(tmp_path):
    tenants = {
        "dev-team": {
            "source": {"https": {"password": Secret("pa55word")}, "interval": "often"},
            "sync": {"interval": Secret("hidden"), "path": "/shown", "prune": Secret("hidden")},
        }
    }

    assert problems(tmp_path, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.dev-team.source.interval: "
        + said("FT-CFG-006", "a duration", "30s, 5m or 1h30m").of("often"),
        "Pulumi.staging.yaml: tenants.dev-team.sync.interval: " + said("FT-CFG-006", "a duration", "30s, 5m or 1h30m"),
        "Pulumi.staging.yaml: tenants.dev-team.sync.path: "
        + said("FT-CFG-006", "a folder inside the repository", "./staging").of("/shown"),
        "Pulumi.staging.yaml: tenants.dev-team.sync.prune: " + said("FT-CFG-609", "true or false", "this value"),
    ]


def test_messages_show_what_a_tenants_base_says_though_the_stack_has_secrets(tmp_path):
    base = DEV_TEAM_BASE.replace("10m", "often")
    tenants = {"dev-team": {"source": {"https": {"password": Secret("pa55word")}}}}

    assert problems(tmp_path, bases={"dev-team": base}, tenants=tenants) == [
        "tenants/dev-team.yaml: sync.interval: " + said("FT-CFG-006", "a duration", "30s, 5m or 1h30m").of("often")
    ]


def test_values_in_lists_are_told_from_their_neighbours(tmp_path):
    git = {"knownHosts": [Secret("first"), "second"]}

    found = problems(tmp_path, git=git, tenants={"dev-team": {"namespaces": [{"name": "A"}, {"name": Secret("B")}]}})

    label = said("FT-CFG-006", "a DNS label", "dev-team, with at most 63 lowercase letters, digits and dashes")
    names = "Pulumi.staging.yaml: tenants.dev-team.namespaces"
    assert [problem for problem in found if "namespaces" in problem] == [
        f"{names}[0].name: {label.of('A')}",
        f"{names}[1].name: {label}",
    ]


@pytest.mark.parametrize(
    "stack_file",
    [
        None,
        "config: [",
        "config: 1\n",
        "- config\n",
        "other: 1\n",
        "config:\n  flux-tenancy:tenants:\n    dev-team:\n      sync:\n        interval: 5m\n",
        "config:\n  flux-tenancy:tenants: text\n",
        "config:\n  flux-tenancy:tenants:\n    secure: v1:AAAA\n",
        "config:\n  other:tenants:\n    dev-team:\n      sync:\n        interval: pa55word\n",
    ],
)
def test_where_the_file_does_not_hold_the_very_value_nothing_of_a_secret_section_is_shown(tmp_path, stack_file):
    if stack_file is not None:
        (tmp_path / "Pulumi.staging.yaml").write_text(stack_file)

    found = problems(tmp_path, tenants={"dev-team": {"sync": {"interval": "pa55word"}}}, secret_keys={"tenants"})

    reason = said("FT-CFG-006", "a duration", "30s, 5m or 1h30m")
    assert f"Pulumi.staging.yaml: tenants.dev-team.sync.interval: {reason}" in found
    assert "pa55word" not in str(found)


@pytest.mark.parametrize("stack_file", [None, "environment: [team/clusters]\n"])
def test_a_secret_that_pulumis_service_or_an_environment_holds_is_taken_on_its_word(tmp_path, stack_file):
    if stack_file is not None:
        (tmp_path / "Pulumi.staging.yaml").write_text(stack_file)

    config = load(tmp_path, cluster={"kubeconfigContent": "token: pa55word"}, secret_keys={"cluster"})

    content = config.cluster.kubeconfig_content
    assert content is not None and content.get_secret_value() == "token: pa55word"


def test_a_secret_that_pulumi_has_from_a_file_that_nobody_has_seen_is_refused(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {context: staging}\n")
    cluster = {"kubeconfigContent": "token: pa55word", "context": "staging"}

    assert problems(tmp_path, cluster=cluster, secret_keys={"cluster"}) == [
        "Pulumi.staging.yaml: cluster.kubeconfigContent: "
        + said("FT-CFG-620", "is set by Pulumi, but in no file that a review reads")
    ]


def test_a_file_that_says_something_else_than_pulumi_has_read_is_not_the_one_to_judge_by(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  flux-tenancy:cluster:\n    kubeconfigContent: {secure: v1:AAAA}\n    context: staging\n"
    )
    cluster = {"kubeconfigContent": "token: pa55word", "context": "other"}

    assert problems(tmp_path, cluster=cluster, secret_keys={"cluster"}) == [
        "Pulumi.staging.yaml: cluster.context: " + said("FT-CFG-620", "does not match what Pulumi read")
    ]


@pytest.mark.parametrize(
    "text",
    ["context: >\n      staging\n      one\n", "context: staging one\n", "{context: staging one, 1: x, yes: y}\n"],
)
def test_what_two_readers_of_yaml_may_write_in_two_ways_is_no_difference(text, tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text(
        f"config:\n  flux-tenancy:cluster:\n    {text}  flux-tenancy:flux: {{workloadIdentity: yes}}\n"
    )
    file = read_stack_file("staging", ProjectFile("flux-tenancy", tmp_path))
    sections = {"cluster": {"context": "staging one\n"}, "flux": {"workloadIdentity": "yes"}}
    if "yes: y" in text:
        sections["cluster"] |= {"1": "x", "yes": "y"}

    assert list(file.differences(sections)) == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("3", 4),
        ("3", "3"),
        ("true", False),
        ("true", "true"),
        ("a", 1),
        ("[a, b]", ["a"]),
        ("{b: c}", {}),
        ("1e3", "1e3"),
    ],
)
def test_whatever_pulumi_has_read_otherwise_is_a_difference(written, read, tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text(f"config:\n  flux-tenancy:cluster:\n    a: {written}\n")
    file = read_stack_file("staging", ProjectFile("flux-tenancy", tmp_path))

    [(path, _)] = file.differences({"cluster": {"a": read}})

    assert path[:2] == ("cluster", "a")


@pytest.mark.parametrize(
    ("passed", "found"),
    [
        ({"a": 1, "b": 2}, [(("cluster", "b"), ADDED)]),
        ({}, [(("cluster", "a"), MISSING)]),
        ({"a": 3}, [(("cluster", "a"), CHANGED)]),
    ],
)
def test_values_that_pulumi_adds_changes_or_leaves_out_are_differences(passed, found, tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster:\n    a: 1\n")
    file = read_stack_file("staging", ProjectFile("flux-tenancy", tmp_path))

    assert list(file.differences({"cluster": passed})) == found


def test_a_whole_section_that_is_in_no_file_is_a_difference_unless_an_environment_has_it(tmp_path):
    stack = tmp_path / "Pulumi.staging.yaml"
    stack.write_text("config: {}\n")
    project = ProjectFile("flux-tenancy", tmp_path)

    assert list(read_stack_file("staging", project).differences({"git": {}})) == [(("git",), ADDED)]
    stack.write_text("config: {}\nenvironment: [team/clusters]\n")
    assert list(read_stack_file("staging", project).differences({"git": {}})) == []


@pytest.mark.parametrize(
    ("key", "merged"),
    [
        ("tenants.dev-team.role", {"dev-team": {"role": "cluster-admin", "sync": {"path": "./a"}}}),
        ("tenants.dev-team", {"dev-team": {"sync": {"path": "./a"}}}),
        ("tenants.dev-team.sync.path", {"dev-team": {"sync": {"path": "./a"}}}),
        ("tenants", {"dev-team": {"sync": {"path": "./a"}}}),
    ],
)
def test_a_shared_value_is_set_where_the_stack_has_none_at_its_path(key, merged, tmp_path):
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "flux-tenancy", "config": {key: "cluster-admin"}}))
    (tmp_path / "Pulumi.staging.yaml").write_text("config: {'flux-tenancy:tenants': {dev-team: {sync: {path: ./a}}}}\n")

    assert read_stack_file("staging", read_project_file(tmp_path)).merged == {"tenants": merged}


def test_a_project_file_in_json_that_pulumi_would_read_instead_is_refused(tmp_path):
    (tmp_path / "Pulumi.yaml").write_text("name: flux-tenancy\n")
    (tmp_path / "Pulumi.json").write_text('{"name": "flux-tenancy"}')

    with pytest.raises(ConfigurationError) as refused:
        read_project_file(tmp_path)

    assert [(each.file, each.code) for each in refused.value.problems] == [("Pulumi.json", "FT-CFG-632")]


@pytest.mark.parametrize(
    "key", ["cluster.kubeconfigContent", "flux-tenancy:cluster.kubeconfigContent", 'cluster["kubeconfigContent"]']
)
@pytest.mark.parametrize("entry", ["pa55word", {"value": "pa55word"}, {"default": "pa55word", "type": "string"}])
@pytest.mark.parametrize("stack_file", ["", "environment: [team/clusters]\n"])
def test_a_secret_that_the_project_sets_for_all_stacks_is_refused(tmp_path, key, entry, stack_file):
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump({"name": "flux-tenancy", "config": {key: entry}}))
    (tmp_path / "Pulumi.staging.yaml").write_text(stack_file)

    assert problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"}) == [
        f"Pulumi.yaml: cluster.kubeconfigContent: {plain_text_elsewhere('cluster.kubeconfigContent')}"
    ]


def test_what_lies_in_an_encrypted_section_is_encrypted(tmp_path):
    (tmp_path / "Pulumi.staging.yaml").write_text("config:\n  flux-tenancy:cluster: {secure: v1:AAAA}\n")

    config = load(tmp_path, cluster={"kubeconfigContent": "token: pa55word"}, secret_keys={"cluster"})

    assert config.cluster.kubeconfig_content is not None


def test_a_file_that_was_named_is_the_one_that_is_judged_and_named(tmp_path):
    (tmp_path / "other.yaml").write_text("config:\n  flux-tenancy:cluster:\n    kubeconfigContent: pa55word\n")
    (tmp_path / "Pulumi.staging.yaml").write_text(
        "config:\n  flux-tenancy:cluster:\n    kubeconfigContent: {secure: A}\n"
    )
    file = read_stack_file("staging", ProjectFile("flux-tenancy", tmp_path), tmp_path / "other.yaml")

    found = problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"}, file=file)

    reason = said("FT-CFG-640", "", "cluster.kubeconfigContent", " --config-file other.yaml")
    assert f"other.yaml: cluster.kubeconfigContent: {reason}" in found


@pytest.mark.parametrize(
    ("project", "folder", "section"),
    [
        ("name: flux-tenancy", ".", "{'flux-tenancy:config:cluster': {kubeconfigContent: pa55word}}"),
        ("name: flux-tenancy", ".", """{'flux-tenancy:cluster': '{"kubeconfigContent": "pa55word"}'}"""),
        ("name: platform", ".", "{'platform:cluster': {kubeconfigContent: pa55word}}"),
        (
            "name: flux-tenancy\nstackConfigDir: stacks",
            "stacks",
            "{'flux-tenancy:cluster': {kubeconfigContent: pa55word}}",
        ),
    ],
    ids=["long key", "JSON", "another project", "another folder"],
)
def test_a_secret_in_plain_text_is_refused_wherever_pulumi_reads_it(tmp_path, project, folder, section):
    (tmp_path / "Pulumi.yaml").write_text(f"{project}\n")
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "Pulumi.staging.yaml").write_text(f"config: {section}\n")
    read = read_stack_file("staging", read_project_file(tmp_path))

    found = problems(tmp_path, cluster={"kubeconfigContent": "pa55word"}, secret_keys={"cluster"}, file=read)

    [problem] = [each for each in found if "kubeconfigContent" in each]
    assert problem.endswith(f"Pulumi.staging.yaml: cluster.kubeconfigContent: {KUBECONFIG_IN_PLAIN_TEXT}")
    assert "pa55word" not in str(found)


@pytest.mark.parametrize(
    ("sections", "path", "keys"),
    [
        ({"cluster": "pa55word"}, "cluster", CLUSTER_KEYS),
        ({"github": {"owners": {"acme": "pa55word"}}}, "github.owners.acme", "token, app"),
        ({"github": {"owners": {"acme": {"app": "pa55word"}}}}, "github.owners.acme.app", "appId, privateKey"),
        (
            {"tenants": {"dev-team": {"source": {"https": "pa55word"}}}},
            "tenants.dev-team.source.https",
            "username, password, bearerToken",
        ),
    ],
)
def test_a_text_one_level_above_a_secret_may_be_that_secret_and_is_not_shown(tmp_path, sections, path, keys):
    problem = said("FT-CFG-610", "a mapping", "this value", f"write its keys below it: {keys}")

    assert problems(tmp_path, **sections) == [f"Pulumi.staging.yaml: {path}: {problem}"]


def test_a_key_that_says_nothing_holds_no_secret(tmp_path):
    assert load(tmp_path, cluster=CLUSTER | {"kubeconfigContent": None}).cluster.kubeconfig_content is None
