"""The `shared` section: sources of the platform that are offered to tenants."""

from __future__ import annotations

from pydantic import Field, model_validator

from components.config.errors import MisplacedValueError
from components.config.messages import Message
from components.config.section import Section
from components.config.types import TenantName
from components.sources.config import GitRepositorySource, Source


class SharedSource(Section):
    """A source that is offered to tenants, each of which gets a copy in its home (docs/sources.md)."""

    tenants: tuple[TenantName, ...] = Field(description="Names of the tenants that may use it; nobody else can.")
    source: Source = Field(description="The source; each of these tenants can read its credentials.")

    @model_validator(mode="after")
    def _each_tenant_once(self) -> SharedSource:
        for index, tenant in enumerate(self.tenants):
            if tenant in self.tenants[:index]:
                raise MisplacedValueError(
                    ("tenants", index), Message("FT-SRC-047", f"lists {tenant} twice", "keep one of them")
                )
        return self

    @model_validator(mode="after")
    def _nothing_registered(self) -> SharedSource:
        if isinstance(self.source, GitRepositorySource):
            for key, value in {"github": self.source.github, "webhook": self.source.webhook}.items():
                if value is not None:
                    raise MisplacedValueError(
                        ("source", key),
                        Message(
                            "FT-SRC-046",
                            "cannot be set for a shared source, which has an object for each tenant",
                            "remove it",
                        ),
                    )
        return self
