"""From a request to a plan, with no model and no network: route, read what the text states, build roles and edges."""

from enlist.orchestrator.planning.build import plan_request
from enlist.orchestrator.planning.constraints import read_constraints
from enlist.orchestrator.planning.measurements import read_measurements
from enlist.orchestrator.planning.read import read_request

__all__ = ["plan_request", "read_constraints", "read_measurements", "read_request"]
