"""The C back end: the loops of a program, compiled by the system's C compiler and called through ctypes.

A program is compiled at -O1 first, which takes a fraction of a second. After a few calls a thread compiles it at -O3,
and calls run that library once it is loaded. Libraries are cached (see `libraries`).

A program works on its own arrays, and each call copies its inputs there. Only an array that an update writes to stays
the user's own. A lock is held while the program runs.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, starmap
from operator import call, setitem
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from ..compiler.lowered import BY_COLUMNS, Lowered, Symbol, holding, reader
from .libraries import cached, compiled, compiler
from .loops import Loops, unlooped
from .wording import C

CALLS = 8  # after so many calls, a program is worth compiling at -O3
FIRST = ("-O1",)
# gcc would unroll loops of 16 turns wholly before it could vectorize them: programs took up to three times as long
FASTER = ("-O3", "-march=native", "--param", "max-completely-peel-times=8")
HEAD = """
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
"""
WITHIN = """
static int64_t fault, wrong;  // the number of the first check that failed, and the wrong index

// An index of an axis of n elements, counted from 0. The index -1 is the last element.
static inline int64_t within(int64_t i, int64_t n, int64_t check) {
    if (i >= -n && i < n)
        return i < 0 ? i + n : i;
    if (!fault)
        fault = check, wrong = i;
    return 0;
}

static int64_t failed(void **at) {
    ((int64_t *)at[0])[0] = wrong;
    return fault;
}
"""
ORDER = """
// The order of n keys, merged from ever longer runs: equal keys stay in their order, and nan comes last.
static void order_of_KEY(int64_t n, int64_t *merged, int64_t *order, const KEY *keys) {
    for (int64_t k = 0; k < n; k++)
        order[k] = k;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t start = 0; start < n; start += 2 * width) {
            int64_t i = start, middle = n - start < width ? n : start + width;
            int64_t j = middle, end = n - middle < width ? n : middle + width;
            for (int64_t k = start; k < end; k++) {
                bool right = j < end;
                if (i < middle && right) {
                    KEY a = keys[order[i]], b = keys[order[j]];
                    right = b < a || (a != a && b == b);
                }
                merged[k] = right ? order[j++] : order[i++];
            }
        }
        for (int64_t k = 0; k < n; k++)
            order[k] = merged[k];
    }
}
"""


def lacks(program: Lowered) -> str:
    """Why C cannot run the program; "" if it can."""
    compiler()
    return unlooped(program)


class Library:
    """A compiled program. `call` takes the address of a table of arrays, and returns 0 or the number of a failed check.

    Programs with the same source share the library and its lock, since its arrays are in one place of memory.
    """

    known: ClassVar[WeakValueDictionary[tuple[str, ...], Library]] = WeakValueDictionary()

    @classmethod
    def of(cls, source: str) -> Library:
        """The library of this source."""
        flags = tuple(os.environ.get("MICROGRAD_CFLAGS", "").split())
        library = cls.known.get((source, *flags)) or cls(source, flags)
        return holding(SHARING, cls.known.setdefault, (source, *flags), library)

    def __init__(self, source: str, own: tuple[str, ...]):
        self.source = source
        self.lock: threading.RLock = threading.RLock()
        self.call: Callable[[int], int]
        self.calls_left: int = -1  # until it is compiled at -O3; negative if it need not be
        if own:
            self._use(compiled(source, own))
        elif faster := cached(source, FASTER):
            self._use(faster)
        else:
            self._use(compiled(source, FIRST))
            self.calls_left = CALLS

    def _use(self, handle: Any) -> None:
        handle.program.argtypes, handle.program.restype = [ctypes.c_void_p], ctypes.c_int64
        self.call = handle.program

    def count(self) -> None:
        """Count a call: after a few, a thread compiles at -O3."""
        self.calls_left -= 1
        if self.calls_left == 0:
            threading.Thread(target=self._improve, daemon=True).start()

    def _improve(self) -> None:
        with suppress(RuntimeError, OSError):  # after an error, -O1 stays
            faster = holding(ONE_AT_A_TIME, compiled, self.source, FASTER)
            holding(self.lock, self._use, faster)


ONE_AT_A_TIME, SHARING = threading.Lock(), threading.Lock()


def source_of(loops: Loops) -> str:
    """The source in C."""
    body, constants = loops.body(), [array for array, _ in loops.constants.values()]
    arrays, places = [array for array in loops.inputs.values() if array.stored], places_of(loops.inputs)
    lines = [f"const double {loops.inputs[x].name} = ((double *)at[0])[{i}];" for x, i in places.items()]
    lines += [f"double *{new.name} = (double *)at[0] + {places[x]};" for x, new in loops.news.items()]
    for i, array in enumerate([*arrays, *constants, *loops.outputs.values()], 1):
        const = "const " * (array in constants)
        lines.append(f"{const}{loops.language.type(array.dtype)} *restrict {array.name} = at[{i}];")
    end = "fault ? failed(at) : 0" if loops.checked else "0"
    lines = [*["fault = 0;"] * loops.checked, *lines, *body, f"return {end};"]
    inner = "".join(f"    {line}\n" for line in lines)
    program = f"int64_t program(void **at) {{\n{inner}}}\n"
    keys = dict.fromkeys(re.findall(r"\border_of_(\w+)\(", program))
    head = HEAD.lstrip() + WITHIN * loops.checked + "".join(ORDER.replace("KEY", key) for key in keys)
    return "\n".join([head, *loops.language.functions(program), *loops.arrays(), "", program])


def places_of(inputs: Iterable[Symbol]) -> dict[Symbol, int]:
    """The places of numbers in the first array of a call, after the index that failed; new numbers go there too."""
    return {x: i for i, x in enumerate((x for x in inputs if x.shape is None), 1)}


class Slot:
    """The arrays of one call."""

    def __init__(self, inputs: Sequence[Symbol], constants: Sequence[np.ndarray], outputs: Sequence[Any]):
        self.numbers: bytearray = bytearray(8 + 8 * len(places_of(inputs)))
        arrays: list[Any] = [x for x in inputs if x.shape is not None]
        self.own: list[np.ndarray] = [np.zeros(x.shape, x.dtype, C().order(x)) for x in arrays]
        self.results: list[np.ndarray] = [np.zeros(*shape) for shape in outputs]
        self.users: list[Any] = [None] * len(self.own)  # the user's arrays that the program works on directly
        addresses = [ctypes.addressof(ctypes.c_char.from_buffer(self.numbers))]
        addresses += [x.ctypes.data for x in (*self.own, *constants, *self.results)]
        self.table: Any = (ctypes.c_void_p * len(addresses))(*addresses)
        self.address: int = ctypes.addressof(self.table)


class Executable:
    """A program that runs as C."""

    def __init__(self, program: Lowered):
        self.program = program
        loops = Loops(program)
        self.source: str = source_of(loops)
        self.library: Library = Library.of(self.source)
        self._read = reader(program)
        self._inputs = list(loops.inputs)
        self._checks, self._constants = loops.checks, [x for _, x in loops.constants.values()]
        self._outputs = [(x.shape or (), array.dtype) for x, array in loops.outputs.items()]
        self._free: list[Slot] = []
        # A new number is written by setattr(node, "_data", number) or by setitem(container, key, number)
        reads = {read.name: read for read in program.reads}
        news = [reads[x.args[0]] for x in loops.news]
        setters = [setattr if read.kind == "value" else setitem for read in news]
        keys = ["_data" if read.kind == "value" else read.keys[-1] for read in news]
        types = [int if read.kind == "count" else float for read in news]
        self._news: Any = setters, keys, types, [*map(places_of(loops.inputs).get, loops.news)]
        owners = [read._replace(keys=read.keys[: None if read.kind == "value" else -1]).place for read in news]
        self._owners = eval(f"lambda {', '.join(program.parameters)}: [{', '.join(owners)}]")
        written = {x for x, _ in program.updates}
        arrays = [(i, x) for i, x in enumerate(self._inputs) if x.shape is not None]
        self._copied = [(n, i) for n, (i, x) in enumerate(arrays) if x not in written]
        self._written = [(n, i, x.named == BY_COLUMNS) for n, (i, x) in enumerate(arrays) if x in written]
        self._answer = self._answer_of(list(loops.outputs))
        self._numbers = [i for i, x in enumerate(self._inputs) if x.shape is None]
        self._pack = struct.Struct(f"{len(self._numbers)}d").pack_into

    def __call__(self, *args: Any) -> Any:
        """Run the program."""
        inputs, library = self._read(*args), self.library
        try:
            slot = self._free.pop()
        except IndexError:
            slot = Slot(self._inputs, self._constants, self._outputs)
        self._pack(slot.numbers, 8, *[inputs[i] for i in self._numbers])
        own, users, copies = slot.own, slot.users, []
        for n, i in self._copied:
            own[n][...] = inputs[i]
        for n, i, by_columns in self._written:
            if inputs[i] is not users[n] and not self._aim(slot, n, inputs[i], by_columns):
                copies.append((np.copyto, inputs[i], own[n]))
        if library.calls_left > 0:
            library.count()
        if fault := holding(library.lock, self._run, args, slot, copies):
            index = int.from_bytes(slot.numbers[:8], sys.byteorder, signed=True)
            raise IndexError(self._checks[fault - 1].format(index))
        answer = self._answer(slot.results)
        self._free.append(slot)
        return answer

    def _run(self, args: Sequence[Any], slot: Slot, copies: list[tuple[Any, ...]]) -> int:
        """Call the program, and write new numbers in place of the old ones; 0, or the number of a failed check."""
        if not (copies or self._news[0]):
            return self.library.call(slot.address)
        # All at once, by functions written in C, so that no Ctrl-C comes between
        calls = chain(map(self.library.call, [slot.address]), starmap(call, copies), self._writes(args, slot))
        return deque(calls)[0]

    def _aim(self, slot: Slot, n: int, array: Any, by_columns: bool) -> bool:
        """Have the program work on the user's array; False if it cannot, and works on a copy."""
        own, flags = slot.own[n], array.flags
        contiguous = flags.f_contiguous if by_columns else flags.c_contiguous
        direct = contiguous and flags.aligned and flags.writeable and array.dtype == own.dtype
        slot.users[n] = array if direct else None
        slot.table[1 + n] = (array if direct else own).ctypes.data
        if not direct:
            own[...] = array
        return direct

    def _writes(self, args: Sequence[Any], slot: Slot) -> Iterator[Any]:
        """The calls that write new numbers in place of the old ones. A number is read when its call is made."""
        setters, keys, types, places = self._news
        numbers = map(call, types, map(memoryview(slot.numbers).cast("d").__getitem__, places))  # type: ignore[arg-type]
        return map(call, setters, self._owners(*args), keys, numbers)  # type: ignore[arg-type]

    def _answer_of(self, outputs: list[Symbol]) -> Callable[[list[np.ndarray]], Any]:
        """The function that turns the results of a call into the outputs: a tree of numbers and new arrays."""
        names: dict[str, Any] = {}
        places = {x: i for i, x in enumerate(outputs)}

        def text(tree: Any) -> str:
            if tree.__class__ in (tuple, list):
                inner = "".join(f"{text(part)}, " for part in tree)
                return f"[{inner}]" if tree.__class__ is list else f"({inner})"
            if tree.__class__ is Symbol:
                method = ".item()" if tree.shape is None else ".copy()" if tree.shape else "[()]"
                return f"results[{places[tree]}]{method}"
            names[f"k{len(names)}"] = tree[()] if tree.__class__ is np.ndarray and not tree.shape else tree
            return f"k{len(names) - 1}{'.copy()' * (tree.__class__ is np.ndarray and bool(tree.shape))}"

        return eval(f"lambda results: {text(self.program.outputs)}", names)


compile = Executable
