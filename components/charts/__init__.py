"""Products that are installed by their Helm chart: the chart as a pinned input, and the release as one resource.

Put here what is the same for each of them; what depends on the product is in its own package.
"""
