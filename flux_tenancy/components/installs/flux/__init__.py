"""FluxInstall and PlatformSync: a pinned release, locked down, and the repository of the platform itself.

Put here what depends on the Flux release, its controllers and their flags.
"""
