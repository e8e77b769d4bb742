"""Programs as machine code, by LLVM: on one configuration, on lanes, on all cores.

A program becomes functions of the same operations, hence of the same results to the last bit:

    QUICK    one configuration at a time, compiled in the shortest time: for tables of usual length
    SINGLE   one configuration at a time, in the shortest time a call
    LANES    as many configurations at once as `lanes()`: for long tables

They read and write memory with a step between configurations, so that columns of the caller's own
arrays are used where they are:

    void run(int64 n, double **in, int64 *step_in, double **out, int64 *step_out)

Inputs named `uniform` are the same for all configurations; what depends on them alone is computed
once a call. A product in a sum is one fused operation where the processor has it.
"""

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from triskele.programs.elementary import expanded
from triskele.programs.program import Node, Program, depends_on, type_of, uses

QUICK, SINGLE, LANES = "quick", "single", "lanes"
Form = str  #: one of the three

_WORTH = 100_000  #: configurations from which it pays to compile for lanes
_PARALLEL = 1 << 14  #: configurations a core, from which more cores pay
_COMPILER = threading.RLock()  #: LLVM works for one thread at a time
_BOUND = ctypes.PYFUNCTYPE(None)
_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_int64, *(ctypes.c_void_p,) * 4)


@cache
def available() -> bool:
    """Whether LLVM can be loaded, and makes code for this machine."""
    try:
        _llvm()
    except (ImportError, OSError, RuntimeError):
        return False
    return True


@cache
def _llvm() -> Any:  # noqa: ANN401
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding


@cache
def _features() -> dict[str, bool]:
    return dict(_llvm().get_host_cpu_features())


@cache
def machine() -> str:
    """What code is made for: LLVM's version, processor and features."""
    llvm = _llvm()
    version = ".".join(map(str, llvm.llvm_version_info))
    return " ".join((version, llvm.get_process_triple(), llvm.get_host_cpu_name(),
                     _llvm().get_host_cpu_features().flatten(), f"lanes {lanes()}"))  # fmt: skip


@cache
def lanes() -> int:
    """Configurations worked on at once: two registers of the processor, so that it waits less."""
    has = _features()
    return 16 if has.get("avx512f") else 8 if has.get("avx") else 4


@cache
def _target(effort: int) -> Any:  # noqa: ANN401
    llvm = _llvm()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=effort,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


def object_code(program: Program, uniform: Iterable[int] = (), form: Form = QUICK) -> bytes:
    """Machine code of `run` in one of its forms, as an object file."""
    width = lanes() if form == LANES else 1
    with _COMPILER:
        module = _llvm().parse_assembly(llvm_assembly(program, uniform, width))
        return _target(0 if form == QUICK else 2).emit_object(module)


class Native:
    """A program as machine code; each form is made by the first call that needs it.

    `code` is what was compiled before; `keep` is called with what is compiled now.
    """

    def __init__(
        self,
        program: Callable[[], Program],
        uniform: Iterable[int] = (),
        code: Callable[[Form], bytes | None] = lambda form: None,
        keep: Callable[[Form, bytes], None] = lambda form, code: None,
    ) -> None:
        self._program, self.uniform = program, tuple(uniform)
        self._code, self._keep = code, keep
        self._lock = threading.Lock()
        self._made: dict[Form, bytes] = {}
        self._loaded: dict[Form, tuple[Any, Any]] = {}
        self._served = 0

    def run(self, inputs: "Table", outputs: "Table", n: int, *, in_order: bool = False) -> None:
        """Write the outputs of `n` configurations.

        Outputs must not share memory with inputs, unless they are computed `in_order`: then a
        configuration may read what one before it has written.
        """
        if not n:
            return
        self._served += n
        many = self._served >= _WORTH and n >= lanes()
        if in_order:
            self.function(SINGLE if many else QUICK)(n, *inputs.addresses, *outputs.addresses)
            return
        function = self.function(LANES if many else QUICK)
        cores = min(n // _PARALLEL, _cores())
        if cores < 2:
            function(n, *inputs.addresses, *outputs.addresses)
        else:
            _in_parallel(function, n, cores, inputs, outputs)

    def function(self, form: Form) -> Any:  # noqa: ANN401
        """`run` of the module's docstring, to be called with addresses; keep `self` alive."""
        loaded = self._loaded.get(form)
        if loaded is None:
            with self._lock:
                loaded = self._loaded.get(form)
                if loaded is None:
                    engine = _load(self._compiled(form))
                    run = _SIGNATURE(engine.get_function_address("run"))
                    loaded = self._loaded[form] = engine, run
        return loaded[1]

    def bound(self, inputs: "Table", outputs: "Table", form: Form = SINGLE) -> Callable[[], None]:
        """A function that computes one configuration, always from and into the same memory.

        It takes no arguments, which makes it the quickest to call; it holds Python's lock.
        """
        engine = _load(self._compiled(form))  # of its own: the addresses are kept in it
        slots = (ctypes.c_void_p * 4).from_address(engine.get_global_value_address("slots"))
        slots[:] = [*inputs.addresses, *outputs.addresses]
        call = _BOUND(engine.get_function_address("go"))
        setattr(call, "kept", (engine, inputs, outputs))  # noqa: B010 (as long as the function)
        return call

    def _compiled(self, form: Form) -> bytes:
        code = self._made.get(form) or self._code(form)
        if code is None:
            code = object_code(self._program(), self.uniform, form)
            self._keep(form, code)
        self._made[form] = code
        return code


def _load(code: bytes) -> Any:  # noqa: ANN401
    """What holds the code in memory."""
    llvm = _llvm()
    with _COMPILER:
        owned = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), owned)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine


class Table:
    """Addresses and steps of the columns of arrays, as the code reads them.

    An array is one number for all, numbers for all (steps of zero), or (N, k): k columns.
    """

    def __init__(
        self, pointers: np.ndarray, steps: np.ndarray, arrays: Sequence[np.ndarray]
    ) -> None:
        self.pointers, self.steps, self.arrays = pointers, steps, arrays
        self.addresses = (pointers.ctypes.data, steps.ctypes.data)

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> "Table":
        """The columns of `arrays` of doubles: (k,) are the same for all rows, (N, k) are not.

        Arrays whose numbers are not a whole number of doubles apart are copied.
        """
        pointers, steps = [], []
        whole = [a if not any(s % 8 for s in a.strides) else a.copy() for a in arrays]
        for array in whole:
            start, width = array.__array_interface__["data"][0], array.shape[-1]
            pointers.append(start + array.strides[-1] * np.arange(width, dtype=np.int64))
            steps.append(np.full(width, array.strides[0] // 8 if array.ndim == 2 else 0, np.int64))
        return cls(np.concatenate(pointers), np.concatenate(steps), whole)

    def after(self, n: int) -> "Table":
        """The same arrays, `n` configurations later."""
        return Table(self.pointers + n * self.steps * 8, self.steps, self.arrays)


@cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_cores(), thread_name_prefix="triskele")


def _in_parallel(function: Any, n: int, cores: int, inputs: Table, outputs: Table) -> None:  # noqa: ANN401
    ends = [n * k // cores for k in range(cores + 1)]

    def part(start: int, end: int) -> None:
        mine, into = inputs.after(start), outputs.after(start)
        function(end - start, *mine.addresses, *into.addresses)

    list(_pool().map(part, ends[:-1], ends[1:]))


# LLVM's assembly


#: one configuration, with the addresses that `bound` has put into the slots
_GO = (
    "@slots = global [4 x ptr] zeroinitializer",
    "define void @go() {",
    *(f"  %p{k} = getelementptr ptr, ptr @slots, i64 {k}" for k in range(4)),
    *(f"  %a{k} = load ptr, ptr %p{k}" for k in range(4)),
    "  call void @run(i64 1, ptr %a0, ptr %a1, ptr %a2, ptr %a3)",
    "  ret void",
    "}",
)
_DECLARED = ("sqrt", "fabs", "floor", "roundeven", "fmuladd")


def llvm_assembly(program: Program, uniform: Iterable[int] = (), width: int = 1) -> str:
    """`run` for `width` configurations at once, as text."""
    return _Writer(expanded(program), frozenset(uniform), width).module()


class _Writer:
    """Writes one function. %uK are numbers computed once, %vK what changes along the table."""

    def __init__(self, program: Program, uniform: frozenset[int], width: int) -> None:
        self.program, self.uniform, self.width = program, uniform, width
        varying = [k for k in range(len(program.inputs)) if k not in uniform]
        self.varies = depends_on(program, varying)
        self.fused, self.left_out = products_in_sums(program, self.varies)
        self.quotients = quotients(program, self.varies, self.left_out)
        self.left_out |= {reciprocal for _, reciprocal in self.quotients.values()}
        self.lines: list[str] = []
        self.slots: dict[int, int] = {}  #: where the loop finds what was computed before it

    def module(self) -> str:
        """The module's text."""
        once = [k for k, varies in enumerate(self.varies) if not varies]
        shared = self._shared()
        slots = {k: slot for slot, k in enumerate(shared)}
        self._prologue(slots)
        for k in once:
            if self.program.nodes[k].op != "const":
                self._operation(k, 1)
        for k, slot in slots.items():
            self._line(f"%s{slot} = getelementptr double, ptr %shared, i64 {slot}")
            value = self._name(k, 1)
            if type_of(self.program.nodes[k]) == "truth":
                self._line(f"%n{slot} = select i1 {value}, double 1.0, double 0.0")
                value = f"%n{slot}"
            self._line(f"store double {value}, ptr %s{slot}")
        self._line("%last = sub i64 %n, " + str(self.width))
        self._line("br label %loop")
        self.lines.append("loop:")
        self._line("%i = phi i64 [ 0, %entry ], [ %after, %loop ]")
        self.slots = slots
        for k, slot in slots.items():
            truth = type_of(self.program.nodes[k]) == "truth"
            self._line(f"%l{slot} = load double, ptr %s{slot}")
            self._splat(f"%c{slot}" if truth else f"%b{slot}", f"%l{slot}")
            if truth:
                kind, zero = _kind(self.width), _number(0.0, self.width)
                self._line(f"%b{slot} = fcmp one {kind} %c{slot}, {zero}")
        for k, varies in enumerate(self.varies):
            if varies and k not in self.left_out:
                self._operation(k, self.width)
        for number, place in enumerate(self.program.results):
            self._store(number, place)
        self._line(f"%next = add i64 %i, {self.width}")
        self._line("%more = icmp slt i64 %next, %n")
        self._line("%fits = icmp slt i64 %next, %last")
        self._line("%after = select i1 %fits, i64 %next, i64 %last")
        self._line("br i1 %more, label %loop, label %end")
        self.lines += ["end:", "  ret void", "}"]
        return "\n".join([*self._declarations(), *self.lines, *(_GO if self.width == 1 else ())])

    def _shared(self) -> list[int]:
        """What is computed once and used in the loop, constants apart."""
        nodes = self.program.nodes
        found: dict[int, None] = {}
        for k, node in enumerate(nodes):
            if self.varies[k]:
                for arg in node.operands:
                    if not self.varies[arg] and nodes[arg].op != "const":
                        found[arg] = None
        for place in self.program.results:
            if not self.varies[place] and nodes[place].op != "const":
                found[place] = None
        return list(found)

    def _declarations(self) -> list[str]:
        found = []
        for width in {1, self.width}:
            kind = _kind(width)
            for name in _DECLARED:
                takes = ", ".join((kind,) * (3 if name == "fmuladd" else 1))
                found.append(f"declare {kind} @llvm.{name}.{_suffix(width)}({takes})")
        return found

    def _prologue(self, slots: dict[int, int]) -> None:
        self.lines += [
            "define void @run(i64 %n, ptr noalias %in, ptr noalias %step_in, "
            "ptr noalias %out, ptr noalias %step_out) {",
            "entry:",
        ]
        self._line(f"%shared = alloca [{max(len(slots), 1)} x double], align 64")
        used = [node.args[0] for node in self.program.nodes if node.op == "input"]
        for group, numbers in (("in", used), ("out", range(len(self.program.results)))):
            for k in numbers:
                self._line(f"%{group}_{k}_at = getelementptr ptr, ptr %{group}, i64 {k}")
                self._line(f"%{group}_{k} = load ptr, ptr %{group}_{k}_at")
                self._line(f"%{group}_{k}_to = getelementptr i64, ptr %step_{group}, i64 {k}")
                self._line(f"%{group}_{k}_step = load i64, ptr %{group}_{k}_to")

    def _operation(self, place: int, width: int) -> None:
        node, name = self.program.nodes[place], self._own(place, width)
        kind, suffix = _kind(width), _suffix(width)
        if node.op == "input":
            self._input(place, node.args[0], width)
            return
        if place in self.fused and width == self.width:
            self._fused(place, width)
            return
        a, b, c = (*(self._name(arg, width) for arg in node.args), "", "", "")[:3]
        truths = "i1" if width == 1 else f"<{width} x i1>"
        match node.op:
            case "const":
                pass
            case "add" | "sub" | "mul":
                if place in self.quotients:
                    above, reciprocal = self.quotients[place]
                    below = self.program.nodes[reciprocal].args[0]
                    node = Node("div", (above, below))
                    a, b = self._name(above, width), self._name(below, width)
                self._line(f"{name} = f{node.op} {kind} {a}, {b}")
            case "neg":
                self._line(f"{name} = fneg {kind} {a}")
            case "recip":
                self._line(f"{name} = fdiv {kind} {_number(1.0, width)}, {a}")
            case "abs" | "sqrt" | "floor" | "round":
                call = {"abs": "fabs", "round": "roundeven"}.get(node.op, node.op)
                self._line(f"{name} = call {kind} @llvm.{call}.{suffix}({kind} {a})")
            case "pow2":
                self._power(name, a, width)
            case "lt" | "le" | "eq":
                compare = {"lt": "olt", "le": "ole", "eq": "oeq"}[node.op]
                self._line(f"{name} = fcmp {compare} {kind} {a}, {b}")
            case "min" | "max":  # NaN if one of them is
                compare = "olt" if node.op == "min" else "ogt"
                if self.program.nodes[node.args[0]].op == "const":  # what is no number is chosen
                    self._line(f"{name}_c = fcmp {compare} {kind} {a}, {b}")
                    self._line(f"{name} = select {truths} {name}_c, {kind} {a}, {kind} {b}")
                    return
                self._line(f"{name}_c = fcmp {compare} {kind} {a}, {b}")
                self._line(f"{name}_s = select {truths} {name}_c, {kind} {a}, {kind} {b}")
                self._line(f"{name}_n = fcmp uno {kind} {a}, {a}")
                self._line(f"{name} = select {truths} {name}_n, {kind} {a}, {kind} {name}_s")
            case "and" | "or":
                self._line(f"{name} = {node.op} {truths} {a}, {b}")
            case "not":
                ones = "true" if width == 1 else f"<{', '.join(('i1 true',) * width)}>"
                self._line(f"{name} = xor {truths} {a}, {ones}")
            case "select":
                self._line(f"{name} = select {truths} {a}, {kind} {b}, {kind} {c}")
            case _:
                raise AssertionError(f"{node.op} is not arithmetic")

    def _fused(self, place: int, width: int) -> None:
        """A product in a sum: x y + z, x y - z or z - x y."""
        x, y, z, minus_product, minus_rest = self.fused[place]
        kind, suffix, name = _kind(width), _suffix(width), self._own(place, width)
        a, b, c = (self._name(arg, width) for arg in (x, y, z))
        if minus_product:
            self._line(f"{name}_m = fneg {kind} {a}")
            a = f"{name}_m"
        if minus_rest:
            self._line(f"{name}_r = fneg {kind} {c}")
            c = f"{name}_r"
        takes = f"{kind} {a}, {kind} {b}, {kind} {c}"
        self._line(f"{name} = call {kind} @llvm.fmuladd.{suffix}({takes})")

    def _power(self, name: str, a: str, width: int) -> None:
        """2^k: k goes into the exponent."""
        kind = _kind(width)
        whole = "i64" if width == 1 else f"<{width} x i64>"
        places = "52" if width == 1 else f"<{', '.join(('i64 52',) * width)}>"
        self._line(f"{name}_d = fadd {kind} {a}, {_number(2.0**52 + 1023, width)}")
        self._line(f"{name}_i = bitcast {kind} {name}_d to {whole}")
        self._line(f"{name}_e = shl {whole} {name}_i, {places}")
        self._line(f"{name} = bitcast {whole} {name}_e to {kind}")

    def _input(self, place: int, number: int, width: int) -> None:
        name = self._own(place, width)
        if number in self.uniform:
            self._line(f"{name} = load double, ptr %in_{number}")
            return
        self._line(f"%a{place} = mul i64 %i, %in_{number}_step")
        self._line(f"%p{place}_0 = getelementptr double, ptr %in_{number}, i64 %a{place}")
        if width == 1:
            self._line(f"{name} = load double, ptr %p{place}_0")
            return
        last = "poison"
        for lane in range(width):
            if lane:
                self._line(
                    f"%p{place}_{lane} = getelementptr double, ptr %p{place}_{lane - 1}, "
                    f"i64 %in_{number}_step"
                )
            self._line(f"%e{place}_{lane} = load double, ptr %p{place}_{lane}")
            here = name if lane == width - 1 else f"%w{place}_{lane}"
            self._line(
                f"{here} = insertelement {_kind(width)} {last}, double %e{place}_{lane}, i32 {lane}"
            )
            last = here

    def _store(self, number: int, place: int) -> None:
        value, width = self._name(place, self.width), self.width
        if type_of(self.program.nodes[place]) == "truth":
            truths = "i1" if width == 1 else f"<{width} x i1>"
            kind = _kind(width)
            self._line(
                f"%t{number} = select {truths} {value}, {kind} {_number(1.0, width)}, "
                f"{kind} {_number(0.0, width)}"
            )
            value = f"%t{number}"
        self._line(f"%oa{number} = mul i64 %i, %out_{number}_step")
        self._line(f"%op{number}_0 = getelementptr double, ptr %out_{number}, i64 %oa{number}")
        if width == 1:
            self._line(f"store double {value}, ptr %op{number}_0")
            return
        for lane in range(width):
            if lane:
                self._line(
                    f"%op{number}_{lane} = getelementptr double, ptr %op{number}_{lane - 1}, "
                    f"i64 %out_{number}_step"
                )
            self._line(f"%oe{number}_{lane} = extractelement {_kind(width)} {value}, i32 {lane}")
            self._line(f"store double %oe{number}_{lane}, ptr %op{number}_{lane}")

    def _splat(self, name: str, number: str) -> None:
        if self.width == 1:
            self._line(f"{name} = fadd double {number}, -0.0")
            return
        kind = _kind(self.width)
        self._line(f"{name}_0 = insertelement {kind} poison, double {number}, i32 0")
        self._line(
            f"{name} = shufflevector {kind} {name}_0, {kind} poison, "
            f"<{self.width} x i32> zeroinitializer"
        )

    def _name(self, place: int, width: int) -> str:
        """What stands for the value at `place` in code for `width` configurations."""
        node = self.program.nodes[place]
        if node.op == "const":
            return _constant(node, width)
        if not self.varies[place] and place in self.slots:
            return f"%b{self.slots[place]}"
        return self._own(place, width)

    def _own(self, place: int, width: int) -> str:
        return f"%{'v' if self.varies[place] else 'u'}{place}"

    def _line(self, text: str) -> None:
        self.lines.append(f"  {text}")


Fused = tuple[int, int, int, bool, bool]


def products_in_sums(program: Program, varies: Sequence[bool]) -> tuple[dict[int, Fused], set[int]]:
    """Sums that take a product with them, and the products that are then left out.

    A product goes if all that use it are sums; of two products in a sum, the one with fewer users.
    """
    nodes = program.nodes
    users: list[list[int]] = [[] for _ in nodes]
    for k, node in enumerate(nodes):
        for arg in node.operands:
            users[arg].append(k)
    outputs = set(program.results)

    def can_go(k: int) -> bool:
        return (
            nodes[k].op == "mul"
            and varies[k]
            and k not in outputs
            and all(nodes[user].op in ("add", "sub") and nodes[user].args[0] != nodes[user].args[1]
                    for user in users[k])
        )  # fmt: skip

    chosen: dict[int, int] = {}
    for k, node in enumerate(nodes):
        if varies[k] and node.op in ("add", "sub"):
            products = [arg for arg in node.args if can_go(arg)]
            if products:
                chosen[k] = min(products, key=lambda arg: len(users[arg]))
    gone = {
        k
        for k in range(len(nodes))
        if can_go(k) and all(chosen.get(user) == k for user in users[k])
    }
    fused: dict[int, Fused] = {}
    for k, product in chosen.items():
        if product in gone:
            x, y = nodes[product].args
            first = nodes[k].args[0] == product
            rest = nodes[k].args[1] if first else nodes[k].args[0]
            minus = nodes[k].op == "sub"
            fused[k] = (x, y, rest, minus and not first, minus and first)
    return fused, gone


def quotients(
    program: Program, varies: Sequence[bool], gone: set[int]
) -> dict[int, tuple[int, int]]:
    """Products a (1 / b) of which nothing else needs the reciprocal: a, and where 1 / b stands."""
    count, found = uses(program), {}
    for k, node in enumerate(program.nodes):
        if node.op == "mul" and varies[k] and k not in gone:
            for above, reciprocal in (node.args, node.args[::-1]):
                alone = program.nodes[reciprocal].op == "recip" and count[reciprocal] == 1
                if alone and varies[reciprocal]:
                    found[k] = (above, reciprocal)
                    break
    return found


def _kind(width: int) -> str:
    return "double" if width == 1 else f"<{width} x double>"


def _suffix(width: int) -> str:
    return "f64" if width == 1 else f"v{width}f64"


def _number(value: float, width: int) -> str:
    """A constant; hexadecimal, so that it is exact."""
    bits = f"0x{np.float64(value).view(np.uint64):016X}"
    return bits if width == 1 else f"<{', '.join((f'double {bits}',) * width)}>"


def _constant(node: Node, width: int) -> str:
    value = node.args[0]
    if isinstance(value, bool):
        text = "true" if value else "false"
        return text if width == 1 else f"<{', '.join((f'i1 {text}',) * width)}>"
    return _number(value, width)
