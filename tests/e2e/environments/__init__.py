"""Both environments of the platform: a test restores what it changes, or changes only its own tenant."""
