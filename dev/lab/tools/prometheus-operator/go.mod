module flux-tenancy.local/lab/tools/prometheus-operator

go 1.26.2

require github.com/prometheus-operator/prometheus-operator v0.85.0
