package main

import (
	"context"
	"encoding/json"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	requestcontext "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	rbacinternal "k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// newAuthorizer lets members of system:masters do everything, and others what roles and bindings say, those included that
// every API server creates. The resolver tells the rules of a user and of a role.
func newAuthorizer(access []json.RawMessage) (authorizer.Authorizer, validation.AuthorizationRuleResolver, error) {
	var roles []*rbacv1.Role
	var roleBindings []*rbacv1.RoleBinding
	var clusterRoles []*rbacv1.ClusterRole
	var clusterRoleBindings []*rbacv1.ClusterRoleBinding
	for _, raw := range access {
		found, err := decodeExternal(raw)
		if err != nil {
			return nil, nil, err
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
			return nil, nil, fmt.Errorf("access contains a %T", found)
		}
	}
	for _, role := range bootstrappolicy.ClusterRoles() {
		clusterRoles = append(clusterRoles, &role)
	}
	aggregate(clusterRoles)
	for _, binding := range bootstrappolicy.ClusterRoleBindings() {
		clusterRoleBindings = append(clusterRoleBindings, &binding)
	}
	resolver, rules := validation.NewTestRuleResolver(roles, roleBindings, clusterRoles, clusterRoleBindings)
	joined, err := union.New(
		union.NamedAuthorizer{
			AuthorizerName: "privileged groups",
			Authorizer:     authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup),
		},
		union.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: rbac.New(rules, rules, rules, rules)},
	)
	return joined, resolver, err
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
func forbidden(ctx context.Context, by authorizer.Authorizer, user user.Info, where place, name string, given request) *refusal {
	for _, verb := range given.Verbs {
		if verb == "create" && !where.namespaced {
			continue // Rights for a cluster-scoped object that exists can name it.
		}
		decision, _, err := by.Authorize(ctx, authorizer.AttributesRecord{
			User: user, Verb: verb, Namespace: given.Namespace, Name: name, APIGroup: where.resource.Group,
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

// grants keep users from giving away more rights than they have, as the API server does.
type grants struct {
	rules validation.AuthorizationRuleResolver
	// made are the rules of the Roles of earlier requests by namespace and name; nil for one that was refused.
	made map[string][]rbacv1.PolicyRule
}

// excess returns why a user may not create a Role or RoleBinding. A role that is neither known nor of an earlier request
// is for the cluster to judge.
// Source: pkg/registry/rbac/role/policybased and rolebinding/policybased in k8s.io/kubernetes.
func (g *grants) excess(user user.Info, call call) *refusal {
	ctx := requestcontext.WithUser(requestcontext.WithNamespace(context.Background(), call.namespace), user)
	given := rulesOf(call)
	if binding, isBinding := call.object.(*rbacinternal.RoleBinding); isBinding && call.operation == admission.Create {
		role := binding.RoleRef
		rules, isMade := g.made[call.namespace+"/"+role.Name]
		switch isMade = isMade && role.Kind == "Role"; {
		case isMade && rules == nil:
			return &refusal{Policy: "RBAC", Denied: true, Message: fmt.Sprintf("its Role %s is refused", role.Name)}
		case isMade:
			given = rules
		default:
			given, _ = g.rules.GetRoleReferenceRules(ctx, rbacv1.RoleRef(role), call.namespace)
		}
	}
	if err := validation.ConfirmNoEscalation(ctx, g.rules, given); err != nil {
		return &refusal{Policy: "RBAC", Denied: true, Message: err.Error()}
	}
	return nil
}

// remember keeps the rules of a new Role for the RoleBindings of later requests.
func (g *grants) remember(call call, accepted bool) {
	rules := rulesOf(call)
	if !accepted {
		rules = nil
	}
	g.made[call.namespace+"/"+call.name] = rules
}

// rulesOf are the rules of a new Role; nil for anything else.
func rulesOf(call call) []rbacv1.PolicyRule {
	role := &rbacv1.Role{}
	internal, isRole := call.object.(*rbacinternal.Role)
	if !isRole || call.operation != admission.Create || legacyscheme.Scheme.Convert(internal, role, nil) != nil {
		return nil
	}
	return append([]rbacv1.PolicyRule{}, role.Rules...)
}
