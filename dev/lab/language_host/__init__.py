"""Pulumi's language host for Python, for machines without the official CLI.

The official host is a Go program that is part of the official CLI and not available as a Go module. This one is a thin
layer over the Python SDK: `pulumi.automation._server.LanguageServer` runs a program, and the generated protocol stubs
do the rest.

Source: Pulumi's `proto/pulumi/language.proto`.
"""
