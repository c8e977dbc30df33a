module flux-tenancy.local/lab/tools/github-proxy

go 1.26.0
