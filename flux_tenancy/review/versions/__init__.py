"""The project as it was at the merge base, and its stacks as its own program renders them.

Put here what needs Git or an earlier version of the program.
"""
