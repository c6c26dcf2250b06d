"""Tells how much memory the studio takes, so that a growing one is noticed."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

PROC_PIDTASKINFO = 4  # <sys/proc_info.h>; the struct has 96 bytes, the second word is what counts


def resident_bytes() -> int | None:
    """Bytes of physical memory that this process holds; None where the system does not tell."""
    if sys.platform == "linux":
        return _linux()
    if sys.platform == "darwin":
        return _darwin()
    if sys.platform == "win32":
        return _windows()
    return None


if sys.platform == "linux":

    def _linux() -> int | None:
        try:
            pages = int(Path("/proc/self/statm").read_bytes().split()[1])
        except (OSError, IndexError, ValueError):
            return None
        return pages * os.sysconf("SC_PAGE_SIZE")


if sys.platform == "darwin":

    def _darwin() -> int | None:
        system = ctypes.CDLL("/usr/lib/libSystem.dylib")
        info = (ctypes.c_uint64 * 12)()
        size = ctypes.sizeof(info)
        told = system.proc_pidinfo(os.getpid(), PROC_PIDTASKINFO, ctypes.c_uint64(0), info, size)
        return int(info[1]) if told == size else None


if sys.platform == "win32":
    from ctypes import wintypes

    class _Counters(ctypes.Structure):
        """PROCESS_MEMORY_COUNTERS of <psapi.h>."""

        _fields_ = [
            ("cb", wintypes.DWORD),
            ("PageFaultCount", wintypes.DWORD),
            ("PeakWorkingSetSize", ctypes.c_size_t),
            ("WorkingSetSize", ctypes.c_size_t),
            ("QuotaPeakPagedPoolUsage", ctypes.c_size_t),
            ("QuotaPagedPoolUsage", ctypes.c_size_t),
            ("QuotaPeakNonPagedPoolUsage", ctypes.c_size_t),
            ("QuotaNonPagedPoolUsage", ctypes.c_size_t),
            ("PagefileUsage", ctypes.c_size_t),
            ("PeakPagefileUsage", ctypes.c_size_t),
        ]

    def _windows() -> int | None:
        kernel = ctypes.WinDLL("kernel32")
        kernel.GetCurrentProcess.restype = wintypes.HANDLE
        counters = _Counters(cb=ctypes.sizeof(_Counters))
        process = wintypes.HANDLE(kernel.GetCurrentProcess())
        told = kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.cb)
        return int(counters.WorkingSetSize) if told else None
