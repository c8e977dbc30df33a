"""What the program reads from Pulumi and Git: the command line that runs it, the state of the stack, update plans.

Put here what would be the same for a stack without Kubernetes.
"""

PROJECT_FILE = "Pulumi.yaml"
"""The file that describes a project, in its folder."""
