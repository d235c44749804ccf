"""Under what conditions a table was measured; a figure without them says little."""

import gc
import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.engines import CLASSIC, JAX, OTHERS


def conditions(engines: dict) -> str:
    """A few lines of Markdown that stand above the table."""
    torch = importlib.metadata.version("torch") if "torch" in engines else "not installed"
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.python_implementation()} "
        f"{platform.python_version()}, {platform.system()} {platform.machine()}",
        f"CPU: {cpu_model()}; {os.cpu_count()} cores, load {load()} before the first run; one thread an engine",
        f"classic: {CLASSIC if 'classic' in engines else 'not installed'}; torch: {torch}",
        f"torch-compiled (torch.compile): {torch if 'torch-compiled' in engines else 'not at hand'}",
        f"jax (jit): {JAX if 'jax' in engines else 'not at hand'}",
        *(f"{name}: {package if name in engines else 'not at hand'}" for name, package in OTHERS.items()),
        f"collector: `default` is Python's own, thresholds {gc.get_threshold()}; `off` is `gc.disable()`",
    ]
    return "".join(f"- {line}\n" for line in lines)


def cpu_model() -> str:
    """The processor's name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def load() -> str:
    """How busy the machine was in the last minute: a figure taken on a busy machine is worth less."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
