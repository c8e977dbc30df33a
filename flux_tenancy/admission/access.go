package main

import (
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// newAuthorizer lets members of system:masters do everything, and others what roles and bindings say, those included that
// every API server creates.
func newAuthorizer(access []json.RawMessage) (authorizer.Authorizer, error) {
	var roles []*rbacv1.Role
	var roleBindings []*rbacv1.RoleBinding
	var clusterRoles []*rbacv1.ClusterRole
	var clusterRoleBindings []*rbacv1.ClusterRoleBinding
	for _, raw := range access {
		found, err := decodeExternal(raw)
		if err != nil {
			return nil, err
		}
		switch found := found.(type) {
		case *rbacv1.Role:
			roles = append(roles, found)
		case *rbacv1.RoleBinding:
			roleBindings = append(roleBindings, found)
		case *rbacv1.ClusterRole:
			clusterRoles = append(clusterRoles, found)
		case *rbacv1.ClusterRoleBinding:
			clusterRoleBindings = append(clusterRoleBindings, found)
		default:
			return nil, fmt.Errorf("access contains a %T", found)
		}
	}
	for _, role := range bootstrappolicy.ClusterRoles() {
		clusterRoles = append(clusterRoles, &role)
	}
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		clusterRoleBindings = append(clusterRoleBindings, &binding)
	}
	_, rules := validation.NewTestRuleResolver(roles, roleBindings, clusterRoles, clusterRoleBindings)
	return union.New(
		union.NamedAuthorizer{
			AuthorizerName: "privileged groups",
			Authorizer:     authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup),
		},
		union.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: rbac.New(rules, rules, rules, rules)},
	)
}
