"""The requests of the policies' cases as the program `offline-admission` takes them."""

from __future__ import annotations

from flux_tenancy.review.admission.program import Request, User
from tests.support.policy_cases import Case, Object, merged
from tests.support.policy_requests import GROUPS, RBAC, USERS, access

PROGRAM = "offline-admission"
ACCESS = [each for each in access() if each["apiVersion"] == RBAC["apiVersion"]]
"""The roles and bindings of the cases' users."""


def request(case: Case) -> Request:
    """What the API server makes of a case's request before it asks policies."""
    old, object = case.old, {"CREATE": case.object, "UPDATE": case.after}.get(case.operation)
    if old and case.leaving:
        leaving = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
        old, object = merged(old, leaving), object and merged(object, leaving)
    if object and case.applied:
        object = merged(object, {"metadata": {"managedFields": [_owner(case.object)]}})
    elif object and case.operation == "CREATE" and "managedFields" not in object["metadata"]:
        object = merged(object, {"metadata": {"managedFields": [_owner(object) | {"operation": "Update"}]}})
    old, object = (each and _with_account(each) for each in (old, object))
    user = User(USERS[case.user], (*GROUPS.get(case.user, ()), "system:authenticated"))
    return Request(case.operation, object, old, case.subresource, user)


def _with_account(object: Object) -> Object:
    """The object as the admission plugin ServiceAccount, which changes pods, leaves it."""
    account: Object = {"spec": {"serviceAccountName": "default"}} if object["kind"] == "Pod" else {}
    with_account: Object = merged(account, object)
    return with_account


def _owner(applied: Object) -> Object:
    """The entry of a manager in `metadata.managedFields` after it has applied this."""
    # What identifies the object has no owner.
    metadata = {key: value for key, value in applied["metadata"].items() if key not in ("name", "namespace")}
    owned = {key: value for key, value in applied.items() if key not in ("apiVersion", "kind")} | {"metadata": metadata}
    return {
        "manager": "tenant",
        "operation": "Apply",
        "apiVersion": applied["apiVersion"],
        "fieldsType": "FieldsV1",
        "fieldsV1": _fields(owned),
    }


def _fields(value: object) -> Object:
    return {f"f:{key}": _fields(child) for key, child in value.items()} if isinstance(value, dict) else {}
