"""What a Pulumi project is called by; in a module of its own, which imports nothing, for completions of a shell."""

PROJECT_FILE = "Pulumi.yaml"
"""The file that describes a project, in its folder."""
