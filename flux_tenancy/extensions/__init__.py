"""Extensions: each a folder that the product works without, with its commands, its logic and nothing of it elsewhere.

Put here what is around the product and not everybody needs, as a group of commands, which `pyproject.toml` registers.
"""
