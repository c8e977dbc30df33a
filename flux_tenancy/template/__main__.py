"""Turns a Kubernetes cluster into a multi-tenant Flux platform, from one typed configuration."""

from pathlib import Path

from flux_tenancy.program import run

run(Path(__file__).parent)
