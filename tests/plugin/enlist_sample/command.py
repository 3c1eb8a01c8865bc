"""`enlist sample-words`: the command that the plug-in adds."""

from pathlib import Path


def words(path: Path) -> None:
    """Print how many words a file has.

    Example: enlist sample-words notes.txt
    """
    print(len(path.read_text("utf-8", "replace").split()))
