package main

import (
	"context"
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	aggregate(clusterRoles)
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

// aggregate gives each role the rules of those that it selects, as the controller of kube-controller-manager does. Selected
// roles can select others: `admin` selects `edit`, which selects `view`.
func aggregate(roles []*rbacv1.ClusterRole) {
	own := make([][]rbacv1.PolicyRule, len(roles))
	for i, role := range roles {
		own[i] = role.Rules
	}
	var rulesOf func(i, depth int) []rbacv1.PolicyRule
	rulesOf = func(i, depth int) []rbacv1.PolicyRule {
		if roles[i].AggregationRule == nil || depth > len(roles) {
			return own[i]
		}
		var found []rbacv1.PolicyRule
		for _, each := range roles[i].AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&each)
			for j, role := range roles {
				if err == nil && i != j && selector.Matches(labels.Set(role.Labels)) {
					found = append(found, rulesOf(j, depth+1)...)
				}
			}
		}
		return found
	}
	for i := range roles {
		roles[i].Rules = rulesOf(i, 0)
	}
}

// forbidden returns why RBAC does not let the user do all of this with objects of a kind; nil if it does.
func forbidden(ctx context.Context, by authorizer.Authorizer, user user.Info, where place, given request) *refusal {
	for _, verb := range given.Verbs {
		decision, _, err := by.Authorize(ctx, authorizer.AttributesRecord{
			User: user, Verb: verb, Namespace: given.Namespace, APIGroup: where.resource.Group,
			APIVersion: where.resource.Version, Resource: where.resource.Resource, ResourceRequest: true,
		})
		if decision == authorizer.DecisionAllow {
			continue
		}
		in := "at the cluster scope"
		if given.Namespace != "" {
			in = fmt.Sprintf("in the namespace %q", given.Namespace)
		}
		message := fmt.Sprintf(
			"User %q cannot %s resource %q in API group %q %s", user.GetName(), verb, where.resource.Resource, where.resource.Group, in,
		)
		if err != nil {
			message += ": " + err.Error()
		}
		return &refusal{Policy: "RBAC", Denied: true, Message: message}
	}
	return nil
}
