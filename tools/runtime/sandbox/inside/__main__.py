"""Entry: `supervise` (watches its parent and kills) or `launch` (inside bubblewrap: confines and becomes the job)."""

import sys

from launch import launch, read_spec
from supervisor import supervise

if __name__ == "__main__":
    role, spec, status = sys.argv[1], read_spec(int(sys.argv[2])), int(sys.argv[3])
    if role == "supervise":
        supervise(spec, status, control=int(sys.argv[4]))
    else:
        launch(spec, status)
