"""Edits of a project's files, and what they describe of Flux.

Put here what reads or writes a stack's or a tenant's file for a command.
"""
