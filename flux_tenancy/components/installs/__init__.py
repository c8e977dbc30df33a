"""What a stack installs: Flux, Kyverno and Capsule, and what products that come as a Helm chart share.

Put here what depends on the release of a product, in its folder; what one tenant has of it belongs in `tenant`.
"""
