"""A plug-in as a third party would write it: tools, specialists, a capability, an environment, a command, all to count
the words of a text."""
