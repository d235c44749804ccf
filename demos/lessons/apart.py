"""Objects of another process, used as if they were here: a checker in one process tries an answer that is in another.

The two processes take turns at a pair of pipes. Numbers, strings, arrays, and containers of these, are copied. Every
other object stays where it is, and the other process holds a stand-in for it, a `There`. A stand-in sends what is done
to it (a call, an attribute, an operator) and returns what comes back. A message is JSON, so nothing that arrives is
run. What the process of the answer may do here is to call the functions that it was given, and nothing else.
"""

import base64
import builtins
import json
import operator
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import numpy as np

PLAIN = (bool, int, float, str)
CONTAINERS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class Lost(BaseException):
    """What ended the answer there, such as the end of its time; no `except Exception` catches it."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class There:
    """Stands for an object of the other process."""

    def __init__(self, wire: "Wire", number: int, kind: str, is_class: bool) -> None:
        self.__dict__.update(_wire=wire, _number=number, _kind=kind, _is_class=is_class)

    @property
    def __class__(self) -> type:  # for isinstance(x, type), and for its name in hints
        return type if self._is_class else type(self._kind, (), {})

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError("the class of an object of another process cannot be changed")

    def __getattr__(self, name: str) -> Any:
        return self._wire.ask("get", self, name)

    def __setattr__(self, name: str, to: Any) -> None:
        self._wire.ask("set", self, name, to)

    def __instancecheck__(self, found: Any) -> bool:
        return isinstance(found, There) and self._wire.ask("isinstance", found, self)

    def __subclasscheck__(self, found: Any) -> bool:
        return isinstance(found, There) and self._wire.ask("issubclass", found, self)

    def __or__(self, other: Any) -> "Either":
        return Either((self, other))

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self._wire.ask("array", self), dtype)

    def __iter__(self) -> Any:
        return iter(self._wire.ask("list", self))

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    __array_ufunc__ = None  # so that `array * stand-in` is asked of the stand-in


class Callable_(There):
    """Stands for a function or a class of the other process."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._wire.ask("call", self, list(given), named)


class Either(tuple):
    """What `A | B` is for stand-ins of classes."""

    __slots__ = ()

    def __instancecheck__(self, found: Any) -> bool:
        return any(isinstance(found, kind) for kind in self)


BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
OTHERS = ["neg", "pos", "abs", "len", "getitem", "setitem", "contains", "float", "int", "bool", "repr"]
OTHERS += ["enter", "exit", "lt", "gt", "le", "ge"]
HERE: dict[str, Callable[..., Any]] = {
    "get": getattr,
    "set": setattr,
    "isinstance": isinstance,
    "issubclass": issubclass,
    "list": list,
    "array": np.asarray,
    "call": lambda f, given, named: f(*given, **named),
    **{name: getattr(operator, name) for name in (*BINARY, "neg", "pos", "abs", "lt", "gt", "le", "ge")},
    **{f"r{name}": lambda a, b, name=name: getattr(operator, name)(b, a) for name in BINARY},
    **{name: getattr(operator, name) for name in ("getitem", "setitem", "contains")},
    **{name: getattr(builtins, name) for name in ("len", "float", "int", "bool", "repr")},
    "enter": lambda x: type(x).__enter__(x),
    "exit": lambda x: type(x).__exit__(x, None, None, None),
}
for _name in [*BINARY, *(f"r{name}" for name in BINARY), *OTHERS]:
    _given = 0 if _name == "exit" else None

    def _forward(self: There, *given: Any, name: str = _name, upto: int | None = _given) -> Any:
        return self._wire.ask(name, self, *given[:upto])

    setattr(There, f"__{_name}__", _forward)


class Wire:
    """One end of the two pipes.

    Args:
        source: where messages come from.
        sink: where they go to.
        allowed: what the other process may ask for, of the names in `HERE`.
        quiet: called with True while this process reads or writes, and with False while it runs something.
    """

    def __init__(
        self,
        source: BinaryIO,
        sink: BinaryIO,
        allowed: Iterable[str] = HERE,
        quiet: Callable[[bool], None] | None = None,
    ) -> None:
        self.source, self.sink, self.allowed, self.quiet = source, sink, {*allowed}, quiet or (lambda _: None)
        self.kept: list[Any] = []  # the objects that the other process has a stand-in for
        self.numbers: dict[int, int] = {}  # their places in the list, by id
        self.stand_ins: dict[int, Any] = {}
        self.extra: dict[str, Callable[..., Any]] = {}  # what else may be asked for
        self.ended: BaseException | None = None  # what ended the answer

    # -----------------------------------------------------------------------------------------------------------------
    def ask(self, what: str, *given: Any) -> Any:
        """What the other process answers; meanwhile, what it asks is answered."""
        self.quiet(True)
        try:
            self.send({"ask": what, "given": [self.packed(x) for x in given]})
            while "ask" in (message := self.receive()):
                self.reply(message)
            if "raised" in message:
                raise self.error(*map(str, message["raised"]))
            return self.unpacked(message["is"])
        finally:
            self.quiet(False)

    def reply(self, message: dict[str, Any]) -> None:
        """Do what is asked, and send the result, or what was raised."""
        try:
            what = message["ask"]
            do = self.extra.get(what) or (HERE[what] if what in self.allowed else None)
            if do is None:
                kind = AttributeError if what == "get" else PermissionError  # so that hasattr says False
                raise kind(f"{what!r} of an object of the checker")
            given = [self.unpacked(x) for x in message["given"]]
            self.quiet(False)
            try:
                found = do(*given)
            finally:
                self.quiet(True)
            self.send({"is": self.packed(found)})
        except BaseException as error:
            if not isinstance(error, Exception):
                self.ended = error
            known = next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")
            name = error.name if isinstance(error, Lost) else type(error).__name__
            self.send({"raised": [known if isinstance(error, Exception) else "", name, str(error)]})

    def error(self, known: str, name: str, message: str) -> BaseException:
        """The exception that was raised there."""
        if not known:
            return self.ended if self.ended is not None and type(self.ended).__name__ == name else Lost(name, message)
        kind = getattr(builtins, known, Exception)
        kind = kind if isinstance(kind, type) and issubclass(kind, Exception) else Exception
        try:
            return (kind if known == name else type(name, (kind,), {}))(message)
        except TypeError:  # UnicodeDecodeError needs more
            return ValueError(message)

    def send(self, message: dict[str, Any]) -> None:
        self.sink.write(json.dumps(message).encode() + b"\n")
        self.sink.flush()

    def receive(self) -> dict[str, Any]:
        line = self.source.readline()
        if not line:
            raise Lost("EOFError", "the process of the notebook ended")
        message = json.loads(line)
        if not isinstance(message, dict) or not message.keys() & {"ask", "is", "raised"}:
            raise Lost("EOFError", "the process of the notebook wrote something else")
        return message

    # -----------------------------------------------------------------------------------------------------------------
    def packed(self, x: Any) -> Any:
        """An object as JSON."""
        kind = type(x)
        if x is None or kind in PLAIN:
            return x
        if x is Ellipsis:
            return {"of": "..."}
        if kind in CONTAINERS.values():
            return {"of": kind.__name__, "is": [self.packed(each) for each in x]}
        if kind is dict:
            return {"of": "dict", "is": [[self.packed(key), self.packed(each)] for key, each in x.items()]}
        if kind is slice:
            return {"of": "slice", "is": [self.packed(each) for each in (x.start, x.stop, x.step)]}
        if kind is complex:
            return {"of": "complex", "is": [x.real, x.imag]}
        if isinstance(x, np.generic) or (kind is np.ndarray and not x.dtype.hasobject):
            one = kind is not np.ndarray
            data = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
            return {"of": "array", "dtype": x.dtype.str, "shape": list(x.shape), "is": data, "one": one}
        if kind is np.ndarray:
            return {"of": "objects", "shape": list(x.shape), "is": [self.packed(each) for each in x.ravel()]}
        if isinstance(x, There):
            return {"of": "yours", "is": x._number}
        if kind is np.random.Generator:
            return {"of": "generator", "is": self.number(x), "state": x.bit_generator.state}
        what = {"kind": kind.__name__, "calls": callable(x), "class": isinstance(x, type)}
        return {"of": "mine", "is": self.number(x), **what}

    def number(self, x: Any) -> int:
        """The number under which the other process knows an object; the object is kept, so that its id is its own."""
        if id(x) not in self.numbers:
            self.numbers[id(x)] = len(self.kept)
            self.kept.append(x)
        return self.numbers[id(x)]

    def unpacked(self, x: Any) -> Any:
        """An object from JSON."""
        if not isinstance(x, dict):
            return x
        of, what = x["of"], x.get("is")
        if of in CONTAINERS:
            return CONTAINERS[of](map(self.unpacked, what))
        if of == "dict":
            return {self.unpacked(key): self.unpacked(each) for key, each in what}
        if of == "array":
            array = np.frombuffer(base64.b64decode(what), np.dtype(x["dtype"])).reshape(x["shape"])
            return array[()] if x["one"] else array.copy()
        if of == "objects":
            array = np.empty(len(what), object)
            array[:] = [self.unpacked(each) for each in what]
            return array.reshape(x["shape"])
        if of == "yours":
            return self.kept[what]
        if of == "mine":
            return self.stand_in(what, str(x["kind"]), x["calls"] is True, x["class"] is True)
        if of == "generator":  # of random numbers: a copy, made once
            if what not in self.stand_ins:
                self.stand_ins[what] = np.random.default_rng()
                self.stand_ins[what].bit_generator.state = x["state"]
            return self.stand_ins[what]
        if of == "slice":
            return slice(*map(self.unpacked, what))
        return complex(*what) if of == "complex" else ...

    def stand_in(self, number: int, kind: str, calls: bool, is_class: bool) -> Any:
        """The one stand-in for an object, so that `is` works."""
        if number not in self.stand_ins:
            self.stand_ins[number] = (Callable_ if calls else There)(self, number, kind, is_class)
        return self.stand_ins[number]
