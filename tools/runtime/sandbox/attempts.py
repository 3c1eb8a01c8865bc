"""Attempts to reach out of a sandbox: each is code that a job runs, and what it means that the code succeeds."""

from dataclasses import dataclass

from enlist.tools.runtime.sandbox import openings as open_at


@dataclass(frozen=True)
class Attempt:
    """One act. `code` raises OSError where the sandbox refuses; names it may use: `secret` (a file that all may read),
    `mine` (a file of the caller's user), `everywhere` (a folder that all may write to), `port` (TCP and UDP on
    loopback), `path` and `abstract` (unix sockets that listen), `caller` (process id). `open_where`: the words of
    `LevelReport.not_held` that admit it."""

    name: str
    code: str
    open_where: str


ATTEMPTS: tuple[Attempt, ...] = (
    Attempt("read a file outside", "open(secret).read()", open_at.READING),
    Attempt("read a file through a link in the work folder", "os.symlink(secret, 'way'); open('way').read()",
            open_at.READING),
    Attempt("list a folder outside", "os.listdir(everywhere)", open_at.READING),
    Attempt("write a file outside", "open(everywhere + '/written', 'w').write('x')", open_at.WRITING),
    Attempt("fill /var/tmp", "open('/var/tmp/enlist-attempt', 'w').close(); os.unlink('/var/tmp/enlist-attempt')",
            open_at.WRITING),
    Attempt("connect to a port of this machine", "socket.create_connection(('127.0.0.1', port), 5)", open_at.NETWORK),
    Attempt("send a datagram", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', port)); "
            "s.send(b'x'); s.settimeout(5); s.recv(1)", open_at.NETWORK),
    Attempt("connect to a unix socket", "socket.socket(socket.AF_UNIX).connect(path)", open_at.SOCKETS),
    Attempt("connect to an abstract unix socket", "socket.socket(socket.AF_UNIX).connect('\\0' + abstract)",
            open_at.SOCKETS),
    Attempt("signal the caller", "os.kill(caller, 0)", open_at.SIGNALS),
    Attempt("read the caller's environment", "open(f'/proc/{caller}/environ').read()", open_at.ENVIRONMENTS),
    Attempt("read the caller's command line", "open(f'/proc/{caller}/cmdline').read()", open_at.OTHER_PROCESSES),
    Attempt("learn that a file exists", "os.stat(secret)", open_at.NAMES),
    Attempt("change the mode of a file outside", "os.chmod(mine, 0o640)", open_at.METADATA),
    Attempt("pin the caller to processors", "os.sched_setaffinity(caller, os.sched_getaffinity(caller))",
            open_at.SCHEDULING),
    Attempt("set the caller's limits", "import resource as r; r.prlimit(caller, r.RLIMIT_CORE, "
            "r.prlimit(caller, r.RLIMIT_CORE))", open_at.OTHERS_LIMITS),
    Attempt("set up io_uring", "call(425, 1, ctypes.create_string_buffer(120))", open_at.CALLS),
)

SCRIPT = """
import ctypes, json, os, socket, sys
words, attempts = json.loads(sys.argv[1]), json.loads(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")
done = {}
for name, code in attempts.items():
    try:
        exec(code, {**globals(), **words})
        done[name] = True
    except OSError:
        done[name] = False
with open("done.json", "w") as file:
    json.dump(done, file)
"""
