"""Rights that Capsule gives to the owner of a Tenant, as a review shows them."""

from sample_access import of
from sample_plan import tenant_objects
from sample_stack import tenant_config

from flux_tenancy.components.rbac.rights import CLUSTER, NamedRole, Permission
from flux_tenancy.components.rbac.subjects import Subject, SubjectKind
from flux_tenancy.components.tenant.tenancy_config import TenancyConfig
from flux_tenancy.review.access.rules import rbac_access

TENANT = Subject(SubjectKind.TENANT, "dev-team")
MADE = "namespaces that dev-team makes"


def access(**keys):
    people = {"viewers": [{"kind": "User", "name": "ann"}]}
    config = tenant_config(people=people, **keys)
    found = tenant_objects("dev-team", config, TenancyConfig.model_validate({"mode": "capsule"}))
    return rbac_access(of(*found.capsule, *found.namespaces, *found.access).objects)


def test_a_tenant_may_make_namespaces_anywhere_and_delete_its_own():
    found = access()

    assert found.of(TENANT, CLUSTER).rights == {Permission(verb, "", "namespaces") for verb in ("create", "patch")}
    assert Permission("delete", "", "namespaces") in found.of(TENANT, MADE).rights
    assert NamedRole("flux-tenancy-tenant") in found.of(TENANT, MADE).rights
    assert not found.of(TENANT, "apps").allows(Permission("delete", "", "namespaces"))


def test_its_people_have_the_same_access_in_the_namespaces_that_it_makes():
    ann = Subject(SubjectKind.USER, "ann")

    assert access().of(ann, MADE).rights == {NamedRole("flux-tenancy-viewer")}


def test_a_tenant_that_is_leaving_may_nothing():
    found = tenant_objects(
        "dev-team", tenant_config(state="leaving"), TenancyConfig.model_validate({"mode": "capsule"})
    )

    assert rbac_access(of(*found.capsule, *found.namespaces).objects).grants == {}
