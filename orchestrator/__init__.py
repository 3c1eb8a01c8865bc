"""From a request to a plan, a team, a run and a report."""
