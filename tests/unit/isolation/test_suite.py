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


def suite(asker: FakeAsker, *without: Layer) -> Suite:
    made = Suite(cast(Any, None), SCENE, without)
    made._asker = cast(Asker, asker)
    return made


def attempt(*proofs: Any, by_choice: str = "") -> Attempt:
    return Attempt("19-x", 19, "something", proofs, by_choice)


def says(answers: dict[str, Response]) -> FakeAsker:
    """Answers by what is asked for: the attempt, or the same without it."""
    return FakeAsker(lambda request, user: answers["beside" if request.object == BESIDE else "attempt"])


def test_an_attempt_that_is_accepted_has_passed():
    result = suite(FakeAsker()).attempt(attempt(Request(OBJECT, BOTH)))

    assert result.verdict is Verdict.PASSED
    assert {layer: each.state for layer, each in result.alone.items()} == dict.fromkeys(BOTH, State.OPEN)


def test_the_refusing_layer_holds_and_earlier_layers_are_open():
    result = suite(says({"attempt": BY_POLICY})).attempt(attempt(Request(OBJECT, (*BOTH, Layer.QUOTA))))

    assert (result.verdict, result.layer, result.by) == (Verdict.REFUSED, Layer.ADMISSION, "p")
    assert result.message == BY_POLICY.message
    states = {layer: each.state for layer, each in result.alone.items()}
    assert states == {Layer.ROLE: State.OPEN, Layer.ADMISSION: State.HOLDS, Layer.QUOTA: State.NOT_REACHED}


def test_an_attempt_of_which_one_request_could_not_be_tried_is_unproven():
    other = OBJECT | {"metadata": OBJECT["metadata"] | {"name": "other"}}
    asker = FakeAsker(lambda request, user: DOWN if request.object == other else BY_POLICY)

    result = suite(asker).attempt(attempt(Request(OBJECT, BOTH), Request(other, BOTH)))

    assert (result.verdict, result.layer) == (Verdict.UNPROVEN, Layer.ADMISSION)


def test_a_refusal_of_the_baseline_proves_nothing():
    request = Request(OBJECT, (Layer.ADMISSION,), baseline=BESIDE)

    result = suite(says({"attempt": BY_POLICY, "beside": BY_POLICY})).attempt(attempt(request))

    assert result.verdict is Verdict.UNPROVEN
    assert result.message.startswith("the same object without the attempt is also refused: ")


def test_a_refusal_by_another_layer_counts_if_the_baseline_passes():
    request = Request(OBJECT, (Layer.ADMISSION,), baseline=BESIDE)

    assert suite(says({"attempt": BY_QUOTA, "beside": TAKEN})).attempt(attempt(request)).layer is Layer.QUOTA
    alone = suite(says({"attempt": BY_QUOTA})).attempt(attempt(replace(request, baseline=None)))
    assert alone.verdict is Verdict.UNPROVEN


@pytest.mark.parametrize(
    ("name", "verdict", "states"),
    [
        ("team", Verdict.REFUSED, [State.OPEN, State.HOLDS]),
        ("other", Verdict.PASSED, [State.OPEN, State.OPEN]),
        (None, Verdict.PASSED, [State.OPEN, State.OPEN]),
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


def test_an_unreachable_webhook_proves_nothing():
    assert suite(says({"attempt": DOWN})).attempt(attempt(Request(OBJECT, BOTH))).verdict is Verdict.UNPROVEN


def test_a_kind_that_is_not_served_is_not_applicable():
    asker = FakeAsker(kinds={name: kind for name, kind in KINDS.items() if name != "Deployment"})

    result = suite(asker).attempt(attempt(Request(OBJECT, BOTH)))

    assert (result.verdict, result.message) == (Verdict.NOT_APPLICABLE, "the cluster has no Deployment")


def test_a_field_that_the_cluster_does_not_have_is_not_applicable():
    message = 'ArtifactGenerator in version "v1beta1" cannot be handled as a ArtifactGenerator: strict decoding error: '
    unknown = Response(400, (), f'{message}unknown field "spec.artifacts[0].namespace"')

    result = suite(says({"attempt": unknown})).attempt(attempt(Request(OBJECT, BOTH)))

    assert (result.verdict, result.message) == (
        Verdict.NOT_APPLICABLE,
        "Deployments of the cluster have no spec.artifacts[0].namespace",
    )


def test_without_a_layer_the_others_must_hold():
    proofs = (Request(OBJECT, (Layer.ADMISSION,)), Finding(Layer.FLUX, State.OPEN, "no flag"))

    assert suite(says({"attempt": BY_POLICY})).attempt(attempt(*proofs)).verdict is Verdict.REFUSED
    result = suite(says({"attempt": BY_POLICY}), Layer.ADMISSION).attempt(attempt(*proofs))
    assert (result.verdict, result.message) == (Verdict.PASSED, "no flag")
    only = suite(says({"attempt": BY_POLICY}), Layer.ADMISSION).attempt(attempt(proofs[0]))
    assert (only.verdict, only.message) == (
        Verdict.NOT_APPLICABLE,
        "only admission can refuse this",
    )


def test_without_the_layer_that_refuses_a_later_one_that_was_not_asked_is_unproven():
    result = suite(says({"attempt": BY_POLICY}), Layer.ADMISSION).attempt(
        attempt(Request(OBJECT, (*BOTH, Layer.QUOTA)))
    )

    assert (result.verdict, result.layer) == (Verdict.UNPROVEN, Layer.QUOTA)


def test_all_proofs_of_a_layer_must_hold():
    users = AccessReview("impersonate", "", "users")
    proofs = (users, replace(users, resource="groups"))
    asker = FakeAsker(allowed=lambda access, user: access.resource == "groups")

    assert suite(asker).attempt(attempt(*proofs)).verdict is Verdict.PASSED
    assert suite(FakeAsker()).attempt(attempt(*proofs)).verdict is Verdict.REFUSED


def test_an_attempt_that_is_open_by_choice_is_not_a_hole():
    result = suite(FakeAsker()).attempt(attempt(Request(OBJECT, BOTH), by_choice="no list"))

    assert (result.verdict, result.message) == (Verdict.NOT_APPLICABLE, "open by choice: no list")


def test_the_deputy_shows_what_layers_after_the_role_do():
    deputy = "isolation:deputy"
    asker = FakeAsker(lambda request, user: BY_POLICY if user == deputy else BY_ROLE)
    asking = suite(asker)
    asking._deputy = deputy

    result = asking.attempt(attempt(Request(OBJECT, BOTH)))

    assert {layer: each.state for layer, each in result.alone.items()} == dict.fromkeys(BOTH, State.HOLDS)
    assert result.layer is Layer.ROLE
    assert [user for _, user in asker.asked] == [SCENE.tenancy.user, deputy]


def test_an_attempt_with_its_own_user_has_no_deputy():
    asking = suite(FakeAsker(lambda request, user: BY_ROLE))
    asking._deputy = "isolation:deputy"

    result = asking.attempt(attempt(Request(OBJECT, BOTH, user="system:node:one")))

    assert result.alone[Layer.ADMISSION].state is State.NOT_REACHED


@pytest.mark.parametrize(
    ("answer", "verdict"), [(TAKEN, Verdict.PASSED), (BY_POLICY, Verdict.REFUSED), (DOWN, Verdict.UNPROVEN)]
)
def test_a_control_must_pass(answer, verdict):
    control = Control("a", "something", Request(OBJECT, tuple(Layer)))

    assert suite(says({"attempt": answer})).control(control).verdict is verdict


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
