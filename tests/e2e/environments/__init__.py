"""Both environments of the platform: what one of these tests changes, it puts back, or it is its own tenant's."""
