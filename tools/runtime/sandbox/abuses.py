"""Jobs that take too much, will not end or leave something behind, and what must be true of the result."""

from dataclasses import dataclass

from enlist.tools.runtime.sandbox.contract import Ending, Limits

MIB = 1 << 20
_SMALL = Limits(seconds=60, memory_bytes=192 * MIB, processes=64, disk_bytes=16 * MIB, output_bytes=MIB)
_SHORT = Limits(seconds=1.0)


@dataclass(frozen=True)
class Abuse:
    """A job by its Python `code` and the only right `ending`."""

    name: str
    code: str
    ending: Ending
    limits: Limits = _SMALL


ABUSES: tuple[Abuse, ...] = (
    Abuse("a fork bomb", "while True:\n  try:\n    os.fork()\n  except OSError:\n    pass", "processes"),
    Abuse("memory without end in one process", "held = []\nwhile True:\n  held.append(b'x' * (1 << 22))", "memory"),
    Abuse("memory spread over children, each below the limit",
          "for _ in range(6):\n  if os.fork() == 0:\n    held = b'x' * (64 << 20)\n    time.sleep(60)\ntime.sleep(60)",
          "memory"),
    Abuse("memory in anonymous files", "held = [os.memfd_create('m') for _ in range(8)]\nfor handle in held:\n"
          "  os.write(handle, b'x' * (4 << 20))\ntime.sleep(60)", "disk"),
    Abuse("a disk full of files", "for i in range(10**6):\n  open(str(i), 'wb').write(b'x' * (1 << 20))", "disk"),
    Abuse("a disk full of empty files", "for i in range(10**6):\n  open(str(i), 'wb').close()\ntime.sleep(60)", "disk",
          Limits(disk_bytes=2 * MIB)),
    Abuse("a disk full of deleted files", "held = []\nfor i in range(100):\n  held.append(open(str(i), 'wb'))\n"
          "  os.unlink(str(i))\n  held[-1].write(b'x' * (1 << 20))\n  held[-1].flush()\ntime.sleep(60)", "disk"),
    Abuse("one file past the limit", "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
          "file = open('huge', 'wb')\nfile.truncate(16 << 20)\nfile.seek(16 << 20)\nfile.write(b'x')\nfile.flush()",
          "disk"),
    Abuse("output without end", "while True:\n  print('x' * 65536)", "output"),
    Abuse("errors without end", "while True:\n  print('x' * 65536, file=sys.stderr)", "output"),
    Abuse("an endless loop", "while True:\n  pass", "timeout", _SHORT),
    Abuse("a loop that ignores every signal it can", "import signal\nfor n in (1, 2, 3, 13, 14, 15):\n"
          "  signal.signal(n, signal.SIG_IGN)\nwhile True:\n  time.sleep(1)", "timeout", _SHORT),
    Abuse("a child that keeps the output open", "if os.fork() == 0:\n  time.sleep(600)", "exited"),
    Abuse("an orphan in a session of its own",
          "if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0:\n    os.setsid()\n"
          "    open('orphan', 'w').write(str(os.getppid()))\n    time.sleep(600)\n  os._exit(0)\n"
          "while not os.path.exists('orphan'):\n  time.sleep(0.01)", "exited"),
)
