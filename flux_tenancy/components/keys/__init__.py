"""SSH, age, OpenPGP and cosign keys, certificates and known hosts: reading them and refusing what is no key.

Put here what needs nothing but the text of a key.
"""
