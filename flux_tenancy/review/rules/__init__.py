"""The rules that no stack may break, as pure functions over a render, their waivers and findings.

Put here a further rule; what admission refuses in the cluster is a policy of `components`.
"""
