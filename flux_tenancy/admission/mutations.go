package main

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
)

// mutate changes the object of a request as MutatingAdmissionPolicies do, in the order in which they are given.
func (p *policies) mutate(ctx context.Context, attributes admission.Attributes, interfaces admission.ObjectInterfaces) *refusal {
	if attributes.GetObject() == nil {
		return nil
	}
	if err := p.addNamespace(attributes.GetNamespace()); err != nil {
		return &refusal{Denied: true, Message: err.Error()}
	}
	for _, hook := range p.mutations {
		if err := p.mutator.Dispatch(ctx, attributes, interfaces, []mutating.PolicyHook{hook}); err != nil {
			return &refusal{Policy: hook.Policy.Name, Denied: true, Message: ownWords(err.Error(), "denied request: ")}
		}
	}
	return nil
}

// compileMutation does what the plugin MutatingAdmissionPolicy does when it sees a policy, for JSON patches.
// Source: compilePolicy in k8s.io/apiserver/pkg/admission/plugin/policy/mutating/compilation.go, which is not exported.
func compileMutation(policy *admissionregistrationv1.MutatingAdmissionPolicy, base *environment.EnvSet) (mutating.PolicyEvaluator, error) {
	spec := policy.Spec
	compiler, err := cel.NewCompositedCompiler(base)
	if err != nil {
		return mutating.PolicyEvaluator{}, err
	}
	declared := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	variables := make([]cel.NamedExpressionAccessor, len(spec.Variables))
	for i, each := range spec.Variables {
		variables[i] = &validating.Variable{Name: each.Name, Expression: each.Expression}
	}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)
	matcher := conditionMatcher(compiler, spec.MatchConditions, declared, spec.FailurePolicy, policy.Name)
	declared.HasPatchTypes = true
	var patchers []patch.Patcher
	for _, each := range spec.Mutations {
		if each.JSONPatch == nil {
			return mutating.PolicyEvaluator{}, fmt.Errorf("a mutation is no JSON patch")
		}
		condition := &patch.JSONPatchCondition{Expression: each.JSONPatch.Expression}
		compiled := compiler.CompileMutatingEvaluator(condition, declared, environment.StoredExpressions)
		patchers = append(patchers, patch.NewJSONPatcher(compiled))
	}
	return mutating.PolicyEvaluator{Matcher: matcher, Mutators: patchers, CompositedCompiler: compiler}, nil
}

// untyped is asked for the types of objects, which only apply configurations need.
type untyped struct{}

func (untyped) GetTypeConverter(schema.GroupVersionKind) managedfields.TypeConverter {
	return managedfields.NewDeducedTypeConverter()
}

func (untyped) Run(context.Context) {}
