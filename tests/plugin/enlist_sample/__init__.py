"""A plug-in as a third party would write it: tools, two specialists, a capability and a command, all for counting the
words of a text."""
