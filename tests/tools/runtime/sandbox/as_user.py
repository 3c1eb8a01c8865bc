"""Run a command as an ordinary user who can reach each PATH: `as_user.py INSIDE USER PATH... -- COMMAND...`."""

import os
import sys

sys.path.insert(0, sys.argv[1])
from view import reveal

if __name__ == "__main__":
    user, split = int(sys.argv[2]), sys.argv.index("--")
    reveal(sys.argv[3:split], user)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    os.execv(sys.argv[split + 1], sys.argv[split + 1:])
