"""What a level leaves open, in words of a closed list: the vocabulary of `LevelReport.not_held`.

Each but the last two is tried by an attempt of `attempts.py`, so that the conformance suite can hold a report to it.
"""

from enlist.tools.runtime.sandbox.contract import Level

READING = "reading files of other folders that the job's user may read"
WRITING = "writing outside the work folder where the job's user may (/tmp, /dev/shm)"
NETWORK = "network"
SOCKETS = "unix sockets"
SIGNALS = "signals to processes of the same user, this one among them"
ENVIRONMENTS = "reading the environment of processes of the same user (API keys)"
OTHER_PROCESSES = "seeing names and command lines of other processes"
NAMES = "whether a path exists, and its size and times"
METADATA = "changing mode or times of files that the same user owns"
OTHERS_LIMITS = "resource limits of processes of the same user"
CALLS = "kernel interfaces that a job never needs (io_uring, bpf, user namespaces)"
SCHEDULING = "priority and processor affinity of processes of the same user"
KERNEL = "faults of the kernel"
PROCESSOR_TIME = "processor time: a job may use every core until its deadline"


def not_held(level: Level, as_root: bool, signals: bool) -> tuple[str, ...]:
    """What the level leaves open. Started as root, a job has a user of its own, who owns nothing else."""
    if level == "full":
        return (PROCESSOR_TIME, KERNEL)
    if level == "landlock":
        of_user = () if as_root else (*((SIGNALS,) if signals else ()), METADATA, SCHEDULING)
        return (*of_user, NAMES, OTHER_PROCESSES, PROCESSOR_TIME, KERNEL)
    of_user = () if as_root else (SIGNALS, ENVIRONMENTS, METADATA, SCHEDULING, OTHERS_LIMITS)
    return (READING, WRITING, NETWORK, SOCKETS, CALLS, *of_user, NAMES, OTHER_PROCESSES, PROCESSOR_TIME, KERNEL)
