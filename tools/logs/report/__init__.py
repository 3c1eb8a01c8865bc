"""An analysis of logs as JSON, as text for people, and as text to share."""
