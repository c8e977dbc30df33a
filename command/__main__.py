"""`python -m command` is `flux-tenancy`."""

from command.app import main

main()
