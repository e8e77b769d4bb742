"""NVIDIA's compiler and driver through ctypes: as much of them as one kernel needs.

    NVRTC    from CUDA source to machine code; of the package nvidia-cuda-nvrtc, or of the system
    driver   memory and launches; comes with the graphics driver

All work is done in the primary context of a device, the one that JAX, CuPy and PyTorch use, and on
its default stream. The caller's context is current again after each call.
"""

import ctypes
import ctypes.util
import importlib.util
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import byref, c_char_p, c_int, c_longlong, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from triskele.errors import TriskeleError


class DeviceError(TriskeleError, RuntimeError):
    """No CUDA device, driver or compiler, or one that refuses."""


def available() -> bool:
    """Whether programs can be compiled and run on a device here."""
    return not missing()


def holds(*arrays: Any) -> bool:  # noqa: ANN401
    """Whether these JAX arrays are on a GPU on which programs can be compiled and run."""
    places = {place.platform for array in arrays for place in array.devices()}
    return places in ({"gpu"}, {"cuda"}) and available()


def missing() -> str:
    """The sentence that says what keeps programs from a device; empty if nothing does."""
    try:
        gpu()
        _nvrtc()
    except DeviceError as error:
        return str(error)
    return ""


class _Library:
    """Functions that return a status, which is 0 where all went well; `means` puts it in words."""

    def __init__(
        self,
        library: ctypes.CDLL,
        takes: dict[str, tuple],
        means: Callable[[ctypes.CDLL, int], str],
    ) -> None:
        self._library, self._means = library, means
        for name, types in takes.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, c_int

    def __call__(self, name: str, *args: Any) -> None:  # noqa: ANN401
        """Call `name`; DeviceError if it fails."""
        status = getattr(self._library, name)(*args)
        if status:
            meaning = self._means(self._library, status)
            raise DeviceError(f"{name} failed with status {status}: {meaning}.")


def _loaded(names: Sequence[str | Path]) -> ctypes.CDLL | None:
    """The first of these libraries that loads."""
    for name in names:
        with suppress(OSError):
            return ctypes.CDLL(str(name))
    return None


# The compiler

_OUT = ctypes.POINTER(c_void_p)
_NVRTC = {
    "nvrtcVersion": (ctypes.POINTER(c_int), ctypes.POINTER(c_int)),
    "nvrtcGetNumSupportedArchs": (ctypes.POINTER(c_int),),
    "nvrtcGetSupportedArchs": (ctypes.POINTER(c_int),),
    "nvrtcCreateProgram": (_OUT, c_char_p, c_char_p, c_int, c_void_p, c_void_p),
    "nvrtcDestroyProgram": (_OUT,),
    "nvrtcCompileProgram": (c_void_p, c_int, ctypes.POINTER(c_char_p)),
    "nvrtcGetProgramLogSize": (c_void_p, ctypes.POINTER(c_size_t)),
    "nvrtcGetProgramLog": (c_void_p, c_char_p),
    "nvrtcGetCUBINSize": (c_void_p, ctypes.POINTER(c_size_t)),
    "nvrtcGetCUBIN": (c_void_p, c_char_p),
    "nvrtcGetPTXSize": (c_void_p, ctypes.POINTER(c_size_t)),
    "nvrtcGetPTX": (c_void_p, c_char_p),
}
#: products and sums are fused where the source says so, and nowhere else
_OPTIONS = ("--std=c++17", "--fmad=false")


def _compiler_message(library: ctypes.CDLL, status: int) -> str:
    library.nvrtcGetErrorString.restype = c_char_p
    return library.nvrtcGetErrorString(c_int(status)).decode()


@cache
def _nvrtc() -> _Library:
    library = _loaded([*_packaged(), *_installed()])
    if library is None:
        raise DeviceError(
            "The CUDA compiler NVRTC is not installed: `pip install nvidia-cuda-nvrtc` for "
            "CUDA 13, `pip install nvidia-cuda-nvrtc-cu12` for CUDA 12."
        )
    return _Library(library, _NVRTC, _compiler_message)


def _packaged() -> list[Path]:
    """NVRTC in site-packages; the newest first, but last what is newer than the driver."""
    spec = importlib.util.find_spec("nvidia")
    folders = [] if spec is None else spec.submodule_search_locations or []
    patterns = ("*/lib/libnvrtc.so.*", "*/bin/nvrtc64_*.dll", "*/bin/*/nvrtc64_*.dll")
    found = [
        path for folder in folders for pattern in patterns for path in Path(folder).glob(pattern)
    ]
    known = _driver_version()[0]

    def rank(path: Path) -> tuple[bool, int]:
        digits = re.search(r"(?:so\.|nvrtc64_)(\d\d)", path.name)
        major = int(digits[1]) if digits else 0
        return known > 0 and major > known, -major

    return sorted((path for path in found if ".alt." not in path.name), key=rank)


def _installed() -> list[str]:
    """Names under which the system may have NVRTC."""
    named = ctypes.util.find_library("nvrtc")
    usual = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"]
    return ([named] if named else []) + usual


def nvrtc_version() -> tuple[int, int]:
    """Version of the compiler."""
    major, minor = c_int(), c_int()
    _nvrtc()("nvrtcVersion", byref(major), byref(minor))
    return major.value, minor.value


def architectures() -> list[int]:
    """Compute capabilities that the compiler knows, 90 for 9.0."""
    count = c_int()
    _nvrtc()("nvrtcGetNumSupportedArchs", byref(count))
    found = (c_int * count.value)()
    _nvrtc()("nvrtcGetSupportedArchs", found)
    return sorted(found)


def compiled(source: str, arch: str) -> bytes:
    """Machine code for "sm_90", PTX for "compute_90"."""
    nvrtc, handle = _nvrtc(), c_void_p()
    nvrtc("nvrtcCreateProgram", byref(handle), source.encode(), b"program.cu", 0, None, None)
    try:
        options = [f"--gpu-architecture={arch}".encode(), *(text.encode() for text in _OPTIONS)]
        try:
            nvrtc("nvrtcCompileProgram", handle, len(options), (c_char_p * len(options))(*options))
        except DeviceError as error:
            log = _text(nvrtc, "ProgramLog", handle).decode(errors="replace").rstrip("\0\n")
            raise DeviceError(f"{error} NVRTC wrote: {log[:2000]}") from None
        return _text(nvrtc, "CUBIN" if arch.startswith("sm_") else "PTX", handle)
    finally:
        nvrtc("nvrtcDestroyProgram", byref(handle))


def _text(nvrtc: _Library, what: str, handle: c_void_p) -> bytes:
    size = c_size_t()
    nvrtc(f"nvrtcGet{what}Size", handle, byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    nvrtc(f"nvrtcGet{what}", handle, buffer)
    return buffer.raw


# The driver

_DRIVER = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (ctypes.POINTER(c_int),),
    "cuDeviceGetCount": (ctypes.POINTER(c_int),),
    "cuDeviceGet": (ctypes.POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (ctypes.POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (_OUT, c_int),
    "cuCtxPushCurrent_v2": (c_void_p,),
    "cuCtxPopCurrent_v2": (_OUT,),
    "cuStreamSynchronize": (c_void_p,),
    "cuModuleLoadData": (_OUT, c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (_OUT, c_void_p, c_char_p),
    "cuFuncGetAttribute": (ctypes.POINTER(c_int), c_int, c_void_p),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (
        ctypes.POINTER(c_int), c_void_p, c_int, c_size_t),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, _OUT, _OUT),
    "cuMemAlloc_v2": (ctypes.POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuPointerGetAttribute": (c_void_p, c_int, c_uint64),
}  # fmt: skip
# numbers of the driver's enumerations
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76
_LOCAL_BYTES, _REGISTERS = 3, 4
_ORDINAL = 9
_DEFAULT_STREAM = c_void_p(0)


def _driver_message(library: ctypes.CDLL, status: int) -> str:
    text = c_char_p()
    library.cuGetErrorString(c_int(status), byref(text))
    return (text.value or b"an unknown error").decode()


@cache
def _driver() -> _Library:
    library = _loaded(["libcuda.so.1", "libcuda.so", "nvcuda.dll"])
    if library is None:
        raise DeviceError("There is no NVIDIA driver here, hence no CUDA device.")
    return _Library(library, _DRIVER, _driver_message)


def _driver_version() -> tuple[int, int]:
    """The newest version of CUDA that the driver runs; zeros if there is no driver."""
    number = c_int()
    with suppress(DeviceError):
        _driver()("cuDriverGetVersion", byref(number))
    return number.value // 1000, number.value % 1000 // 10


@cache
def gpu(ordinal: int = 0) -> "Gpu":
    """The device of this number."""
    return Gpu(ordinal)


class Gpu:
    """A device and its primary context."""

    def __init__(self, ordinal: int) -> None:
        driver, count, device, context = _driver(), c_int(), c_int(), c_void_p()
        driver("cuInit", 0)
        driver("cuDeviceGetCount", byref(count))
        if not 0 <= ordinal < count.value:
            raise DeviceError(f"There is no CUDA device {ordinal}; the driver has {count.value}.")
        driver("cuDeviceGet", byref(device), ordinal)
        driver("cuDevicePrimaryCtxRetain", byref(context), device)
        self.ordinal, self._device, self._context = ordinal, device, context
        self._driver = driver
        name = ctypes.create_string_buffer(256)
        driver("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        #: 90 for compute capability 9.0
        self.capability = 10 * self._attribute(_MAJOR) + self._attribute(_MINOR)
        self.multiprocessors = self._attribute(_MULTIPROCESSORS)

    def _attribute(self, which: int) -> int:
        value = c_int()
        self._driver("cuDeviceGetAttribute", byref(value), which, self._device)
        return value.value

    @contextmanager
    def current(self) -> Iterator[_Library]:
        """The driver, with this device's context current in this thread."""
        self._driver("cuCtxPushCurrent_v2", self._context)
        try:
            yield self._driver
        finally:
            self._driver("cuCtxPopCurrent_v2", byref(c_void_p()))

    @property
    def arch(self) -> str:
        """What to compile for: machine code, or PTX where the compiler is older than the device."""
        known = architectures()
        if self.capability in known:
            return f"sm_{self.capability}"
        older = [capability for capability in known if capability < self.capability]
        if not older:
            raise DeviceError(
                f"{self.name} has compute capability {self.capability / 10}; "
                f"NVRTC {'.'.join(map(str, nvrtc_version()))} begins at {known[0] / 10}."
            )
        return f"compute_{older[-1]}"

    def wait(self, stream: int = 0) -> None:
        """Wait for all work on a stream; 0 is the default one."""
        with self.current() as driver:
            driver("cuStreamSynchronize", c_void_p(stream))

    def owns(self, address: int) -> bool:
        """Whether memory at `address` is this device's."""
        ordinal = c_int(-1)
        with self.current() as driver, suppress(DeviceError):
            driver("cuPointerGetAttribute", byref(ordinal), _ORDINAL, address)
        return ordinal.value == self.ordinal

    def kernel(self, image: bytes, name: str, threads: int) -> "Kernel":
        """A kernel of compiled code, launched with blocks of so many threads."""
        return Kernel(self, image, name, threads)


class Kernel:
    """A kernel in the memory of a device."""

    def __init__(self, device: Gpu, image: bytes, name: str, threads: int) -> None:
        self.device, self.threads = device, threads
        module, self._function, blocks = c_void_p(), c_void_p(), c_int()
        with device.current() as driver:
            try:
                driver("cuModuleLoadData", byref(module), image)
            except DeviceError as error:
                versions = (".".join(map(str, v)) for v in (_driver_version(), nvrtc_version()))
                raise DeviceError(
                    f"{error} The driver runs CUDA {next(versions)}; the code is by NVRTC "
                    f"{next(versions)}, which must not be newer."
                ) from None
            weakref.finalize(self, _released, device, "cuModuleUnload", module).atexit = False
            driver("cuModuleGetFunction", byref(self._function), module, name.encode())
            driver("cuOccupancyMaxActiveBlocksPerMultiprocessor", byref(blocks), self._function,
                   threads, 0)  # fmt: skip
        #: blocks that the device runs at once
        self.resident = max(blocks.value, 1) * device.multiprocessors
        self.registers = self._attribute(_REGISTERS)  #: of a thread
        self.spilled = self._attribute(_LOCAL_BYTES)  #: bytes of a thread outside its registers

    def _attribute(self, which: int) -> int:
        value = c_int()
        with self.device.current() as driver:
            driver("cuFuncGetAttribute", byref(value), which, self._function)
        return value.value

    def __call__(self, n: int, *values: Any) -> None:  # noqa: ANN401
        """Run `n` threads, or as many as the device runs at once, and wait for them.

        `values` are ctypes numbers and NumPy arrays; arrays are passed by value, as structures.
        The first argument of the kernel is `n`.
        """
        if n == 0:
            return
        blocks = min(-(-n // self.threads), self.resident)
        arguments = [c_longlong(n), *values]
        places = [
            value.ctypes.data if isinstance(value, np.ndarray) else ctypes.addressof(value)
            for value in arguments
        ]
        with self.device.current() as driver:
            driver("cuLaunchKernel", self._function, blocks, 1, 1, self.threads, 1, 1, 0,
                   _DEFAULT_STREAM, (c_void_p * len(places))(*places), None)  # fmt: skip
            driver("cuStreamSynchronize", _DEFAULT_STREAM)


def _released(device: Gpu, function: str, handle: Any) -> None:  # noqa: ANN401
    """Give back what a context that may have ended owns."""
    with suppress(DeviceError), device.current() as driver:
        driver(function, handle)


class DeviceArray:
    """Doubles in the memory of a device, in rows; others read it as `__cuda_array_interface__`."""

    def __init__(self, shape: tuple[int, ...], device: Gpu) -> None:
        self.shape, self.device, address = tuple(shape), device, c_uint64()
        self.bytes = 8 * int(np.prod(shape))
        with device.current() as driver:
            driver("cuMemAlloc_v2", byref(address), max(self.bytes, 8))
        weakref.finalize(self, _released, device, "cuMemFree_v2", address).atexit = False
        self.address = address.value

    @classmethod
    def of(cls, numbers: ArrayLike, device: Gpu | None = None) -> "DeviceArray":
        """A copy of `numbers` on the device."""
        plain = np.ascontiguousarray(numbers, float).reshape(np.shape(numbers))
        array = cls(plain.shape, device or gpu())
        with array.device.current() as driver:
            driver("cuMemcpyHtoD_v2", array.address, plain.ctypes.data, array.bytes)
            driver("cuStreamSynchronize", _DEFAULT_STREAM)
        return array

    def numpy(self) -> np.ndarray:
        """A copy in the memory of the processor."""
        plain = np.empty(self.shape)
        with self.device.current() as driver:
            driver("cuMemcpyDtoH_v2", plain.ctypes.data, self.address, self.bytes)
        return plain

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Address and shape, for CuPy, PyTorch and others."""
        return {"shape": self.shape, "typestr": "<f8", "data": (self.address, False), "version": 3,
                "strides": None, "stream": None}  # fmt: skip
