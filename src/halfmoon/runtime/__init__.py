"""How work is run: threads that end with the call that started them, and stop when it is interrupted."""

from halfmoon.runtime._executor import Executor, Stopped, ThreadExecutor, stop_flag, thread_count
from halfmoon.runtime._ranges import ranges

__all__ = ["Executor", "Stopped", "ThreadExecutor", "ranges", "stop_flag", "thread_count"]
