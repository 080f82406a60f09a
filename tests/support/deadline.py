"""A deadline for a test written in Python: whatever it waits for, a pipe, a process or a socket, it ends, and says where."""
import contextlib
import signal


class Overdue(Exception):
    """Raised in the midst of whatever the test was doing."""


@contextlib.contextmanager
def deadline(seconds, what="this test"):
    """Around one test, in the main thread. One that catches too much is told again every ten seconds."""
    def late(_signal, _frame):
        raise Overdue(f"{what} took longer than {seconds} s")
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
