package main

import (
	"context"
	"encoding/json"
	"fmt"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/rest"
)

// custom is a kind of a CustomResourceDefinition. Its rules are compiled when it is first asked for.
type custom struct {
	place
	definition apiextensionsv1.CustomResourceDefinitionVersion
	schema     *structuralschema.Structural
	strategy   rest.RESTCreateUpdateStrategy
	status     rest.RESTUpdateStrategy
}

func (k *custom) objectInterfaces() admission.ObjectInterfaces {
	return admission.NewObjectInterfacesFromScheme(runtime.NewScheme())
}

// decode returns the object with defaults, without unknown fields, and those.
// Source: unstructuredSchemaCoercer in k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
func (k *custom) decode(raw []byte) (runtime.Object, []fieldError) {
	if err := k.compile(); err != nil {
		return nil, []fieldError{{Message: err.Error()}}
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, []fieldError{{Message: err.Error()}}
	}
	metadata, found, unknown, err := objectmeta.GetObjectMetaWithOptions(
		object.Object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true},
	)
	if err != nil {
		return nil, []fieldError{typeError(err)}
	}
	if err, unknownInside := objectmeta.CoerceWithOptions(nil, object.Object, k.schema, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); err != nil {
		return nil, []fieldError{{Path: err.Field, Message: err.ErrorBody()}}
	} else {
		unknown = append(unknown, unknownInside...)
	}
	unknown = append(unknown, pruning.PruneWithOptions(
		object.Object, k.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true},
	)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, k.schema)
	object.SetGroupVersionKind(k.kind)
	if found {
		if err := objectmeta.SetObjectMeta(object.Object, metadata); err != nil {
			return nil, []fieldError{{Path: "metadata", Message: err.Error()}}
		}
	}
	defaulting.Default(object.UnstructuredContent(), k.schema)
	var errors []fieldError
	for _, path := range unknown {
		errors = append(errors, fieldError{Path: path, Message: unknownField})
	}
	return object, errors
}

func (k *custom) check(ctx context.Context, call call, validate validateFunc) error {
	switch {
	case call.operation == admission.Create && call.subresource == "":
		rest.FillObjectMetaSystemFields(call.object.(*unstructured.Unstructured))
		if err := rest.BeforeCreate(k.strategy, ctx, call.object); err != nil {
			return err
		}
	case call.operation == admission.Update && call.subresource == "status":
		if err := rest.BeforeUpdate(k.status, ctx, call.object, call.old); err != nil {
			return err
		}
	case call.operation == admission.Update:
		if err := rest.BeforeUpdate(k.strategy, ctx, call.object, call.old); err != nil {
			return err
		}
	}
	return validate(ctx, call.object, call.old)
}

// compile prepares what the version's schema asks for.
// Source: getOrCreateServingInfoFor in k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
func (k *custom) compile() error {
	if k.strategy != nil {
		return nil
	}
	if k.definition.Schema == nil {
		return fmt.Errorf("its CustomResourceDefinition has no schema")
	}
	internal := &apiextensionsinternal.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(k.definition.Schema, internal, nil); err != nil {
		return err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return err
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		return err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return err
	}
	var statusValidator validation.SchemaValidator
	var status *apiextensionsinternal.CustomResourceSubresourceStatus
	if k.definition.Subresources != nil && k.definition.Subresources.Status != nil {
		status = &apiextensionsinternal.CustomResourceSubresourceStatus{}
		if schema, found := internal.OpenAPIV3Schema.Properties["status"]; found {
			if statusValidator, _, err = validation.NewSchemaValidator(&schema); err != nil {
				return err
			}
		}
	}
	strategy := customresource.NewStrategy(
		crdserverscheme.NewUnstructuredObjectTyper(), k.namespaced, k.kind, validator, statusValidator, structural, status, nil,
		k.definition.SelectableFields,
	)
	k.schema, k.strategy, k.status = structural, strategy, customresource.NewStatusStrategy(strategy)
	return nil
}

// addCustomKinds adds the served versions of CustomResourceDefinitions.
func addCustomKinds(kinds map[schema.GroupVersionKind]kind, definitions []json.RawMessage) error {
	for _, raw := range definitions {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := json.Unmarshal(raw, definition); err != nil {
			return fmt.Errorf("a CustomResourceDefinition: %w", err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		spec := definition.Spec
		for _, version := range spec.Versions {
			if !version.Served {
				continue
			}
			gv := schema.GroupVersion{Group: spec.Group, Version: version.Name}
			each := place{
				kind:       gv.WithKind(spec.Names.Kind),
				resource:   gv.WithResource(spec.Names.Plural),
				namespaced: spec.Scope == apiextensionsv1.NamespaceScoped,
			}
			kinds[each.kind] = &custom{place: each, definition: version}
		}
	}
	return nil
}
