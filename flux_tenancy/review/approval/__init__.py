"""Approvals: comparing the approved render with what a stack would apply, and stopping an update that differs.

Put here a decision that depends on an approval; how reviewers see a change is in `report`.
"""
