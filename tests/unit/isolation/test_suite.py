"""How attempts are tried and judged, layer by layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from sample_scene import KINDS, FakeAsker, scene

from flux_tenancy.isolation.asking import Asker, is_about_impersonation, refusal
from flux_tenancy.isolation.attempts.rows import made
from flux_tenancy.isolation.model import AccessReview, Attempt, Control, Finding, Layer, Request, State, Verdict
from flux_tenancy.isolation.suite import Suite
from flux_tenancy.operations.admission.answers import Response

SCENE = scene()
OBJECT = made(SCENE, "Deployment", {"spec": {"template": {"spec": {"hostNetwork": True}}}})
BESIDE = made(SCENE, "Deployment")
BOTH = (Layer.ROLE, Layer.ADMISSION)
BY_ROLE = Response(403, (), 'deployments.apps is forbidden: User "a" cannot create resource "deployments"')
BY_POLICY = Response(
    403, (), "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: no"
)
BY_QUOTA = Response(403, (), 'deployments.apps "x" is forbidden: exceeded quota: q, requested: a=1')
DOWN = Response(500, (), 'failed calling webhook "a": refused')
TAKEN = Response(201)
UNKNOWN_FIELD = Response(
    400,
    (),
    'ArtifactGenerator in version "v1beta1" cannot be handled as a ArtifactGenerator: strict decoding error: unknown '
    'field "spec.artifacts[0].namespace"',
)


def suite(asker: FakeAsker, *without: Layer) -> Suite:
    made = Suite(cast(Any, None), SCENE, without)
    made._asker = cast(Asker, asker)
    return made


def attempt(*proofs: Any, by_choice: str = "") -> Attempt:
    return Attempt("19-x", 19, "something", proofs, by_choice)


TRIED = Request(OBJECT, BOTH)
QUOTA_TOO = Request(OBJECT, (*BOTH, Layer.QUOTA))
OF_ADMISSION = Request(OBJECT, (Layer.ADMISSION,))
COMPARED = replace(OF_ADMISSION, baseline=BESIDE)
NO_FLAG = Finding(Layer.FLUX, State.OPEN, "no flag")
OPEN, HOLDS = State.OPEN, State.HOLDS


@pytest.mark.parametrize(
    ("tried", "answers", "without", "verdict", "layer", "message"),
    [
        (attempt(TRIED), [TAKEN], (), Verdict.PASSED, None, ""),
        (attempt(QUOTA_TOO), [BY_POLICY], (), Verdict.REFUSED, Layer.ADMISSION, BY_POLICY.message),
        (attempt(TRIED), [DOWN], (), Verdict.UNPROVEN, Layer.ROLE, ""),
        (
            attempt(TRIED),
            [UNKNOWN_FIELD],
            (),
            Verdict.NOT_APPLICABLE,
            None,
            "Deployments of the cluster have no spec.artifacts[0].namespace",
        ),
        (
            attempt(COMPARED),
            [BY_POLICY, BY_POLICY],
            (),
            Verdict.UNPROVEN,
            Layer.ADMISSION,
            "the same object without the attempt is also refused: ",
        ),
        (attempt(COMPARED), [BY_QUOTA, TAKEN], (), Verdict.REFUSED, Layer.QUOTA, BY_QUOTA.message),
        (attempt(OF_ADMISSION), [BY_QUOTA], (), Verdict.UNPROVEN, Layer.ADMISSION, "refused by quota, which is not"),
        (attempt(TRIED, by_choice="no list"), [TAKEN], (), Verdict.NOT_APPLICABLE, None, "open by choice: no list"),
        (attempt(OF_ADMISSION, NO_FLAG), [BY_POLICY], (), Verdict.REFUSED, Layer.ADMISSION, BY_POLICY.message),
        (attempt(OF_ADMISSION, NO_FLAG), [BY_POLICY], (Layer.ADMISSION,), Verdict.PASSED, None, "no flag"),
        (
            attempt(OF_ADMISSION),
            [BY_POLICY],
            (Layer.ADMISSION,),
            Verdict.NOT_APPLICABLE,
            None,
            "only admission can refuse this",
        ),
        (attempt(QUOTA_TOO), [BY_POLICY], (Layer.ADMISSION,), Verdict.UNPROVEN, Layer.QUOTA, ""),
    ],
    ids=[
        "accepted",
        "refused",
        "an unreachable webhook",
        "a field that the cluster does not have",
        "the baseline is refused too",
        "another layer refuses and the baseline passes",
        "another layer refuses without a baseline",
        "open by choice",
        "one of two layers holds",
        "without the layer that holds",
        "without the only layer",
        "without the layer that refuses before one that was not asked",
    ],
)
def test_the_verdict_of_an_attempt_is_that_of_the_layers_that_were_tried(
    tried, answers, without, verdict, layer, message
):
    asker = FakeAsker(lambda request, user: answers[request.object == BESIDE])

    result = suite(asker, *without).attempt(tried)

    assert (result.verdict, result.layer) == (verdict, layer)
    assert result.message.startswith(message)


@pytest.mark.parametrize(
    ("answer", "states"), [(TAKEN, [OPEN, OPEN, OPEN]), (BY_POLICY, [OPEN, HOLDS, State.NOT_REACHED])]
)
def test_layers_before_the_one_that_refuses_are_open(answer, states):
    result = suite(FakeAsker(lambda *_: answer)).attempt(attempt(QUOTA_TOO))

    assert [result.alone[layer].state for layer in QUOTA_TOO.layers] == states
    assert result.by == ("p" if answer is BY_POLICY else "")


def test_an_attempt_of_which_one_request_could_not_be_tried_is_unproven():
    other = OBJECT | {"metadata": OBJECT["metadata"] | {"name": "other"}}
    asker = FakeAsker(lambda request, user: DOWN if request.object == other else BY_POLICY)

    result = suite(asker).attempt(attempt(Request(OBJECT, BOTH), Request(other, BOTH)))

    assert (result.verdict, result.layer) == (Verdict.UNPROVEN, Layer.ADMISSION)


@pytest.mark.parametrize(
    ("name", "verdict", "states"),
    [
        ("team", Verdict.REFUSED, [OPEN, HOLDS]),
        ("other", Verdict.PASSED, [OPEN, OPEN]),
        (None, Verdict.PASSED, [OPEN, OPEN]),
    ],
)
def test_admission_holds_what_it_changes_back(name: str | None, verdict: Verdict, states: list[State]):
    def sync(account: str | None, **more: Any) -> dict[str, Any]:
        spec = {"interval": "1h"} | ({"serviceAccountName": account} if account else {})
        return made(SCENE, "Kustomization") | {"spec": spec | more}

    answer = Response(201, stored=sync(name, timeout="1m"))
    request = Request(sync(None), BOTH, baseline=sync("team"))

    result = suite(FakeAsker(lambda *_: answer)).attempt(attempt(request))

    assert result.verdict is verdict
    assert [result.alone[layer].state for layer in BOTH] == states


def test_a_kind_that_is_not_served_is_not_applicable():
    asker = FakeAsker(kinds={name: kind for name, kind in KINDS.items() if name != "Deployment"})

    result = suite(asker).attempt(attempt(Request(OBJECT, BOTH)))

    assert (result.verdict, result.message) == (Verdict.NOT_APPLICABLE, "the cluster has no Deployment")


def test_all_proofs_of_a_layer_must_hold():
    users = AccessReview("impersonate", "", "users")
    proofs = (users, replace(users, resource="groups"))
    asker = FakeAsker(allowed=lambda access, user: access.resource == "groups")

    assert suite(asker).attempt(attempt(*proofs)).verdict is Verdict.PASSED
    assert suite(FakeAsker()).attempt(attempt(*proofs)).verdict is Verdict.REFUSED


def test_the_deputy_shows_what_layers_after_the_role_do():
    deputy = "isolation:deputy"
    asker = FakeAsker(lambda request, user: BY_POLICY if user == deputy else BY_ROLE)
    asking = suite(asker)
    asking._deputy = deputy

    result = asking.attempt(attempt(Request(OBJECT, BOTH)))

    assert {layer: each.state for layer, each in result.alone.items()} == dict.fromkeys(BOTH, State.HOLDS)
    assert result.layer is Layer.ROLE
    assert [user for _, user in asker.asked] == [SCENE.tenancy.user, deputy]
    of_a_node = asking.attempt(attempt(Request(OBJECT, BOTH, user="system:node:one")))
    assert asker.asked[-1][1] == "system:node:one"
    assert of_a_node.alone[Layer.ADMISSION].state is State.NOT_REACHED


@pytest.mark.parametrize(
    ("answer", "verdict"), [(TAKEN, Verdict.PASSED), (BY_POLICY, Verdict.REFUSED), (DOWN, Verdict.UNPROVEN)]
)
def test_a_control_must_pass(answer, verdict):
    control = Control("a", "something", Request(OBJECT, tuple(Layer)))

    assert suite(FakeAsker(lambda *_: answer)).control(control).verdict is verdict


def test_each_request_is_sent_once():
    asker = FakeAsker()
    asking = suite(asker)

    for _ in range(2):
        asking.attempt(attempt(Request(OBJECT, BOTH)))

    assert len(asker.asked) == 1


def test_control_characters_from_the_cluster_are_removed():
    found = Finding(Layer.ROLE, State.OPEN, "bound by a\x1b[2Jb", "c\x07d")

    result = suite(FakeAsker()).attempt(attempt(found))

    assert (result.message, result.alone[Layer.ROLE].by) == ("bound by a [2Jb", "c d")


SEEN = [
    (403, 'pods is forbidden: User "a" cannot create resource "pods" in API group ""', Layer.ROLE, "RBAC"),
    (403, 'namespaces "apps" is forbidden: User "a" cannot patch resource "namespaces"', Layer.ROLE, "RBAC"),
    (
        403,
        'rolebindings.rbac.authorization.k8s.io "x" is forbidden: user "a" (groups=["b"]) is attempting to grant RBAC '
        "permissions not currently held: {}",
        Layer.ROLE,
        "RBAC's escalation check",
    ),
    (
        403,
        'pods "x" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)',
        Layer.POD_SECURITY,
        "restricted:latest",
    ),
    (
        422,
        "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'host-access' with binding 'b' denied request",
        Layer.ADMISSION,
        "host-access",
    ),
    (
        403,
        'admission webhook "vpol.validate.kyverno.svc-fail" denied the request: Policy flux-tenancy-a failed: no',
        Layer.ADMISSION,
        "flux-tenancy-a",
    ),
    (
        400,
        'admission webhook "validate.kyverno.svc-fail" denied the request: resource Kustomization/apps/x was blocked '
        "due to the following policies flux-multi-tenancy: serviceAccountName: validation error: no",
        Layer.ADMISSION,
        "flux-multi-tenancy",
    ),
    (403, 'admission webhook "a.example.com" denied the request: no', Layer.ADMISSION, "a.example.com"),
    (403, 'services "x" is forbidden: exceeded quota: dev-team-quota, requested: a=1', Layer.QUOTA, "dev-team-quota"),
    (403, 'pods "x" is forbidden: failed quota: q: must specify limits.cpu', Layer.QUOTA, "q"),
    (403, 'pods "x" is forbidden: [maximum memory usage per Container is 1Gi', Layer.QUOTA, "LimitRange"),
    (403, 'pods "x" is forbidden: cannot set blockOwnerDeletion', Layer.ADMISSION, "an admission plugin"),
]


@pytest.mark.parametrize(("status", "message", "layer", "by"), SEEN)
def test_a_refusal_names_its_layer(status, message, layer, by):
    found = refusal(status, message)

    assert (found.layer, found.by) == (layer, by)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (500, 'Internal error occurred: failed calling webhook "a": connection refused'),
        (400, 'admission webhook "a" does not support dry run'),
        (404, 'pods "x" not found'),
        (422, 'Pod "x" is invalid: spec.containers: Required value'),
        (429, "too many requests"),
    ],
)
def test_other_errors_prove_nothing(status, message):
    assert refusal(status, message).layer is None


def test_a_tenants_own_text_is_not_taken_for_a_layer():
    """The beginning is the API server's; what a policy quotes of the object comes after it."""
    quoted = (
        "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'a' with binding 'a' denied request: "
        'x is forbidden: User "a" cannot create, exceeded quota: b'
    )

    assert refusal(403, quoted).by == "a"


def test_a_refused_impersonation_is_not_taken_for_a_refused_attempt():
    assert is_about_impersonation('users "a" is forbidden: User "me" cannot impersonate resource "users"')
    assert not is_about_impersonation('pods is forbidden: User "me" cannot create resource "pods"')
