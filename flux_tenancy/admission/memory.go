package main

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// memory stands in for etcd. It holds one object at most, which is all that a dry run reads; a dry run writes nothing.
type memory struct {
	storage.Interface
	// current is the object before the request, in its internal version; nil if there is none.
	current runtime.Object
}

func (m *memory) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (m *memory) Get(_ context.Context, key string, options storage.GetOptions, into runtime.Object) error {
	if m.current == nil {
		if options.IgnoreNotFound {
			return nil
		}
		return storage.NewKeyNotFoundError(key, 0)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(m.current.DeepCopyObject()).Elem())
	return nil
}

// options gives the registries of all resources this storage.
func (m *memory) options(codec runtime.Codec) generic.RESTOptionsGetter {
	return getter{m, codec}
}

type getter struct {
	memory *memory
	codec  runtime.Codec
}

func (g getter) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.Config{Codec: g.codec}
	return generic.RESTOptions{
		StorageConfig:  config.ForResource(resource),
		ResourcePrefix: resource.String(),
		Decorator: func(
			*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers,
		) (storage.Interface, factory.DestroyFunc, error) {
			return g.memory, func() {}, nil
		},
	}, nil
}
