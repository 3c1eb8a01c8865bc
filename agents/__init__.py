"""The agents: cards, the pool, the specialists' graphs and the language-model interface."""
