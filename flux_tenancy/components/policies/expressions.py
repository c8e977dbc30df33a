"""The CEL expressions that a tenant may have Flux's controllers evaluate, as a grammar without recursion.

Flux bounds the cost of no expression: some functions multiply what they are given or take the square of its size, and
the data is an object that the tenant writes, up to 1.5 MB. So an expression is a row of operands between operators, all
of which are listed here. Whether parentheses are balanced, CEL itself decides.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md and runtime/cel of github.com/fluxcd/pkg
"""

from __future__ import annotations

from flux_tenancy.components.allowlists.cel import text

LONGEST_EXPRESSION = 512
"""In characters; the expressions of Flux's own library of health checks have fewer than 300."""

FUNCTIONS = ("duration", "has", "int", "size", "string", "timestamp", "type")
OF_TEXTS = ("contains", "endsWith", "startsWith")
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

# A loop reads only its entry `e`, literals and the generation: anything else would be read once for each entry.
_ENTRY = rf"e{_FIELD}*(?:[.]orValue[(]{_LITERAL}[)])?"
_GENERATION = r"metadata[.]generation"
_OF_ENTRY = (
    rf"!?(?:has[(]e{_FIELD}*[)]|{_ENTRY}(?:[.]{_any(*OF_TEXTS)}[(]{_TEXT}[)]|"
    rf"\s*(?:[=!]=|[<>]=?)\s*(?:{_LITERAL}|{_GENERATION})|\s+in\s+(?:[\[,]\s*{_LITERAL}\s*){{1,{MOST_IN_LOOP_LISTS}}}\])?)"
)
_LOOP = rf"{_any(*LOOPS)}[(]e(?:\s*(?:,|&&|[|]{{2}})\s*{_OF_ENTRY}){{1,{MOST_TERMS}}}\s*[)]"

# A search takes the product of both lengths, so that it is for a literal, or for the name of an object of Flux: that of
# another object, such as a role, may be as long as it likes.
_SEARCHED = r"(?:dep|res|self)[.]metadata[.](?:name|namespace)"
_CALL = (
    rf"[.](?:contains[(](?:{_TEXT}|{_SEARCHED})[)]|{_any('endsWith', 'startsWith')}[(](?:{_TEXT}|{_PATH})[)]|"
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
_CONVERSIONS = ("lowerAscii", "substring", "trim", "upperAscii")
_CONDITION = "&&|[|]{2}"
# Counted in texts as well, where an expression may have as many less.
_SUM, _SUM_AFTER_TEXT = "[+]", r"""['"]\s*[+]"""
_SUM_WITH_TEXT = rf"""{_SUM_AFTER_TEXT}|[+]\s*['"]"""
_SPLIT_OF_FIELD = r"\w[.]split[(]"
_COMPARISON = r"[=!<>]=|[<>]|\bin\b"
_COMPARISON_WITH_LITERAL = rf"(?:[=!]=|[<>]=?)\s*{_LITERAL}|\bin\s+\["


def is_cheap(expression: str, *, feeds_others: bool = False) -> str:
    """CEL that is true if an expression is one that a controller may evaluate.

    Args:
        expression: the CEL that has it.
        feeds_others: whether further expressions read its value, which must not double from one to the next.
    """
    loops, sums, splits = (_times(expression, each) for each in (_call(*LOOPS), _SUM, _call("split")))
    limits = {
        f"size({expression})": LONGEST_EXPRESSION,
        _times(expression, _CALLED): MOST_CALLS,
        _times(expression, _call(*_CONVERSIONS)): MOST_CONVERSIONS,
        # A loop over parts or sums, and parts of a sum, would multiply what the tenant has written.
        f"({loops} > 0 ? {MOST_SPLITS} : 0) + {splits}": MOST_SPLITS,
        f"({loops} > 0 ? {MOST_SUMS} : 0) + {sums}": MOST_SUMS,
        f"({sums} > 0 ? {splits} - {_times(expression, _SPLIT_OF_FIELD)} : 0)": 0,
        loops: MOST_LOOPS,
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


# A template of Go: values below the dot or a variable, and loops over such values that are not inside one another.
_OPEN, _CLOSE, _DOT = r"[{]{2}(?:-\s)?\s*", r"\s*-?[}]{2}", r"(?:(?:[.]\w+)+|[.])"
_PLAIN = rf"[^{{]|[{{][^{{]|{_OPEN}(?:print(?:ln)?\s+)?(?:{_DOT}|[$]\w+(?:[.]\w+)*){_CLOSE}"
_RANGE = rf"{_OPEN}range\s+(?:[$]\w+\s*(?:,\s*[$]\w+\s*)?:=\s*)?{_DOT}{_CLOSE}(?:{_PLAIN})*{_OPEN}end{_CLOSE}"
TEMPLATE = rf"^(?:{_PLAIN}|{_RANGE})*$"

CALLED = tuple(sorted({*FUNCTIONS, *OF_TEXTS, *WITHOUT_ARGUMENTS, *WITH_LITERALS}))
SAID = (
    f"must have at most {LONGEST_EXPRESSION} characters, without comments and escapes; call nothing but "
    f"{', '.join(CALLED)}, contains and split only with a text in quotes (contains also with res.metadata.name); have "
    f"at most {MOST_CALLS} calls, {MOST_CONDITIONS} && or ||, {MOST_SUMS} + ({MOST_SUMS_OF_VALUES} without a text in "
    f"quotes), {MOST_COMPARISONS_OF_VALUES} comparisons of two values, and instead of split and + {MOST_LOOPS} of "
    f"{', '.join(LOOPS)}, each of which only compares fields of its entry e with literals, {MOST_TERMS} times, as in "
    "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True'): else it can exhaust the controller's "
    "memory or processor"
)
"""What a message says of an expression that may not be."""
SAID_OF_FEEDING = f"may have + only between a value and a text in quotes after it, and otherwise {SAID}"
"""The same of one whose value others read."""


def _call(*names: str) -> str:
    return rf"\b{_any(*names)}[(]"


def _times(expression: str, pattern: str) -> str:
    return f"size({expression}.findAll({text(pattern)}))"
