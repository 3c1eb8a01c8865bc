"""The top: campaigns, statistics and the command line."""
