// A module of its own, so that go.mod of the folder above need not list what only kube-apiserver's packages import:
// versions of that would have to be those of the other tools.
module flux-tenancy.local/lab/tools/kubernetes/offline-admission

go 1.26.0

require k8s.io/kubernetes v1.37.2
