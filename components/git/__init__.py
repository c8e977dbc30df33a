"""What is to be known of Git hosts and of the keys that they and Flux take, as plain data without Pulumi."""
