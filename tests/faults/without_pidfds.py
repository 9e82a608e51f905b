"""Run a program on a kernel without pidfds: `python without_pidfds.py ERRNO PROGRAM ARGUMENTS...`.

A seccomp filter, which every process below inherits, answers pidfd_open and pidfd_send_signal with the error: ENOSYS as
Linux before 5.1 does, EPERM as old container sandboxes do. The numbers are the same on every architecture we know.
"""

from __future__ import annotations

import ctypes
import os
import sys

PIDFD_SEND_SIGNAL, PIDFD_OPEN = 424, 434
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


class Instruction(ctypes.Structure):
    """struct sock_filter."""

    _fields_ = (("code", ctypes.c_uint16), ("then", ctypes.c_uint8), ("other", ctypes.c_uint8), ("k", ctypes.c_uint32))


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Instruction)))


def forbid(errno: int) -> None:
    """Let both calls fail so in this process and all it will ever start. Raises OSError where there is no seccomp."""
    instructions = (Instruction * 5)(
        Instruction(LOAD, 0, 0, 0),  # the number of the system call
        Instruction(EQUAL, 1, 0, PIDFD_OPEN),
        Instruction(EQUAL, 0, 1, PIDFD_SEND_SIGNAL),
        Instruction(RETURN, 0, 0, ERRNO | errno),
        Instruction(RETURN, 0, 0, ALLOW),
    )
    program = Program(len(instructions), instructions)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(
        PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    forbid(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
