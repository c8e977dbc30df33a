"""`flux-tenancy monitoring`: metrics, alerts and dashboards of a stack, for Prometheus and Grafana.

Put here what only a monitoring system reads. Queries, alerts and panels are data: `rules.yaml` and `dashboards.yaml`.
"""
