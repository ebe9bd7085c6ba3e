"""Where a run took place: what decides its last digits, and what it cost."""

import contextlib
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import torch

import sinpe


def check_device(device):
    """`device`, "cpu" or "cuda" say, as a torch.device. Raises ValueError unless this machine has
    it and numbers can be read from it.
    """
    problem = None
    try:
        if isinstance(device, str | torch.device):
            found = torch.empty(0, device=device).device
            if found.type != "meta":  # which holds no numbers
                return torch.device(device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        problem = str(error).partition("\n")[0]
    raise ValueError(
        f"device must be one that this machine has, got {device!r}"
        + (f" ({problem})" if problem else "")
    )


def describe(device="cpu"):
    """Versions, processor and threads of this process, all plain values. device: where the run
    trains. Raises ValueError for a device that this machine lacks.
    """
    device = check_device(device)
    return {
        "sinpe": sinpe.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": platform.system(),
        "processor": torch.cuda.get_device_name(device) if device.type == "cuda" else processor(),
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "device": device.type,
        "threads": torch.get_num_threads(),
    }


def processor():
    """The processor's model name where the system tells it, else its architecture."""
    try:
        if sys.platform == "linux":
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
            return next(
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            )
        if sys.platform == "darwin":
            return subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"],
                capture_output=True,
                check=True,
                text=True,
            ).stdout.strip()
    except (OSError, StopIteration, subprocess.CalledProcessError):
        pass
    return platform.processor() or platform.machine()


def reset_peak_memory():
    """Start the count of `peak_memory` anew, so that a process that runs several models counts each
    by itself (Linux; nothing elsewhere).
    """
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        pass


def peak_memory():
    """The most memory that this process held, in MB, or None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))  # in kB
        return round(most / 1000)
    except (OSError, StopIteration):
        pass
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(most / (1e6 if sys.platform == "darwin" else 1e3))


def memory():
    """The memory of this machine in MB, or None where the system does not tell."""
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6)
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def peak_of_tensors(work):
    """The most memory that tensors take at a time while work() runs, in MB, beyond those that were
    there before. On the CPU.

    It counts what torch asks for and gives back, so it is the same every time; what a process holds
    depends on what ran in it before. Tensors that were there before count as kept, even those that
    work() lets go. Raises ValueError for what cannot be called.
    """
    if not callable(work):
        raise ValueError(f"work must be a function without arguments, got {work!r:.100}")
    with (
        _silent(),
        torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as profile,
    ):
        work()
    changes = [
        event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"
    ]
    held = peak = 0
    for event in sorted(changes, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak / 1e6


@contextlib.contextmanager
def _silent():
    """Without what native code writes to the standard error: the profiler of some builds says there
    that it starts.
    """
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
