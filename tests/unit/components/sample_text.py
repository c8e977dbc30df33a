"""Text that would steer a terminal."""

ESCAPES = "a\x1b[31mred\x1b]0;title\x07\x9b2Jb\r\nerror: forged\u202eleft\u2066\u200b\u2028c"
SHOWN = "a [31mred ]0;title 2Jb error: forged left c"
"""The same as it is shown."""
