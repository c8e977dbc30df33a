"""`python -m command` is `flux-tenancy`."""

from flux_tenancy.command.app import main

main()
