"""Incident logs: from streams of lines to what happened, when, where it began and why that is believed."""
