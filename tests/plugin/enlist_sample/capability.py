"""What can be asked for once this plug-in is installed."""

from enlist.orchestrator.capabilities import Capability

KINDS = ("document", "log", "table")
WORD_COUNT = Capability(
    id="word_count", asks="how many words a text has", reads=KINDS, writes=("word-counts",), needs=KINDS,
    terms={3.0: ("count the words", "word count", "number of words", "how many words"), 2.0: ("count + words",)},
    phrases=("count the words in this text", "how many words are in this file"))
