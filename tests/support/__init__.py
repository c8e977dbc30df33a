"""What tests with real parts share: their own lab, and their own Pulumi project on it."""
