"""Who may do what by the objects of a render, and what of it changes, in sentences.

Put here a further source of rights or limits, with the sentence that says what it allows.
"""
