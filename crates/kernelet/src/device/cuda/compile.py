"""Compiles the kernels of this folder for every generation of cards, by NVRTC, which needs neither a card nor a toolkit.

    pip install nvidia-cuda-nvrtc-cu12==12.8.93
    python compile.py

What it writes (`../kernels/`) is checked in with the hash of the sources; a test fails where they differ.
"""
import ctypes
import glob
import hashlib
import importlib.util
import os
import pathlib
import sys
import zlib

HERE = pathlib.Path(__file__).parent
SOURCES = ["halves.cu", "predict.cu", "small.cu", "products.cu", "losses.cu", "newton.cu", "descent.cu"]
CARDS = ["80", "86", "89", "90", "100", "120"]


def library():
    """The NVRTC of pip's package."""
    if len(sys.argv) > 1:
        return ctypes.CDLL(sys.argv[1])
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations if spec else []:
        for name in glob.glob(os.path.join(place, "cuda_nvrtc/lib/libnvrtc.so.12")):
            return ctypes.CDLL(name)
    sys.exit("NVRTC is missing: pip install nvidia-cuda-nvrtc-cu12==12.8.93")


def compiled(nvrtc, source, target):
    """Machine code for `sm_N`, text for `compute_N`."""
    program = ctypes.c_void_p()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernelet.cu", 0, None, None) == 0
    options = [f"--gpu-architecture={target}".encode(), b"--std=c++17"]
    result = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if result != 0:
        sys.exit(log.value.decode())
    kind = "CUBIN" if target.startswith("sm_") else "PTX"
    assert getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)) == 0
    out = ctypes.create_string_buffer(size.value)
    assert getattr(nvrtc, f"nvrtcGet{kind}")(program, out) == 0
    return out.raw[: size.value]


def main():
    nvrtc = library()
    source = b"".join((HERE / name).read_bytes() for name in SOURCES)
    folder = HERE.parent / "kernels"
    folder.mkdir(exist_ok=True)
    for target in [f"sm_{card}" for card in CARDS] + ["compute_80"]:
        code = compiled(nvrtc, source, target)
        packed = zlib.compress(code, 9)
        (folder / f"{target}.z").write_bytes(packed)
        print(f"{target}: {len(code)} bytes, {len(packed)} packed")
    (folder / "sources.sha256").write_text(hashlib.sha256(source).hexdigest() + "\n")


if __name__ == "__main__":
    main()
