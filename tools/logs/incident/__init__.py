"""Signals into what happened: whether there was an incident, when, where it began, why that is believed."""
