"""What SOPS, age and OpenPGP take to keep secrets in Git, as plain data without Pulumi."""
