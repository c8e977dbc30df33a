"""What all sections of the configuration have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """Base of every section: camelCase in the files, unknown keys refused, immutable once read."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, hide_input_in_errors=True, strict=False
    )
