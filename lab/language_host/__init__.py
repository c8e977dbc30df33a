"""Pulumi's language host for Python, for machines without the official CLI.

The official host is a Go program that ships with the official CLI and is not to be had as a Go module. This one is a
thin layer over what the Python SDK itself brings: `pulumi.automation._server.LanguageServer` runs a program, and the
generated protocol stubs do the rest.

Source: Pulumi's `proto/pulumi/language.proto`.
"""
