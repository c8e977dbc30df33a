"""`flux-tenancy`: the command for everything beside `pulumi`, one module for each group of commands.

Put here options, exit codes and output. Put into `operations`, `review` and `isolation` what a command computes; it is
imported when the command runs, so that `--help` and completion answer at once.
"""
