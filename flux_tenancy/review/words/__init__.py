"""Words and Markdown that everything above shares: lists, sentences of a report, text of others made harmless.

Put here what knows nothing of stacks.
"""
