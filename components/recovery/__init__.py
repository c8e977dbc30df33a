"""What a killed or blocked update has left, and what others have done to the stack's objects: finding and ending it.

Put here what an update looks for before its first resource because an earlier one did not end as it should.
"""
