"""The syntax of health check expressions, as kustomize-controller and helm-controller parse them."""

from __future__ import annotations

from functools import cache

from cel_expr_python import cel

# Flux parses these expressions without types, since custom resources have any fields. Functions are looked up when an
# expression is evaluated; of its extensions only optional types change the syntax.
# Source: NewExpression in runtime/cel/expression.go and NewStatusEvaluator of github.com/fluxcd/pkg
_EXTENSIONS = "extensions:\n- name: optional\n"


def syntax_error(expression: str) -> str:
    """Where and why an expression is not CEL, as `line:column: reason`; empty if it is."""
    try:
        _environment().compile(expression, disable_check=True)
    except RuntimeError as error:
        place, _, reason = str(error).splitlines()[0].partition("<input>:")[2].partition(": ")
        # What the parser expected instead is a list of nearly every token.
        return f"{place}: {reason.partition(' expecting ')[0]}"
    return ""


@cache
def _environment() -> cel.Env:
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(_EXTENSIONS))
