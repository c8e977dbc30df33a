"""What counts as a difference between an object of the stack and the cluster, and who is named for it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_state import (
    BINDING,
    CLUSTER_UID,
    CONTROLLER,
    DEFINITION,
    EDITED,
    NAMESPACE,
    NETWORK_POLICY,
    PULUMI,
    RESOURCES,
    ROLE_BINDING,
    SECRET,
    applied,
    managed,
    stored,
)

from flux_tenancy.operations.drift.differences import (
    SECRET_VALUE,
    Difference,
    What,
    changes,
    differences,
    foreign_fields,
    is_refreshed,
    taken_fields,
)
from flux_tenancy.operations.drift.managed_fields import MISSING, denormalized, managers, normalized, shown, value_at
from flux_tenancy.operations.drift.recorded_state import Recorded, recorded_state
from flux_tenancy.operations.drift.repair import as_intended
from flux_tenancy.operations.drift.search import Drift
from flux_tenancy.operations.drift.text import _minute, _unowned, to_json

KILLED = "pulumi-kubernetes-0a1b2c3d"
CONTAINER = 'k:{"name":"manager"}'


def recorded(manifest: dict[str, Any]) -> Recorded:
    return next(each for each in recorded_state(RESOURCES).objects if each.manifest["kind"] == manifest["kind"])


def compared(before: dict[str, Any], now: dict[str, Any]) -> list[Difference]:
    return list(differences(recorded(before), now))


def on(manifest: dict[str, Any], given: dict[str, Any] | None = None) -> Recorded:
    """An object of the stack whose state has this copy."""
    return Recorded("urn", "type", copy.deepcopy(manifest), PULUMI, applied(copy.deepcopy(given or manifest)))


def own(manifest: dict[str, Any]) -> dict[str, Any]:
    """The fields that Pulumi owns of an object."""
    fields: dict[str, Any] = manifest["metadata"]["managedFields"][0]["fieldsV1"]
    return fields


def write(found: dict[str, Any], fields: dict[str, Any], by: str = "kubectl-edit", **more: str) -> None:
    """Let a manager own fields of an object."""
    found["metadata"]["managedFields"].append(managed(fields, by, EDITED, **more))


def brief(found: list[Difference]) -> list[tuple[Any, ...]]:
    return [(each.what, each.field, each.stack, each.cluster, each.by) for each in found]


def container_of(manifest: dict[str, Any]) -> dict[str, Any]:
    container: dict[str, Any] = manifest["spec"]["template"]["spec"]["containers"][0]
    return container


def within_pod(fields: dict[str, Any]) -> dict[str, Any]:
    return {"f:spec": {"f:template": {"f:spec": fields}}}


@pytest.fixture
def controller() -> dict[str, Any]:
    return copy.deepcopy(CONTROLLER)


@pytest.mark.parametrize(
    "written",
    [{}, {"uid": CLUSTER_UID}, {"generation": 2}, {"creationTimestamp": EDITED}, {"selfLink": "/apis"}],
    ids=str,
)
def test_an_untouched_object_has_no_difference(controller, written):
    """Except for what the API server alone writes."""
    controller["metadata"] |= written

    assert compared(CONTROLLER, controller) == []


POD = "spec.template.spec"


@pytest.mark.parametrize(
    ("of_spec", "of_pod", "fields", "by", "expected"),
    [
        ({"replicas": 0}, {}, {"f:spec": {"f:replicas": {}}}, "scale", (What.CHANGED, "spec.replicas", 1, 0)),
        (
            {"minReadySeconds": 5},
            {},
            {"f:spec": {"f:minReadySeconds": {}}},
            "scale",
            (What.ADDED, "spec.minReadySeconds", MISSING, 5),
        ),
        (
            {},
            {"hostNetwork": True},
            within_pod({"f:hostNetwork": {}}),
            "",
            (What.ADDED, f"{POD}.hostNetwork", MISSING, True),
        ),
        ({}, {"hostPID": True}, None, "", (What.ADDED, f"{POD}.hostPID", MISSING, True)),
    ],
    ids=["scaled", "through a subresource", "added", "owned by nobody"],
)
def test_a_written_field_is_a_difference_by_its_manager(controller, of_spec, of_pod, fields, by, expected):
    controller["spec"] |= of_spec
    controller["spec"]["template"]["spec"] |= of_pod
    if fields is not None:
        write(controller, fields, "kubectl", **({"subresource": by} if by else {}))

    assert brief(compared(CONTROLLER, controller)) == [(*expected, "" if fields is None else "kubectl")]


def test_an_added_field_or_container_is_one_difference_that_is_to_be_removed(controller):
    key = 'k:{"name":"debug"}'
    controller["spec"]["template"]["spec"] |= {"hostNetwork": True}
    controller["spec"]["template"]["spec"]["containers"].append({"name": "debug", "image": "busybox"})
    item: dict[str, Any] = {".": {}, "f:name": {}, "f:image": {}}
    write(controller, within_pod({"f:hostNetwork": {}, "f:containers": {key: item}}))

    found = [(each.what, each.field) for each in compared(CONTROLLER, controller)]

    assert found == [(What.ADDED, f"{POD}.containers[debug]"), (What.ADDED, f"{POD}.hostNetwork")]
    assert sorted(each[-1] for each in foreign_fields(recorded(CONTROLLER), controller)) == ["f:hostNetwork", key]


def test_a_removed_part_is_one_difference_by_nobody_known(controller):
    del controller["spec"]["template"]["spec"]

    (found,) = compared(CONTROLLER, controller)

    assert (found.what, found.field) == (What.CHANGED, POD)
    assert found.stack["containers"][0]["name"] == "manager"
    assert (found.cluster, found.by, found.since) == (MISSING, "", "")


def append_flag(controller: dict[str, Any]) -> None:
    """Append an argument as `kubectl edit` does, which then owns the whole list."""
    container_of(controller)["args"].append("--no-cross-namespace-refs=false")
    del own(controller)["f:spec"]["f:template"]["f:spec"]["f:containers"][CONTAINER]["f:args"]
    write(controller, within_pod({"f:containers": {CONTAINER: {"f:args": {}}}}))


def test_a_list_that_a_refresh_has_copied_stays_a_list_of_the_stack(controller):
    append_flag(controller)
    before = on(controller, CONTROLLER)
    own_args = container_of(CONTROLLER)["args"]

    assert brief(list(differences(before, controller))) == [
        (
            What.CHANGED,
            f"{POD}.containers[manager].args",
            own_args,
            [*own_args, "--no-cross-namespace-refs=false"],
            "kubectl-edit",
        )
    ]
    # Applied again by Pulumi.
    assert list(differences(before, CONTROLLER)) == []
    assert foreign_fields(before, CONTROLLER) == []
    # The refresh may have copied it into what the stack applies, too.
    assert [each.what for each in differences(on(controller), controller)] == [What.CHANGED]


@pytest.mark.parametrize("refreshed", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_a_variable_that_is_there_twice_differs_also_after_a_refresh(controller, refreshed, first):
    """`kubectl patch --type=json` appends it under a name that Pulumi goes on owning."""
    container_of(controller)["env"] = own_env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    inputs = applied(copy.deepcopy(controller))
    twice = copy.deepcopy(controller)
    container_of(twice)["env"].insert(0 if first else 2, {"name": "A", "value": "3"})
    before = Recorded("urn", "type", twice if refreshed else controller, PULUMI, inputs)

    (found,) = differences(before, twice)

    assert (found.what, found.field, found.stack) == (What.CHANGED, f"{POD}.containers[manager].env", own_env)
    # A refresh alone also takes it for what the stack applies.
    assert list(differences(on(twice), twice))


@pytest.mark.parametrize("by", ["kubectl", ""])
def test_replicas_that_a_refresh_has_copied_stay_the_stacks(controller, by):
    controller["spec"]["replicas"] = 0
    del own(controller)["f:spec"]["f:replicas"]
    scaled = managed({"f:spec": {"f:replicas": {}}}, "kubectl", EDITED, subresource="scale")
    status = managed({"f:status": {"f:replicas": {}}}, "kube-controller-manager", EDITED, subresource="status")
    controller["metadata"]["managedFields"] += [scaled, status] if by else [status]
    before = on(controller, CONTROLLER)

    assert brief(list(differences(before, controller))) == [(What.CHANGED, "spec.replicas", 1, 0, by)]
    assert taken_fields(before) == {("f:spec", "f:replicas")}


def test_a_label_that_a_refresh_has_copied_stays_the_stacks_if_the_stack_sets_it():
    enforced, added = "pod-security.kubernetes.io/enforce", "example.com/by"
    own_fields = copy.deepcopy(NAMESPACE)
    own_fields["metadata"]["labels"][enforced] = "restricted"
    now = copy.deepcopy(NAMESPACE)
    now["metadata"]["labels"] |= {enforced: "privileged", added: "hand"}
    write(now, {"f:metadata": {"f:labels": {f"f:{enforced}": {}, f"f:{added}": {}}}}, "kubectl-label")
    before = on(now, own_fields)

    assert brief(list(differences(before, now))) == [
        (What.CHANGED, f'metadata.labels["{enforced}"]', "restricted", "privileged", "kubectl-label")
    ]
    assert taken_fields(before) == {("f:metadata", "f:labels", f"f:{enforced}")}


def test_a_label_of_kyverno_that_a_refresh_has_copied_does_not_hide_added_subjects():
    now = copy.deepcopy(ROLE_BINDING)
    now["metadata"]["labels"]["webhook.kyverno.io/managed-by"] = "kyverno"
    now["subjects"].append({"kind": "User", "name": "alice"})
    del own(now)["f:subjects"]
    write(now, {"f:subjects": {}})

    assert [(each.what, each.field) for each in differences(on(now, ROLE_BINDING), now)] == [(What.CHANGED, "subjects")]


def test_the_last_of_several_managers_of_a_field_is_named(controller):
    controller["spec"]["replicas"] = 0
    controller["metadata"]["managedFields"] += [
        managed({"f:spec": {"f:replicas": {}}}, "later", EDITED),
        managed({"f:spec": {"f:replicas": {}}}, "earlier", "2026-11-23T05:00:00Z"),
    ]

    assert [each.by for each in compared(CONTROLLER, controller)] == ["later"]


def test_defaults_status_and_what_controllers_write_are_no_differences(controller):
    controller["status"] = {"replicas": 1}
    controller["metadata"]["finalizers"] = ["finalizers.fluxcd.io"]
    controller["metadata"]["managedFields"] += [
        managed({"f:status": {"f:replicas": {}}}, "kube-controller-manager", EDITED, subresource="status"),
        managed({"f:metadata": {"f:finalizers": {'v:"finalizers.fluxcd.io"': {}}}}, "source-controller", EDITED),
        managed({"f:metadata": {"f:annotations": {"f:reconcile.fluxcd.io/requestedAt": {}}}}, "flux", EDITED),
        managed(
            within_pod({})
            | {
                "f:spec": {"f:template": {"f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}}}
            },
            "kubectl-rollout",
            EDITED,
        ),
    ]

    assert compared(CONTROLLER, controller) == []


def test_an_added_owner_is_a_difference_since_its_deletion_would_delete_the_object(controller):
    controller["metadata"]["ownerReferences"] = [{"kind": "ConfigMap", "name": "x", "uid": "1"}]
    key = 'k:{"uid":"1"}'
    write(controller, {"f:metadata": {"f:ownerReferences": {key: {}}}})

    assert [(each.what, each.field) for each in compared(CONTROLLER, controller)] == [
        (What.ADDED, "metadata.ownerReferences[1]")
    ]


def test_a_policy_that_was_switched_to_audit_shows_both_lists_and_what_to_remove():
    now = copy.deepcopy(BINDING)
    now["spec"]["validationActions"] = ["Audit"]
    own(now)["f:spec"]["f:validationActions"] = {}
    write(now, {"f:spec": {"f:validationActions": {'v:"Audit"': {}}}})

    assert brief(compared(BINDING, now)) == [
        (What.CHANGED, "spec.validationActions", ["Deny"], ["Audit"], "kubectl-edit")
    ]


def test_a_secret_is_compared_by_who_owns_its_fields_and_no_value_is_shown():
    now = {"metadata": copy.deepcopy(SECRET["metadata"])}
    assert compared(SECRET, now) == []
    # By its time: an update records when it has written.
    as_pulumi = copy.deepcopy(now)
    as_pulumi["metadata"]["managedFields"][0]["time"] = EDITED
    assert brief(compared(SECRET, as_pulumi)) == [(What.CHANGED, "data.token", SECRET_VALUE, SECRET_VALUE, PULUMI)]

    own(now)["f:data"] = {}
    write(now, {"f:data": {"f:token": {}, "f:more": {}}})

    changed = (What.CHANGED, "data.token", SECRET_VALUE, SECRET_VALUE, "kubectl-edit")
    assert brief(compared(SECRET, now)) == [(What.ADDED, "data.more", MISSING, SECRET_VALUE, "kubectl-edit"), changed]
    # A refresh that has copied it makes it no addition.
    copied = on({**SECRET, **now}, SECRET)
    assert changed in brief(list(differences(copied, now)))


def test_extensions_of_a_schema_compare_equal_under_the_names_of_the_state():
    now = copy.deepcopy(DEFINITION)
    now["spec"]["versions"][0]["schema"]["properties"]["spec"] = {"x-kubernetes-list-type": "set"}
    assert compared(DEFINITION, now) == []

    now["spec"]["versions"][0]["schema"]["properties"]["spec"] = {"x-kubernetes-list-type": "map"}

    assert [each.field for each in compared(DEFINITION, now)] == [
        "spec.versions[v1].schema.properties.spec.x_kubernetes_list_type"
    ]


def test_a_changed_label_of_the_stack_and_a_new_one_are_differences():
    now = copy.deepcopy(NAMESPACE)
    before = stored({**NAMESPACE}, {})
    before["metadata"]["labels"] = {"a": "1"}
    before["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"] = {"f:a": {}}
    now["metadata"]["labels"] = {"a": "2", "b": "3"}
    write(now, {"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}}, "x")

    assert brief(list(differences(on(before), now))) == [
        (What.CHANGED, "metadata.labels.a", "1", "2", "x"),
        (What.ADDED, "metadata.labels.b", MISSING, "3", "x"),
    ]


@pytest.mark.parametrize("kind", ["labels", "annotations"])
def test_the_first_label_or_annotation_and_the_last_one_are_named(kind):
    """So what is expected of others can be left out, and only this one is repaired."""
    without = stored({**NAMESPACE}, {})
    del without["metadata"][kind]
    one = copy.deepcopy(without)
    one["metadata"][kind] = {"a": "1"}

    assert brief(list(differences(on(without), one))) == [(What.ADDED, f"metadata.{kind}.a", MISSING, "1", "")]
    assert brief(list(differences(on(one), without))) == [(What.CHANGED, f"metadata.{kind}.a", "1", MISSING, "")]


def test_webhooks_that_kyverno_fills_in_are_its_own():
    empty = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "kyverno", "labels": {"webhook.kyverno.io/managed-by": "kyverno"}},
    }
    before = stored(empty, {})
    now = copy.deepcopy(before)
    now["webhooks"] = [{"name": "x"}]
    write(now, {"f:webhooks": {'k:{"name":"x"}': {}}}, "kyverno")
    assert list(differences(on(before), now)) == []

    del before["metadata"]["labels"], now["metadata"]["labels"]

    assert [each.field for each in differences(on(before), now)] == ["webhooks"]


def test_a_network_policy_whose_selector_is_null_is_unchanged():
    now = copy.deepcopy(NETWORK_POLICY)
    now["spec"]["egress"] = None

    assert compared(NETWORK_POLICY, now) == []


def test_metadata_by_which_other_controllers_act_is_compared_and_their_own_records_are_not():
    now = copy.deepcopy(NAMESPACE)
    now["metadata"]["labels"] |= {"istio-injection": "disabled", "kubernetes.io/metadata.name": "apps"}
    now["metadata"]["annotations"] |= {"openshift.io/sa.scc.mcs": "s0:c1", "scheduler.alpha.kubernetes.io/x": "y"}
    now["metadata"]["finalizers"] = ["finalizers.fluxcd.io", "example.com/stuck"]

    assert [(each.what, each.field) for each in differences(on(NAMESPACE), now)] == [
        (What.ADDED, 'metadata.annotations["scheduler.alpha.kubernetes.io/x"]'),
        (What.ADDED, "metadata.finalizers[example.com/stuck]"),
        (What.ADDED, "metadata.labels.istio-injection"),
    ]


@pytest.mark.parametrize(
    "recorded",
    [
        {"cattle.io/creator": "norman", "field.cattle.io/projectId": "p-abcde"},
        {"kubesphere.io/workspace": "shop", "kubesphere.io/creator": "ann"},
        {"tmc.cloud.vmware.com/workspace": "shop", "tmc.cloud.vmware.com/managed": "true"},
        {"io.portainer.kubernetes.resourcepool.owner": "ann"},
        {"k8slens-edit-resource-version": "v1"},
    ],
)
def test_what_cluster_managers_record_stays_and_what_configures_their_clusters_does_not(recorded):
    """An owner would delete the namespace with it."""
    now = copy.deepcopy(NAMESPACE)
    now["metadata"]["labels"] |= recorded | {"kubesphere.io/kata": "on"}
    now["metadata"]["annotations"] |= recorded | {"openshift.io/requester": "ann"}
    now["metadata"]["finalizers"] = ["finalizers.kubesphere.io/namespaces"]
    owner = {"apiVersion": "tenant.kubesphere.io/v1beta1", "kind": "Workspace", "name": "shop", "uid": "1"}
    now["metadata"]["ownerReferences"] = [owner]

    found = [each.field for each in differences(on(NAMESPACE), now)]

    assert len(found) == 2
    assert found[0] == 'metadata.labels["kubesphere.io/kata"]' and "ownerReferences" in found[1]


def test_an_expected_annotation_that_the_stack_sets_is_compared():
    kept = copy.deepcopy(NAMESPACE)
    kept["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"] = "now"
    assert list(differences(on(kept), kept)) == []

    assert [each.field for each in differences(on(kept), NAMESPACE)] == [
        'metadata.annotations["reconcile.fluxcd.io/requestedAt"]'
    ]


@pytest.mark.parametrize("entries", [[], [managed({"f:spec": {}}, "kubectl-create", EDITED)]], ids=["none", "another"])
def test_an_object_that_pulumi_no_longer_manages_differs_even_with_the_same_content(controller, entries):
    controller["metadata"]["managedFields"] = entries

    (found,) = compared(CONTROLLER, controller)

    assert (found.what, found.field, found.stack) == (What.CHANGED, "metadata.managedFields", PULUMI)


@pytest.mark.parametrize("operation", ["Apply", "Update"])
def test_a_manager_of_a_killed_update_is_a_difference_if_it_owns_what_it_has_applied(controller, operation):
    both = managed({"f:spec": {"f:replicas": {}}}, KILLED, EDITED) | {"operation": operation}
    controller["metadata"]["managedFields"] += [both, managed({"f:status": {}}, "kube-controller-manager")]

    found = compared(CONTROLLER, controller)

    assert [(each.what, each.field, each.stack, each.by, each.since) for each in found] == [
        (What.CHANGED, "metadata.managedFields", PULUMI, KILLED, EDITED)
    ] * (operation == "Apply")


def test_moved_items_of_a_list_are_a_difference_and_containers_in_another_order_are_one_value(controller):
    container_of(controller)["args"].reverse()
    controller["spec"]["template"]["spec"]["containers"].append({"name": "b"})
    before = copy.deepcopy(controller)
    controller["spec"]["template"]["spec"]["containers"].reverse()

    assert [each.field for each in compared(CONTROLLER, before)] == [
        "spec.template.spec.containers[b]",
        "spec.template.spec.containers[manager].args",
    ]
    assert [each.field for each in differences(on(before), controller)] == ["spec.template.spec.containers"]


def test_a_webhook_that_ignores_failures_or_no_longer_sees_a_kind_is_a_difference():
    hook = {"name": "a", "failurePolicy": "Fail", "rules": [{"resources": ["pods"]}]}
    before = stored(
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "webhooks": [hook]}
        | {"metadata": {"name": "a"}},
        {"f:webhooks": {'k:{"name":"a"}': {"f:failurePolicy": {}, "f:rules": {}}}},
    )
    now = copy.deepcopy(before)
    now["webhooks"][0] |= {"failurePolicy": "Ignore", "rules": []}

    assert [each.field for each in differences(on(before), now)] == ["webhooks[a].failurePolicy", "webhooks[a].rules"]


def test_a_label_that_a_refresh_has_copied_is_still_an_addition():
    now = copy.deepcopy(NAMESPACE)
    now["metadata"]["labels"]["istio-injection"] = "disabled"
    own(now)["f:metadata"]["f:labels"] = {"f:toolkit.fluxcd.io/tenant": {}}
    write(now, {"f:metadata": {"f:labels": {"f:istio-injection": {}}}}, "kubectl-label")

    assert [each.field for each in differences(on(now, NAMESPACE), now)] == ["metadata.labels.istio-injection"]
    assert is_refreshed(on(now, NAMESPACE)) and not is_refreshed(on(NAMESPACE))


# Fields of a controller that somebody may write, with a value for each.
_EDITS = st.dictionaries(
    st.sampled_from(["hostNetwork", "hostPID", "nodeName", "restartPolicy", "serviceAccountName", "containers"]),
    st.sampled_from([True, "other", [], [{"name": "manager", "args": []}], [{"name": "b"}]]),
)


@given(edits=_EDITS, args=st.lists(st.sampled_from(["--no-cross-namespace-refs=true", "--log-level=info", "--x"])))
def test_a_repair_gives_every_field_its_value_back_and_never_less(edits, args):
    """Whatever server-side apply leaves: here, everything that somebody has written."""
    found = copy.deepcopy(CONTROLLER)
    container_of(found)["args"] = args
    found["spec"]["template"]["spec"] |= copy.deepcopy(edits)
    before = on(CONTROLLER)

    repaired = as_intended(found, changes(before, found, before.inputs), before.inputs)

    assert repaired["spec"] == CONTROLLER["spec"]


def test_a_repair_never_removes_a_field_that_the_stack_sets():
    """The state has lost the arguments, as after a refresh of an object that had none."""
    emptied = copy.deepcopy(CONTROLLER)
    del container_of(emptied)["args"]
    before = Recorded("urn", "type", emptied, PULUMI, applied(CONTROLLER))

    assert as_intended(CONTROLLER, changes(before, CONTROLLER, before.inputs), before.inputs) == CONTROLLER


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-11-27T05:00:00Z", "2026-11-27 05:00 UTC"),
        ("", "at an unknown time"),
        ("0000-01-01T00:00:00Z", "at an unknown time"),
        ("10000-01-01T00:00:00Z", "at an unknown time"),
    ],
)
def test_a_time_that_no_calendar_has_is_unknown(time, shown):
    """A tenant may write it into `managedFields`."""
    assert _minute(time) == shown


def test_no_command_deletes_a_leftover_that_would_take_others_along():
    """A Kustomization that only the state has lost would prune all of its tenant's workloads."""
    left = [Difference(What.LEFT, kind, "apps", "dev-team") for kind in ("Kustomization", "NetworkPolicy")]

    first, _, listed, _, command = _unowned(left)

    assert "`pulumi up` first" in first
    assert (listed, command) == ("  Kustomization apps/dev-team", "  kubectl delete networkpolicy dev-team -n apps")


def test_a_value_that_is_missing_is_null_for_programs():
    drift = Drift((Difference(What.ADDED, "ConfigMap", "apps", "a", cluster="b"),), 1, ())

    [found] = json.loads(to_json(drift))["differences"]

    assert (found["stack"], found["cluster"]) == (None, "b")


WEB = {
    "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
    "spec": {
        "containers": [
            {"name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
            {"name": "b", "args": ["x"]},
        ],
        "actions": ["Deny", "Audit"],
        "nothing": None,
    },
}
PORT = ("f:spec", "f:containers", 'k:{"name":"a"}', "f:ports", 'k:{"containerPort":80,"protocol":"TCP"}')
LABEL = ("f:metadata", "f:labels", "f:app.kubernetes.io/name")
AUDIT = ("f:spec", "f:actions", 'v:"Audit"')
SECOND = ("f:spec", "f:containers", "i:1", "f:args")


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (PORT, {"containerPort": 80, "protocol": "TCP"}, "spec.containers[a].ports[80,TCP]"),
        (LABEL, "web", 'metadata.labels["app.kubernetes.io/name"]'),
        (AUDIT, "Audit", "spec.actions[Audit]"),
        (SECOND, ["x"], "spec.containers[1].args"),
    ],
)
def test_a_path_leads_to_its_value_and_is_shown(path, value, text):
    assert value_at(WEB, path) == value
    assert shown(path) == text


@pytest.mark.parametrize(
    "path",
    [
        ("f:spec", "f:nothing"),
        ("f:spec", "f:other"),
        ("f:spec", "f:containers", 'k:{"name":"c"}'),
        ("f:spec", "f:containers", "i:2"),
        ("f:spec", "f:actions", 'v:"Warn"'),
        ("f:spec", "f:actions", "f:name"),
        ("f:metadata", "k:{}"),
    ],
)
def test_what_an_object_does_not_have_is_missing(path):
    assert value_at(WEB, path) is MISSING


def test_only_the_innermost_fields_are_listed_and_a_part_that_is_owned_as_a_whole_counts_as_one():
    entry = {"manager": "x", "time": "t", "fieldsV1": {"f:a": {".": {}, "f:b": {}}, "f:c": {".": {}}}}

    (manager,) = managers({"metadata": {"managedFields": [entry]}})

    assert manager.fields == {("f:a", "f:b"), ("f:c",)}
    assert manager.owns(("f:a",)) and manager.owns(("f:c", "f:d")) and not manager.owns(("f:e",))


def test_an_entry_may_lack_what_the_api_server_does_not_check():
    (manager,) = managers({"metadata": {"managedFields": [{"operation": "Update", "time": None}]}})

    assert (manager.name, manager.time, manager.fields) == ("", "", frozenset())


def test_a_schema_has_the_names_of_the_state_without_null_and_is_applied_under_those_of_the_api_server():
    here, there = [{"x_kubernetes_map_type": "atomic"}], [{"x-kubernetes-map-type": "atomic"}]

    assert normalized({"a": None, "b": there}) == {"b": here}
    assert denormalized({"a": here, "b_c": None}) == {"a": there, "b_c": None}
