"""Tenancy policies: one table of data, rendered for each admission engine."""
