"""The local folder into which a node fetches artifacts that are kept elsewhere.

Each place of artifacts has a folder of its own below one that belongs to this user. What nobody has opened for a week
is removed when a process next opens the cache, so that a node that serves for months does not fill its disk.
"""

import os
import tempfile
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.keeping import ArtifactKeeping

UNOPENED_S = 7 * 86_400.0


def artifact_cache(name: str) -> ArtifactKeeping:
    """The cache called `name` in this user's part of the temporary folder (TMPDIR); `bad_input` where that folder
    belongs to somebody else."""
    ours = Path(tempfile.gettempdir()) / f"enlist-artifacts-{os.getuid()}"
    ours.mkdir(mode=0o700, exist_ok=True)
    if ours.is_symlink() or ours.stat().st_uid != os.getuid():
        raise EnlistError("bad_input", "the folder for fetched artifacts belongs to somebody else",
                          given=str(ours), fix="set TMPDIR to a folder of your own")
    cache = ArtifactKeeping(ours / name)
    cache.sweep(UNOPENED_S)
    for sha256, _ in cache.old(UNOPENED_S):
        cache.delete(sha256, UNOPENED_S)
    return cache
