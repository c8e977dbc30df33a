"""Reading: the files of a stack, merged and validated, with the place of every value for messages.

Put here what knows how a stack is written; what its values mean together is checked in `checks`.
"""
