"""`flux-tenancy check` says what the API server says for the policies' cases, and what to change."""

from __future__ import annotations

from functools import cache

import pytest
from sample_project import rendered, tenant
from typer.testing import CliRunner

from flux_tenancy.command.app import app
from flux_tenancy.extensions.tenant_check.envelope import FORMAT, Envelope, envelope_of
from flux_tenancy.extensions.tenant_check.judge import Verdict, judge
from flux_tenancy.extensions.tenant_check.manifests import Found
from flux_tenancy.review.admission.program import VARIABLE
from flux_tenancy.review.render.stack import load_and_render
from tests.support.offline_requests import OFFLINE_CASES, PROGRAM, definitions, surroundings, tool
from tests.support.policy_cases import APPS, TENANT, Case, User
from tests.support.policy_requests import USERS

# Whether the cluster has a default storage class is not in an envelope; `check` assumes one.
NOT_TOLD = {"volume-claims: any that is there, without a class"}
# What a tenant's repository can apply as a new object.
CASES = tuple(
    case
    for case in OFFLINE_CASES
    if case.user is User.TENANT and case.operation == "CREATE" and not case.subresource and case.old is None
    if case.id not in NOT_TOLD
)


def envelope(config: str) -> Envelope:
    """The envelope of the cases' tenant under a configuration."""
    around = surroundings(config)
    return Envelope(
        format=FORMAT,
        program="",
        stack="cases",
        tenant=TENANT,
        home=APPS,
        account=USERS[User.TENANT],
        versions={"flux": "2.10.0", "kubernetes": "1.37.2"},
        namespaces=list(around.namespaces),
        access=list(around.access),
        policies=list(around.policies),
        quotas=[],
        limits=[],
        syncs=[],
        definitions=list(around.definitions),
    )


@cache
def verdicts(config: str) -> dict[str, Verdict]:
    """The verdicts on all objects of a configuration."""
    cases = [case for case in CASES if case.config == config]
    objects = [Found(case.object) for case in cases if case.object]
    return dict(zip([case.id for case in cases], judge(tool(PROGRAM), envelope(config), objects), strict=True))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in CASES])
def test_a_case_of_a_policy_ends_as_at_the_api_server(case: Case) -> None:
    verdict = verdicts(case.config)[case.id]

    assert verdict.is_refused is (case.refused is not None), verdict
    assert (case.refused or "") in verdict.message


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Runs `flux-tenancy check` on manifests with the envelope of a tenant; returns the exit code and the output."""
    monkeypatch.setenv(VARIABLE, str(tool(PROGRAM)))
    own = tenant("shop", "shop-apps") | {
        "policies": {"hosts": ["shop.example.com"]},
        "limits": {"objects": {"configmaps": 1}, "quota": {"pods": "3"}},
    }
    project = tmp_path / "project"
    rendered(project, tenants={"shop": own})
    made = envelope_of(*load_and_render(project, "staging", "shop"), "shop", definitions=definitions())
    file = tmp_path / "envelope.json"
    file.write_text(made.as_json())

    def run(manifests: str, *options: str) -> tuple[int, str]:
        (tmp_path / "deploy").mkdir(exist_ok=True)
        (tmp_path / "deploy" / "all.yaml").write_text(manifests)
        done = CliRunner().invoke(
            app, ["check", str(tmp_path / "deploy"), "--envelope", str(file), *options], standalone_mode=False
        )
        return done.return_value or 0, done.output

    return run


DEPLOYMENT = """
apiVersion: {version}
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}
      containers:
        - name: web
          image: nginx
          securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
"""
SERVICE = "{{apiVersion: v1, kind: Service, metadata: {{name: web}}, spec: {{type: {type}, ports: [{{port: 80}}]}}}}\n"
INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: web}}
spec: {{rules: [{{host: {host}}}]}}
"""
SETTINGS = "{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}}}\n"
ROLE = "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: web}, rules: []}\n"
WIDGET = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: web}}\n"


@pytest.mark.parametrize(
    ("refused", "outcome", "says", "mended"),
    [
        (SERVICE.format(type="NodePort"), "needs an opening", "spec.type NodePort", SERVICE.format(type="ClusterIP")),
        (INGRESS.format(host="a.b"), "needs an opening", "host a.b is not", INGRESS.format(host="shop.example.com")),
        (ROLE, "needs an opening", 'cannot patch resource "roles"', ""),
        (
            DEPLOYMENT.format(version="apps/v1", replicas=5),
            "over quota",
            "its Pod: 2 of 5: exceeded quota: shop-quota, requested: pods=1, used: pods=3, limited: pods=3",
            DEPLOYMENT.format(version="apps/v1", replicas=3),
        ),
        (
            DEPLOYMENT.format(version="apps/v1beta1", replicas=1),
            "refused",
            'no matches for kind "Deployment" in version "apps/v1beta1"; use apps/v1',
            DEPLOYMENT.format(version="apps/v1", replicas=1),
        ),
        (
            "\n---\n".join(SETTINGS.format(kind="ConfigMap", name=name) for name in ("one", "two", "three")),
            "over quota",
            "exceeded quota: shop-objects, requested: count/configmaps=1, used: count/configmaps=2",
            SETTINGS.format(kind="ConfigMap", name="one"),
        ),
        (
            SETTINGS.format(kind="ConfigMapp", name="one"),
            "refused",
            'no matches for kind "ConfigMapp" in version "v1": Kubernetes',
            SETTINGS.format(kind="ConfigMap", name="one"),
        ),
        (
            WIDGET,
            "needs an opening",
            'or ask the platform team; in a cluster without this kind: no matches for kind "Widget" in version',
            "",
        ),
    ],
    ids=["node-port", "host", "role", "pods", "api-version", "configmaps", "kind", "custom-kind"],
)
def test_what_is_refused_is_accepted_once_it_is_mended(checked, refused, outcome, says, mended):
    code, output = checked(refused)
    text = " ".join(output.split())

    assert code == 1 and f"{outcome}: " in text and says in text
    code, output = checked(mended)
    assert code == 0 and f"{outcome}: " not in output


def test_a_quota_names_the_limits_that_suffice(checked):
    _, output = checked(DEPLOYMENT.format(version="apps/v1", replicas=5))

    assert "For the platform team, to add in tenants/shop.yaml:\n    limits:\n      quota:\n        pods: '5'" in output


def test_secrets_that_sops_has_sealed_are_accepted(checked):
    sealed = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: 'ENC[a]'}\nsops: {mac: a}\n"

    assert checked(sealed)[0] == 0
    assert checked(sealed.partition("sops")[0] + "unknown: 1\n")[0] == 1
