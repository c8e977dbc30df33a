"""The CEL expressions that a tenant may have Flux's controllers evaluate, as a grammar without recursion.

Flux bounds the cost of no expression: some functions multiply what they are given or take the square of its size, and
the data is an object that the tenant writes, up to 1.5 MB. So an expression is a row of operands between operators, all
of which are listed here. Whether parentheses are balanced, CEL itself decides.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md and runtime/cel of github.com/fluxcd/pkg
"""

from __future__ import annotations

from string import ascii_lowercase

from flux_tenancy.components.allowlists.entries import text

LONGEST_EXPRESSION = 512
"""In characters; the expressions of Flux's own library of health checks have fewer than 300."""

FUNCTIONS = ("duration", "has", "int", "size", "string", "timestamp", "type")
WITHOUT_ARGUMENTS = ("first", "hasValue", "last", "lowerAscii", "size", "trim", "upperAscii", "value")
WITH_LITERALS = ("orValue", "split", "substring")
LOOPS = ("all", "exists", "exists_one", "filter")
MOST_TERMS, MOST_IN_LOOP_LISTS = 3, 8
"""Of what a loop compares, and of literals in a list there: each is compared once for each entry."""


def _any(*names: str) -> str:
    return f"(?:{'|'.join(names)})"


# Without escapes, a quote ends a text; and no text follows another at once, as in one of several lines.
_TEXT = r"""(?:'[^'\\\n]*'|"[^"\\\n]*")"""
_LITERAL = rf"(?:{_TEXT}|-?\d+(?:[.]\d+)?|\b(?:true|false|null)\b)"
_NAME = r"[A-Za-z_]\w*"
_FIELD = rf"(?:[.][?]?{_NAME}|\[[?]?(?:{_TEXT}|\d+)\])"
_PATH = f"{_NAME}{_FIELD}*"
# Literals, or names with an ending: a value may be large, and a list have it again and again.
_LIST = rf"(?:\[\s*\]|(?:[\[,]\s*(?:{_LITERAL}|{_PATH}\s*[+]\s*{_TEXT})\s*)+\])"

# A loop reads only fields, literals and the generation, at a cost that depends on no value: anything else would be read
# once for each entry. A search is for the entry `e` alone, since another value would be searched for each.
_READ = rf"{_PATH}(?:[.]orValue[(]{_LITERAL}[)])?"
_TERM = (
    rf"!?(?:has[(]{_PATH}[)]|{_READ}(?:[.]{_any('endsWith', 'startsWith')}[(]{_TEXT}[)]|"
    rf"\s*(?:[=!]=|[<>]=?)\s*(?:{_LITERAL}|metadata[.]generation)|"
    rf"\s+in\s+(?:[\[,]\s*{_LITERAL}\s*){{1,{MOST_IN_LOOP_LISTS}}}\])?|e{_FIELD}*[.]contains[(]{_TEXT}[)])"
)
_LOOP = rf"{_any(*LOOPS)}[(]{_NAME}(?:\s*(?:,|&&|[|]{{2}})\s*{_TERM}){{1,{MOST_TERMS}}}\s*[)]"
# A value of each entry, and a loop over a list of each entry, cost what the data has once. RE2 cannot refer back to a
# name, so both are for names of one letter.
_SAME = "|".join(rf"{name},\s*{name}" for name in ascii_lowercase)
_LOOP = rf"(?:{_LOOP}|{_any(*LOOPS, 'map')}[(](?:{_SAME})(?:{_FIELD}+[.]{_LOOP}|{_FIELD}*)\s*[)])"
# The states of an automaton are as many as the pattern has characters and one class may be repeated.
_PATTERN = r"""['"][^'"\\\n{}]{0,40}(?:\][{]\d{1,2}[}][^'"\\\n{}]{0,10})?['"]"""

# A search takes the product of both lengths, so that it is for a literal, or for the name of an object of Flux: that of
# another object, such as a role, may be as long as it likes.
_SEARCHED = r"(?:dep|res|self)[.]metadata[.](?:name|namespace)"
_CALL = (
    rf"[.](?:matches[(]{_PATTERN}[)]|contains[(](?:{_TEXT}|{_SEARCHED})[)]|"
    rf"{_any('endsWith', 'startsWith')}[(](?:{_TEXT}|{_PATH})[)]|"
    rf"{_any(*WITH_LITERALS)}[(](?:{_LITERAL}(?:,\s*\d+)?|\[\]|[{{][}}])[)]|{_any(*WITHOUT_ARGUMENTS)}[(][)]|{_LOOP})"
)
_OPERAND = (
    rf"(?:[!(\s]|\b{_any(*FUNCTIONS)}[(])*(?:{_TEXT}|-?\d+(?:[.]\d+)?|{_LIST}|{_NAME})(?:{_FIELD}|{_CALL}|\s*[)])*"
)
_OPERATOR = r"(?:&&|[|]{2}|[=!]=|[<>]=?|[-+?:]|\bin\b)"
EXPRESSION = rf"^(?:(?:^|{_OPERATOR})\s*{_OPERAND}\s*)*$"

MOST_CALLS, MOST_CONVERSIONS, MOST_SPLITS, MOST_LOOPS, MOST_CONDITIONS = 10, 2, 2, 2, 6
MOST_SUMS, MOST_SUMS_OF_VALUES, MOST_COMPARISONS_OF_VALUES = 6, 1, 3

_CALLED = r"\w\s*[(]"
_CONVERSIONS = ("lowerAscii", "matches", "substring", "trim", "upperAscii")
_CONDITION = "&&|[|]{2}"
# Counted in texts as well, where an expression may have as many less.
_SUM, _SUM_AFTER_TEXT = "[+]", r"""['"]\s*[+]"""
_SUM_WITH_TEXT = rf"""{_SUM_AFTER_TEXT}|[+]\s*['"]"""
_SPLIT_OF_FIELD = r"\w[.]split[(]"
_SEARCH, _LOOP_OVER_E = "contains[(]", rf"\b{_any(*LOOPS, 'map')}[(]e\b"
_COMPARISON = r"[=!<>]=|[<>]|\bin\b"
_COMPARISON_WITH_LITERAL = rf"(?:[=!]=|[<>]=?)\s*{_LITERAL}|\bin\s+\["


def is_cheap(expression: str, *, feeds_others: bool = False) -> str:
    """CEL that is true if an expression is one that a controller may evaluate.

    Args:
        feeds_others: whether further expressions read its value, which must not double from one to the next.
    """
    loops, sums, splits = (_times(expression, each) for each in (_call(*LOOPS, "map"), _SUM, _call("split")))
    limits = {
        f"size({expression})": LONGEST_EXPRESSION,
        _times(expression, _CALLED): MOST_CALLS,
        _times(expression, _call(*_CONVERSIONS)): MOST_CONVERSIONS,
        # A loop over parts or sums, and parts of a sum, would multiply what the tenant has written.
        f"({loops} > 0 ? {MOST_SPLITS} : 0) + {splits}": MOST_SPLITS,
        f"({loops} > 0 ? {MOST_SUMS} : 0) + {sums}": MOST_SUMS,
        f"({sums} > 0 ? {splits} - {_times(expression, _SPLIT_OF_FIELD)} : 0)": 0,
        loops: MOST_LOOPS,
        f"({_times(expression, _SEARCH)} > 0 ? {loops} - {_times(expression, _LOOP_OVER_E)} : 0)": 0,
        _times(expression, _call("filter")): 1,
        _times(expression, _CONDITION): MOST_CONDITIONS,
        f"{sums} - {_times(expression, _SUM_WITH_TEXT)}": 0 if feeds_others else MOST_SUMS_OF_VALUES,
        f"{_times(expression, _COMPARISON)} - {_times(expression, _COMPARISON_WITH_LITERAL)}": (
            MOST_COMPARISONS_OF_VALUES
        ),
    }
    if feeds_others:
        limits[_times(expression, _SUM_AFTER_TEXT)] = 0
    most = " && ".join(f"{count} <= {limit}" for count, limit in limits.items())
    return f"({most} && {expression}.matches({text(EXPRESSION)}))"


# A template of Go: values below the dot or a variable, conditions, and loops over such values. A loop in a loop prints
# only its own values: those of the outer one would be printed once for each of them.
_OPEN, _CLOSE, _DOT = r"[{]{2}(?:-\s)?\s*", r"\s*-?[}]{2}", r"(?:(?:[.]\w+)+|[.])"
_END, _OUTSIDE = rf"{_OPEN}end{_CLOSE}", r"[^{]|[{][^{]"
_COMMENT = r"[{]{2}(?:-\s)?/[*][^*]*[*]/(?:\s-)?[}]{2}"
_WORD = r'"[^"\\\n]*"'
_PLAIN = (
    rf"{_OUTSIDE}|{_COMMENT}|{_OPEN}(?:(?:print(?:ln)?|len)\s+)?(?:{_DOT}|[$]\w+(?:[.]\w+)*){_CLOSE}|"
    rf"{_OPEN}index\s+[.]Values\s+{_WORD}{_CLOSE}"
)
_CONDITION_OF_IF = rf"(?:{_DOT}|[$]\w+|(?:eq|ne)\s+{_DOT}\s+{_WORD})"
_IF = rf"{_OPEN}(?:if|with)\s+{_CONDITION_OF_IF}{_CLOSE}(?:{_PLAIN})*(?:{_OPEN}else{_CLOSE}(?:{_PLAIN})*)?{_END}"
_LOOPING = r"range\s+(?:[$]\w+\s*(?:,\s*[$]\w+\s*)?:=\s*)?"
_OWN = rf"{_OUTSIDE}|{_OPEN}(?:{_DOT}|[$]\w+[.](?:NewValue|OldValue|Setter)){_CLOSE}"
_INNER = rf"{_OPEN}{_LOOPING}(?:{_DOT}|[$]\w+){_CLOSE}(?:{_OWN})*{_END}"
_RANGE = rf"{_OPEN}{_LOOPING}{_DOT}{_CLOSE}(?:{_PLAIN}|{_IF}|{_INNER})*{_END}"
TEMPLATE = rf"^(?:{_PLAIN}|{_IF}|{_RANGE})*$"

SAID = (
    "can exhaust the controller's memory or processor, or is not of a known form: write it in at most "
    f"{LONGEST_EXPRESSION} characters, like status.conditions.exists(c, c.type == 'Ready' && c.status == 'True'); "
    "docs/syncs.md has the forms"
)
"""What a message says of an expression that may not be."""
SAID_OF_FEEDING = f"may have + only between a value and a text in quotes after it, and otherwise it {SAID}"
"""The same of one whose value others read."""


def _call(*names: str) -> str:
    return rf"\b{_any(*names)}[(]"


def _times(expression: str, pattern: str) -> str:
    return f"size({expression}.findAll({text(pattern)}))"
