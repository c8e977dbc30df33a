"""What the tests with real parts share: a lab of their own, and a Pulumi project of their own on it."""
