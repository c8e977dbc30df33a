"""The policy pack: the rules of `review/rules/table.py` for `pulumi preview --policy-pack policy`.

Put here what translates between Pulumi's SDK for policy packs and the rules; what breaks a rule is in `review`.
"""
