"""The plan: every object that a stack wants, as plain data, and the one place where a plan becomes resources.

Put here what holds for any planned object; what a tenant or the platform wants is planned where its feature is.
"""

from flux_tenancy.components.plan.planned import Deletion, Planned, Stage
from flux_tenancy.components.plan.registration import register_planned

__all__ = ["Deletion", "Planned", "Stage", "register_planned"]
