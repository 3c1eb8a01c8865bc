"""Teaming: how good a team can a solver assemble from cards, against the exact optimum?

Each task is one assignment problem over a synthetic pool of 300 cards and 5 roles: two pool models, two topologies, and
a verifier that may not share the analyst's route. A team scores by how far it gets from the median random team (0) to
the exact optimum (1): a fraction of the optimum itself would flatter everybody, since most teams have some utility.
"""
