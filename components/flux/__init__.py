"""What FluxInstall is made of: pure functions over a release's manifests, and the reading of that release."""
