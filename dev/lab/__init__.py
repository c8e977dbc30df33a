"""The lab: a real cluster, Git host and Pulumi engine on this machine, without containers."""
