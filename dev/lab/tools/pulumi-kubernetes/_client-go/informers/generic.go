// Package informers has the one type that a client for objects of any kind
// takes of client-go's package of this name (see edits in lab/tools.yaml). That
// package names the types of all kinds, a tenth of the plugin's time to compile.
package informers

import "k8s.io/client-go/tools/cache"

// GenericInformer watches the objects of a kind that is known at run time only.
type GenericInformer interface {
	Informer() cache.SharedIndexInformer
	Lister() cache.GenericLister
}
