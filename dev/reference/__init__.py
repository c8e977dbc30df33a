"""Generates the reference pages of docs/ and the JSON Schemas from models, tables and messages.

Put a generated page here; the product imports nothing of it.
"""
