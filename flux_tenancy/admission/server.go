package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	requestcontext "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// errDenied ends a request that a policy refuses.
var errDenied = errors.New("refused by a policy")

const unknownField = "unknown field"

// place is where objects of a kind are.
type place struct {
	kind       schema.GroupVersionKind
	resource   schema.GroupVersionResource
	namespaced bool
}

func (p place) where() place { return p }

// call is a request with decoded objects.
type call struct {
	place
	operation   admission.Operation
	subresource string
	// bodyKind is the kind of what is sent, which for a subresource can be another than that of the resource.
	bodyKind schema.GroupVersionKind
	name     string
	// namespace is empty for cluster-scoped objects.
	namespace string
	// scope is the namespace as policies see it, which for a Namespace can be its own name.
	scope       string
	object, old runtime.Object
}

// resource is the resource with the subresource, as registries name them.
func (c call) resource() string {
	if c.subresource == "" {
		return c.place.resource.Resource
	}
	return c.place.resource.Resource + "/" + c.subresource
}

// validateFunc is called with the object as it would be stored, and with the one before.
type validateFunc func(ctx context.Context, object, old runtime.Object) error

// kind is a kind that the server knows.
type kind interface {
	where() place
	objectInterfaces() admission.ObjectInterfaces
	// decode returns the object with defaults, nil if this is impossible, and what is wrong with its form.
	decode(raw []byte) (runtime.Object, []fieldError)
	// check validates the objects as the API server does, and calls validate unless they are invalid.
	check(ctx context.Context, call call, validate validateFunc) error
}

// server answers requests.
type server struct {
	kinds      map[schema.GroupVersionKind]kind
	policies   *policies
	authorizer authorizer.Authorizer
	grants     *grants
	bounds     *bounds
}

func newServer(given input) (*server, error) {
	authorizer, rules, err := newAuthorizer(given.Access)
	if err != nil {
		return nil, err
	}
	kinds, err := builtinKinds(authorizer)
	if err != nil {
		return nil, err
	}
	if err := addCustomKinds(kinds, given.Definitions); err != nil {
		return nil, err
	}
	policies, err := newPolicies(given.Policies, given.Namespaces, authorizer)
	if err != nil {
		return nil, err
	}
	bounds, err := newBounds(given.Quotas, given.Limits)
	if err != nil {
		return nil, err
	}
	grants := &grants{rules: rules, made: map[string][]rbacv1.PolicyRule{}}
	return &server{kinds: kinds, policies: policies, authorizer: authorizer, grants: grants, bounds: bounds}, nil
}

// ask answers one request.
func (s *server) ask(given request) answer {
	result := answer{Errors: []fieldError{}, Refusals: []refusal{}}
	user := userOf(given)
	if len(given.Verbs) > 0 {
		if found := s.forbidden(user, &given); found != nil {
			result.Refusals = append(result.Refusals, *found)
			return result
		}
	}
	kind, call, found := s.read(given)
	result.Errors = append(result.Errors, found...)
	if kind == nil {
		return result
	}
	if len(given.Verbs) > 0 {
		if rulesOf(call) != nil {
			defer func() { s.grants.remember(call, len(result.Errors)+len(result.Refusals) == 0) }()
		}
		if found := s.grants.excess(user, call); found != nil {
			result.Refusals = append(result.Refusals, *found)
			return result
		}
	}
	if found := s.bounds.limit(call); found != nil {
		result.Refusals = append(result.Refusals, *found)
		return result
	}
	attributes := func(object, old runtime.Object) admission.Attributes {
		return admission.NewAttributesRecord(
			object, old, call.bodyKind, call.scope, call.name, call.place.resource, call.subresource, call.operation, nil, true, user,
		)
	}
	if found := s.policies.mutate(context.Background(), attributes(call.object, call.old), kind.objectInterfaces()); found != nil {
		result.Refusals = append(result.Refusals, *found)
		return result
	}
	validate := func(ctx context.Context, object, old runtime.Object) error {
		attributes := attributes(object, old)
		found, err := s.policies.ask(ctx, attributes, kind.objectInterfaces())
		result.Refusals = append(result.Refusals, found...)
		for _, each := range found {
			if each.Denied {
				return errDenied
			}
		}
		if err != nil {
			return err
		}
		if found := s.bounds.charge(attributes, max(given.Count, 1)); found != nil {
			result.Refusals = append(result.Refusals, *found)
			return errDenied
		}
		return nil
	}
	if err := kind.check(registryContext(call), call, validate); err != nil && !errors.Is(err, errDenied) {
		result.Errors = append(result.Errors, fieldErrors(err)...)
	}
	return result
}

// forbidden returns what RBAC refuses, and puts the object into the namespace in which it is applied. The resource of an
// unknown kind is guessed as clients do.
func (s *server) forbidden(user user.Info, given *request) *refusal {
	var object map[string]any
	gvk, metadata, err := identify(given.Object)
	if err != nil || json.Unmarshal(given.Object, &object) != nil {
		return nil // read returns why.
	}
	guessed, _ := meta.UnsafeGuessKindToResource(gvk)
	where := place{kind: gvk, resource: guessed, namespaced: true}
	if kind, known := s.kinds[gvk]; known {
		where = kind.where()
	} else if legacyscheme.Scheme.IsGroupRegistered(gvk.Group) {
		return nil // Clients find no resource to ask for: read returns why.
	}
	if metadata.Namespace != "" {
		given.Namespace = metadata.Namespace
	}
	fields, named := object["metadata"].(map[string]any)
	switch {
	case !where.namespaced:
		given.Namespace = ""
	case named && metadata.Namespace == "":
		fields["namespace"] = given.Namespace
		if given.Object, err = json.Marshal(object); err != nil {
			return nil
		}
	}
	return forbidden(context.Background(), s.authorizer, user, where, metadata.Name, *given)
}

// read decodes the objects of a request. The kind is nil if they cannot be checked further.
func (s *server) read(given request) (kind, call, []fieldError) {
	fail := func(message string) (kind, call, []fieldError) {
		return nil, call{}, []fieldError{{Message: message}}
	}
	target := given.Object
	if given.Old != nil {
		target = given.Old
	}
	gvk, metadata, err := identify(target)
	if err != nil {
		return fail(err.Error())
	}
	kind, known := s.kinds[gvk]
	if !known {
		return fail(s.unknown(gvk))
	}
	result := call{
		place:       kind.where(),
		operation:   admission.Operation(given.Operation),
		subresource: given.Subresource,
		bodyKind:    gvk,
		name:        metadata.Name,
	}
	if result.namespaced {
		if metadata.Namespace == "" {
			return nil, call{}, []fieldError{{Path: "metadata.namespace", Message: "missing"}}
		}
		result.namespace, result.scope = metadata.Namespace, metadata.Namespace
	} else if gvk == corev1.SchemeGroupVersion.WithKind("Namespace") && given.Old != nil {
		result.scope = metadata.Name // As in /api/v1/namespaces/NAME.
	}
	if given.Old != nil {
		if result.old, _ = kind.decode(given.Old); result.old == nil {
			return fail("the object before the request cannot be decoded")
		}
	}
	if result.operation == admission.Delete {
		return kind, result, nil
	}
	if result.bodyKind, _, err = identify(given.Object); err != nil {
		return fail(err.Error())
	}
	var found []fieldError
	if result.bodyKind == gvk {
		result.object, found = kind.decode(given.Object)
	} else {
		result.object, found = decodeStrictly(legacyscheme.Codecs, given.Object)
	}
	if result.object == nil {
		return nil, call{}, found
	}
	if result.operation == admission.Update {
		if err := identifyAsStored(result.old, result.object); err != nil {
			return fail(err.Error())
		}
	}
	return kind, result, found
}

// unknown is the message about an object of an unknown kind, with the versions in which the kind is known.
func (s *server) unknown(gvk schema.GroupVersionKind) string {
	var served []string
	for each := range s.kinds {
		if each.GroupKind() == gvk.GroupKind() {
			served = append(served, each.GroupVersion().String())
		}
	}
	message := fmt.Sprintf("no schema for %s", gvk)
	if len(served) == 0 {
		return message
	}
	slices.Sort(served)
	return fmt.Sprintf("%s; served: %s", message, strings.Join(served, ", "))
}

// userOf is the user with the groups that a service account always has.
func userOf(given request) user.Info {
	groups := given.Groups
	if namespace, _, err := serviceaccount.SplitUsername(given.User); err == nil {
		groups = append(serviceaccount.MakeGroupNames(namespace), groups...)
	}
	return &user.DefaultInfo{Name: given.User, Groups: groups}
}

// registryContext is the context of a request by an administrator: whether the user may give away the rights of a role
// is for the authorizer of the real server to say.
func registryContext(call call) context.Context {
	ctx := requestcontext.WithNamespace(context.Background(), call.namespace)
	ctx = requestcontext.WithUser(ctx, &user.DefaultInfo{Name: "offline-admission", Groups: []string{user.SystemPrivilegedGroup}})
	return requestcontext.WithRequestInfo(ctx, &requestcontext.RequestInfo{
		IsResourceRequest: true,
		APIGroup:          call.place.resource.Group,
		APIVersion:        call.place.resource.Version,
		Resource:          call.place.resource.Resource,
		Subresource:       call.subresource,
		Namespace:         call.namespace,
		Name:              call.name,
	})
}

// identifyAsStored gives both objects of an update what a stored one has, so that they are versions of the same object.
func identifyAsStored(old, object runtime.Object) error {
	for _, each := range []runtime.Object{old, object} {
		accessor, err := meta.Accessor(each)
		if err != nil {
			return err
		}
		if accessor.GetUID() == "" {
			accessor.SetUID("00000000-0000-4000-8000-000000000000")
		}
		accessor.SetResourceVersion("1")
	}
	return nil
}

func identify(raw []byte) (schema.GroupVersionKind, metav1.ObjectMeta, error) {
	var found metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &found); err != nil {
		return schema.GroupVersionKind{}, metav1.ObjectMeta{}, err
	}
	return found.GroupVersionKind(), found.ObjectMeta, nil
}

// decodeExternal returns the object of a kind of Kubernetes in its own version, with defaults.
func decodeExternal(raw []byte) (runtime.Object, error) {
	found, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(found)
	return found, nil
}

// decodeStrictly returns an object in its internal version with defaults, nil if it has no such form, and what is wrong.
func decodeStrictly(codecs serializer.CodecFactory, raw []byte) (runtime.Object, []fieldError) {
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	found, _, err := codecs.DecoderToVersion(info.StrictSerializer, runtime.InternalGroupVersioner).Decode(raw, nil, nil)
	strict, isStrict := runtime.AsStrictDecodingError(err)
	switch {
	case isStrict && found != nil:
		var result []fieldError
		for _, each := range strict.Errors() {
			result = append(result, strictError(each))
		}
		return found, result
	case err != nil:
		return nil, []fieldError{typeError(err)}
	}
	return found, nil
}

var (
	quotedPath = regexp.MustCompile(`^(unknown field|duplicate field) "(.+)"$`)
	structPath = regexp.MustCompile(`^(.*) into Go struct field \w*\.(\S+) of type (\S+)$`)
)

// strictError is an error like `unknown field "spec.replica"`.
func strictError(err error) fieldError {
	if parts := quotedPath.FindStringSubmatch(err.Error()); parts != nil {
		return fieldError{Path: parts[2], Message: parts[1]}
	}
	return fieldError{Message: err.Error()}
}

// typeError is an error like `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`.
func typeError(err error) fieldError {
	if parts := structPath.FindStringSubmatch(err.Error()); parts != nil {
		return fieldError{Path: parts[2], Message: fmt.Sprintf("%s into %s", parts[1], parts[3])}
	}
	return fieldError{Message: err.Error()}
}

// fieldErrors are the errors in an answer of the API server.
func fieldErrors(err error) []fieldError {
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 {
		return []fieldError{{Message: err.Error()}}
	}
	var found []fieldError
	for _, cause := range status.ErrStatus.Details.Causes {
		found = append(found, fieldError{Path: cause.Field, Message: cause.Message})
	}
	return found
}
