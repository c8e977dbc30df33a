package main

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"

	// Each registers the versions of an API group.
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/authentication/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"

	"k8s.io/kubernetes/pkg/capabilities"
	admissionregistrationrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	appsrest "k8s.io/kubernetes/pkg/registry/apps/rest"
	autoscalingrest "k8s.io/kubernetes/pkg/registry/autoscaling/rest"
	batchrest "k8s.io/kubernetes/pkg/registry/batch/rest"
	certificatesrest "k8s.io/kubernetes/pkg/registry/certificates/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	endpoints "k8s.io/kubernetes/pkg/registry/core/endpoint/storage"
	limitranges "k8s.io/kubernetes/pkg/registry/core/limitrange/storage"
	persistentvolumes "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	persistentvolumeclaims "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	pods "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	podtemplates "k8s.io/kubernetes/pkg/registry/core/podtemplate/storage"
	replicationcontrollers "k8s.io/kubernetes/pkg/registry/core/replicationcontroller/storage"
	corerest "k8s.io/kubernetes/pkg/registry/core/rest"
	"k8s.io/kubernetes/pkg/registry/core/service/ipallocator"
	"k8s.io/kubernetes/pkg/registry/core/service/portallocator"
	services "k8s.io/kubernetes/pkg/registry/core/service/storage"
	discoveryrest "k8s.io/kubernetes/pkg/registry/discovery/rest"
	flowcontrolrest "k8s.io/kubernetes/pkg/registry/flowcontrol/rest"
	networkingrest "k8s.io/kubernetes/pkg/registry/networking/rest"
	noderest "k8s.io/kubernetes/pkg/registry/node/rest"
	policyrest "k8s.io/kubernetes/pkg/registry/policy/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
	storagerest "k8s.io/kubernetes/pkg/registry/storage/rest"
)

// builtin is a kind of Kubernetes itself. A request for it is a dry run of the API server's own registry.
type builtin struct {
	place
	scheme     *runtime.Scheme
	codecs     serializer.CodecFactory
	storages   map[string]rest.Storage // of the resource and its subresources
	memory     *memory
	interfaces admission.ObjectInterfaces
}

func (k *builtin) objectInterfaces() admission.ObjectInterfaces { return k.interfaces }

// decode returns the object with defaults in its internal version, and its unknown and duplicate fields.
func (k *builtin) decode(raw []byte) (runtime.Object, []fieldError) {
	return decodeStrictly(k.codecs, raw)
}

func (k *builtin) check(ctx context.Context, call call, validate validateFunc) error {
	storage := k.storages[call.resource()]
	k.memory.current = call.old
	switch {
	case call.operation == admission.Create && call.subresource == "":
		creater, can := storage.(rest.Creater)
		if !can {
			return fmt.Errorf("%s cannot be created", k.resource.Resource)
		}
		_, err := creater.Create(ctx, call.object, func(ctx context.Context, object runtime.Object) error {
			return validate(ctx, object, nil)
		}, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	case call.operation == admission.Update:
		updater, can := storage.(rest.Updater)
		if !can {
			return fmt.Errorf("%s cannot be updated", call.resource())
		}
		info := rest.DefaultUpdatedObjectInfo(call.object)
		options := &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
		_, _, err := updater.Update(ctx, call.name, info, rest.ValidateAllObjectFunc, rest.ValidateObjectUpdateFunc(validate), false, options)
		return err
	}
	// Deletions, and what is sent to a subresource, are for other parts of the server to judge.
	if call.operation == admission.Create {
		return validate(ctx, call.object, nil)
	}
	return validate(ctx, call.object, call.old)
}

// provider makes the registries of an API group.
type provider interface {
	GroupName() string
	NewRESTStorage(serverstorage.APIResourceConfigSource, generic.RESTOptionsGetter) (genericapiserver.APIGroupInfo, error)
}

// stable enables what the API server serves by default: the stable versions of all groups.
// Source: https://kubernetes.io/docs/reference/using-api/#api-versioning
type stable struct{}

func (stable) ResourceEnabled(resource schema.GroupVersionResource) bool {
	return stableVersion.MatchString(resource.Version)
}

func (stable) ResourceExplicitlyEnabled(schema.GroupVersionResource) bool { return false }

func (stable) VersionExplicitlyEnabled(schema.GroupVersion) bool { return false }

func (stable) AnyResourceForGroupEnabled(string) bool { return true }

var stableVersion = regexp.MustCompile(`^v\d+$`)

// builtinKinds are the kinds that the API server serves by default, without those that are only asked questions.
func builtinKinds(authorizer authorizer.Authorizer) (map[schema.GroupVersionKind]kind, error) {
	// As --allow-privileged, which clusters set; privileged containers are for policies to refuse.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	memory := &memory{}
	options := memory.options(legacyscheme.Codecs.LegacyCodec(legacyscheme.Scheme.PrioritizedVersionsAllGroups()...))
	interfaces := admission.NewObjectInterfacesFromScheme(legacyscheme.Scheme)
	kinds := map[schema.GroupVersionKind]kind{}
	for _, each := range []provider{
		&corerest.GenericConfig{},
		admissionregistrationrest.RESTStorageProvider{Authorizer: authorizer},
		appsrest.StorageProvider{},
		autoscalingrest.RESTStorageProvider{},
		batchrest.RESTStorageProvider{},
		certificatesrest.RESTStorageProvider{Authorizer: authorizer},
		coordinationrest.RESTStorageProvider{},
		discoveryrest.StorageProvider{},
		flowcontrolrest.RESTStorageProvider{},
		networkingrest.RESTStorageProvider{},
		noderest.RESTStorageProvider{},
		policyrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: authorizer},
		schedulingrest.RESTStorageProvider{},
		storagerest.RESTStorageProvider{},
	} {
		group, err := each.NewRESTStorage(stable{}, options)
		if err != nil {
			return nil, err
		}
		name := each.GroupName()
		for version, storages := range group.VersionedResourcesStorageMap {
			if name == "" {
				if err := addCore(storages, options, authorizer); err != nil {
					return nil, err
				}
			}
			register(kinds, schema.GroupVersion{Group: name, Version: version}, builtin{
				scheme: legacyscheme.Scheme, codecs: legacyscheme.Codecs, storages: storages, memory: memory, interfaces: interfaces,
			})
		}
	}
	definitions, err := customresourcedefinition.NewREST(
		extensions.Scheme, memory.options(extensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)),
	)
	if err != nil {
		return nil, err
	}
	register(kinds, apiextensionsv1.SchemeGroupVersion, builtin{
		scheme:     extensions.Scheme,
		codecs:     extensions.Codecs,
		storages:   map[string]rest.Storage{apiextensionsinternal.Resource("customresourcedefinitions").Resource: definitions},
		memory:     memory,
		interfaces: admission.NewObjectInterfacesFromScheme(extensions.Scheme),
	})
	return kinds, nil
}

// register adds the kinds of a version of an API group.
func register(kinds map[schema.GroupVersionKind]kind, version schema.GroupVersion, template builtin) {
	for resource, storage := range template.storages {
		scoper, scoped := storage.(rest.Scoper)
		if strings.Contains(resource, "/") || !scoped {
			continue
		}
		found, _, err := template.scheme.ObjectKinds(storage.New())
		if err != nil {
			continue
		}
		each := template
		each.place = place{
			kind:       version.WithKind(found[0].Kind),
			resource:   version.WithResource(resource),
			namespaced: scoper.NamespaceScoped(),
		}
		kinds[each.kind] = &each
	}
}

// addCore adds the kinds of the core group that only a server with nodes and Services has. Addresses and ports are those
// of a server's defaults.
func addCore(storages map[string]rest.Storage, options generic.RESTOptionsGetter, authorizer authorizer.Authorizer) error {
	templates, err := podtemplates.NewREST(options)
	if err != nil {
		return err
	}
	limits, err := limitranges.NewREST(options)
	if err != nil {
		return err
	}
	volumes, volumeStatus, err := persistentvolumes.NewREST(options)
	if err != nil {
		return err
	}
	claims, claimStatus, err := persistentvolumeclaims.NewREST(options)
	if err != nil {
		return err
	}
	addresses, err := endpoints.NewREST(options)
	if err != nil {
		return err
	}
	controllers, err := replicationcontrollers.NewStorage(options)
	if err != nil {
		return err
	}
	pod, err := pods.NewStorage(options, nil, nil, nil, authorizer)
	if err != nil {
		return err
	}
	_, cidr, err := net.ParseCIDR("10.0.0.0/16")
	if err != nil {
		return err
	}
	ips, err := ipallocator.NewInMemory(cidr)
	if err != nil {
		return err
	}
	ports, err := portallocator.NewInMemory(utilnet.PortRange{Base: 30000, Size: 2768})
	if err != nil {
		return err
	}
	families := map[api.IPFamily]ipallocator.Interface{api.IPv4Protocol: ips}
	service, serviceStatus, _, err := services.NewREST(options, api.IPv4Protocol, families, ports, nil, pod.Pod, nil)
	if err != nil {
		return err
	}
	for name, storage := range map[string]rest.Storage{
		"podtemplates":                  templates,
		"limitranges":                   limits,
		"persistentvolumes":             volumes,
		"persistentvolumes/status":      volumeStatus,
		"persistentvolumeclaims":        claims,
		"persistentvolumeclaims/status": claimStatus,
		"endpoints":                     addresses,
		"replicationcontrollers":        controllers.Controller,
		"replicationcontrollers/status": controllers.Status,
		"bindings":                      pod.LegacyBinding,
		"pods":                          pod.Pod,
		"pods/binding":                  pod.Binding,
		"pods/ephemeralcontainers":      pod.EphemeralContainers,
		"pods/eviction":                 pod.Eviction,
		"pods/resize":                   pod.Resize,
		"pods/status":                   pod.Status,
		"services":                      service,
		"services/status":               serviceStatus,
	} {
		storages[name] = storage
	}
	return nil
}
