"""What an API server would answer to a render, without one: schemas, CEL rules and this program's own policies.

Put here what asks the program `offline-admission`, or reads its answers.
"""
