"""The commands that `make` and the workflows run, one module each: options, exit codes and what they print.

Put here what a new command reads and prints; what it computes belongs below.
"""
