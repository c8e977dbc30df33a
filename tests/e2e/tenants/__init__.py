"""What tenants may have: one platform with a tenant or more for each feature, brought up by one update."""
