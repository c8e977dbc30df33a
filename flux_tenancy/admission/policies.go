package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/generic"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/warning"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// policies asks ValidatingAdmissionPolicies, each on its own, so that the answer has all that refuse, after
// MutatingAdmissionPolicies have changed the object.
type policies struct {
	mutations []mutating.PolicyHook
	mutator   generic.Dispatcher[mutating.PolicyHook]
	// hooks have no evaluator until the first request that matches: compiling all takes a second.
	hooks      []validating.PolicyHook
	base       *environment.EnvSet
	matcher    generic.PolicyMatcher
	dispatcher generic.Dispatcher[validating.PolicyHook]
	namespaces cache.Indexer
}

func newPolicies(given, namespaces []json.RawMessage, authorizer authorizer.Authorizer) (*policies, error) {
	result := &policies{
		namespaces: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}),
	}
	for _, raw := range namespaces {
		found, err := decodeExternal(raw)
		if err != nil {
			return nil, err
		}
		if err := result.namespaces.Add(found); err != nil {
			return nil, err
		}
	}
	var order []*admissionregistrationv1.ValidatingAdmissionPolicy
	bindings := map[string][]*admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	var mutations []*admissionregistrationv1.MutatingAdmissionPolicy
	mutationBindings := map[string][]*admissionregistrationv1.MutatingAdmissionPolicyBinding{}
	for _, raw := range given {
		found, err := decodeExternal(raw)
		if err != nil {
			return nil, err
		}
		switch found := found.(type) {
		case *admissionregistrationv1.ValidatingAdmissionPolicy:
			order = append(order, found)
		case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
			bindings[found.Spec.PolicyName] = append(bindings[found.Spec.PolicyName], found)
		case *admissionregistrationv1.MutatingAdmissionPolicy:
			mutations = append(mutations, found)
		case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
			mutationBindings[found.Spec.PolicyName] = append(mutationBindings[found.Spec.PolicyName], found)
		default:
			return nil, fmt.Errorf("policies contain a %T", found)
		}
	}
	for _, policy := range order {
		result.hooks = append(result.hooks, validating.PolicyHook{Policy: policy, Bindings: bindings[policy.Name]})
	}
	result.base = environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	// No client: a namespace that is asked for is always listed.
	matcher := matching.NewMatcher(listersv1.NewNamespaceLister(result.namespaces), nil)
	result.matcher = generic.NewPolicyMatcher(matcher)
	result.dispatcher = validating.NewDispatcher(authorizer, result.matcher)
	result.mutator = mutating.NewDispatcher(authorizer, matcher, untyped{})
	for _, policy := range mutations {
		evaluator, err := compileMutation(policy, result.base)
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", policy.Name, err)
		}
		result.mutations = append(result.mutations, mutating.PolicyHook{
			Policy: policy, Bindings: mutationBindings[policy.Name], Evaluator: evaluator,
		})
	}
	return result, nil
}

// ask returns what policies and Pod Security have against a request.
func (p *policies) ask(ctx context.Context, attributes admission.Attributes, interfaces admission.ObjectInterfaces) ([]refusal, error) {
	if err := p.addNamespace(attributes.GetNamespace()); err != nil {
		return nil, err
	}
	var found []refusal
	for i := range p.hooks {
		hook := &p.hooks[i]
		name := hook.Policy.Name
		matches, _, _, err := p.matcher.DefinitionMatches(attributes, interfaces, validating.NewValidatingAdmissionPolicyAccessor(hook.Policy))
		if err != nil {
			return nil, fmt.Errorf("policy %s: %w", name, err)
		}
		if !matches {
			continue
		}
		if hook.Evaluator == nil {
			if hook.Evaluator, err = compile(hook.Policy, p.base); err != nil {
				return nil, fmt.Errorf("policy %s: %w", name, err)
			}
		}
		warnings := &recorder{}
		err = p.dispatcher.Dispatch(
			warning.WithWarningRecorder(ctx, warnings), attributes, interfaces, []validating.PolicyHook{*hook},
		)
		if err != nil {
			found = append(found, refusal{Policy: name, Denied: true, Message: ownWords(err.Error(), "denied request: ")})
		}
		for _, text := range warnings.texts {
			found = append(found, refusal{Policy: name, Message: ownWords(text, fmt.Sprintf("with binding '%s': ", name))})
		}
	}
	ofPods, err := p.askPodSecurity(attributes)
	return append(found, ofPods...), err
}

// addNamespace makes a namespace that is not listed one without labels and annotations.
func (p *policies) addNamespace(name string) error {
	if _, exists, _ := p.namespaces.GetByKey(name); name == "" || exists {
		return nil
	}
	return p.namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// ownWords is what the policy says, without the words with which the API server introduces it.
func ownWords(message, introduction string) string {
	if _, own, found := strings.Cut(message, introduction); found {
		return own
	}
	return message
}

type recorder struct{ texts []string }

func (r *recorder) AddWarning(_, text string) { r.texts = append(r.texts, text) }

// compile does what the plugin ValidatingAdmissionPolicy does when it sees a policy, with the same functions.
// Source: compilePolicy in k8s.io/apiserver/pkg/admission/plugin/policy/validating/plugin.go, which is not exported.
func compile(policy *admissionregistrationv1.ValidatingAdmissionPolicy, base *environment.EnvSet) (validating.Validator, error) {
	compiler, err := cel.NewCompositedCompiler(base)
	if err != nil {
		return nil, err
	}
	full := cel.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil, HasAuthorizer: true}
	forMessages := cel.OptionalVariableDeclarations{HasParams: policy.Spec.ParamKind != nil}
	spec := policy.Spec
	variables := make([]cel.NamedExpressionAccessor, len(spec.Variables))
	for i, each := range spec.Variables {
		variables[i] = &validating.Variable{Name: each.Name, Expression: each.Expression}
	}
	compiler.CompileAndStoreVariables(variables, full, environment.StoredExpressions)

	validations := make([]cel.ExpressionAccessor, len(spec.Validations))
	messages := make([]cel.ExpressionAccessor, len(spec.Validations))
	for i, each := range spec.Validations {
		validations[i] = &validating.ValidationCondition{Expression: each.Expression, Message: each.Message, Reason: each.Reason}
		if each.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: each.MessageExpression}
		}
	}
	matcher := conditionMatcher(compiler, spec.MatchConditions, full, spec.FailurePolicy, policy.Name)
	return validating.NewValidator(
		compiler.CompileCondition(validations, full, environment.StoredExpressions),
		matcher,
		compiler.CompileCondition(nil, full, environment.StoredExpressions),
		compiler.CompileCondition(messages, forMessages, environment.StoredExpressions),
		spec.FailurePolicy,
		nil,
	), nil
}

// conditionMatcher evaluates the conditions of a policy; nil without any.
func conditionMatcher(
	compiler *cel.CompositedCompiler, written []admissionregistrationv1.MatchCondition, declared cel.OptionalVariableDeclarations,
	failure *admissionregistrationv1.FailurePolicyType, name string,
) matchconditions.Matcher {
	if len(written) == 0 {
		return nil
	}
	conditions := make([]cel.ExpressionAccessor, len(written))
	for i := range written {
		conditions[i] = (*matchconditions.MatchCondition)(&written[i])
	}
	return matchconditions.NewMatcher(
		compiler.CompileCondition(conditions, declared, environment.StoredExpressions), failure, "policy", "validate", name,
	)
}
