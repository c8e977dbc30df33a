"""What platform admins do with one tenant, and what they see of all: onboarding to offboarding, state, violations.

Put here what a command of the group `tenant` computes.
"""
