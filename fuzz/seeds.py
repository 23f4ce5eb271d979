"""Writes a few small files of every kind for the fuzzer to begin with: python3 fuzz/seeds.py FOLDER."""
import gzip
import json
import struct
import sys
from pathlib import Path


def npy(text, values, code):
    header = text + " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code}", *values)


def arrays():
    """An array of every type, in both orders of bytes and of axes, and of other versions."""
    for code, kind in zip("bhiqBHIQfd?", "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 b1".split()):
        for order in "<>":
            for fortran in (False, True):
                text = f"{{'descr': '{order}{kind}', 'fortran_order': {fortran}, 'shape': (3, 2), }}\n"
                yield b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack(f"{order}6{code}", *[1, 0, 1, 1, 0, 1])
    for kind, values in ("S2", b"1\x002\x003\x00"), ("<U1", struct.pack("<3I", 49, 50, 51)):
        text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': (3, 1), }}\n"
        yield b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text.encode() + values


def matrix():
    return npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }", [1, 2, 3, 4, 5, 6.5], "d")


LIBSVM_DATA = b"+1 1:0.5 3:-2e1\n-1 2:1 # a comment\n\n+1\n"
CSV = b'a,b,kind\n1,2.5,x\n-3e1,,"y ""z"""\n4,5,x\n'
CASES = b"b,kind,a,id\n1,x,3,7\n,z,?,8\nword,,1e999,9\n"
E1071 = b"5.84333333333333 0.828066127977863\n-3 1e3\n"
RANGES = [b"y\n-1 1\n0 5\nx\n-1 1\n", b"x\n-1 1\n2 0 1\n2 0 1\n", b"x\n1 -1\n", b"x\n-1 1\n1 1 0\n", b"x\n-1 1\n1 -1e308 1e-300\n", b"x\n-1 1\n1 0 5e-324\n", b"x\n-1 1\n1 1e20 1.0000000000000002e20\n"]
RANGE = b"x\n-1 1\n1 0 5.5\n3 -2 2\n"
LIBSVM_MODEL = b"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.1\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:0.5 2:1\n-1 1:-1 3:2\n"
MODEL = {
    "format": "kernelet-json", "version": 2, "program": "seed", "kernel": {"name": "gaussian", "gamma": 0.5}, "dim": 2,
    "decision": {"rule": "sign", "negative": "-1", "positive": "1"}, "offsets": [0.1], "coefficients": [[1.0], [-1.0]],
    "scale": {"shift": None, "factor": [1.0, 2.0, 1.0], "map": [[1.0, 0.0, 0.5], [0.0, 1.0, -1.0]]}, "vectors": [[0.0, 0.0], [1.0, 1.0]],
}

NUMBER = {"kind": "number", "name": "a", "fill": 0.5, "flagged": True}
TEXT = {"kind": "text", "name": "kind", "categories": ["x", "y"]}
TABLES = [[NUMBER], [TEXT], [NUMBER, NUMBER], [{**TEXT, "categories": ["x", "x"]}], [{"kind": "ignored", "name": "id"}], []]


def models():
    """A model, models of tables of which some contradict themselves, and models that are no more than their beginning."""
    yield MODEL
    plain = {key: value for key, value in MODEL.items() if key != "scale"}
    for columns in TABLES:
        yield {**plain, "facts": {"table": {"columns": columns, "named": True}}}
    yield {**plain, "version": 99}
    yield {**plain, "format": "other"}
    yield {**plain, "coefficients": [[1.0], []]}
    yield {**plain, "vectors": None, "sparse_vectors": [[[1, 0.5]], []]}
    yield {**plain, "starts": [0, 1, 2], "decision": {"rule": "vote", "labels": ["1", "2"]}}


def native():
    kernelet = {"format": "kernelet-model", "version": 1, "program": "seed", "kernel": {"name": "gaussian", "gamma": 0.5},
                "decision": {"rule": "sign", "negative": "-1", "positive": "1"}}
    arrays = {"coefficients": [[2, 1], [1.0, -1.0]], "offsets": [[1], [0.1]], "vectors": [[2, 2], [0.0, 1.0, 2.0, 3.0]]}
    header, data = {"__metadata__": {"kernelet": json.dumps(kernelet)}}, b""
    for name, (shape, values) in arrays.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


SEEDS = {
    "libsvm_data": [LIBSVM_DATA, gzip.compress(LIBSVM_DATA, mtime=0)], "cache": [b"", bytes([0, 9, 1]), bytes([255, 255, 1])],
    "differential": [b"0" + LIBSVM_DATA, b"0" + b"1 1:1\n2 2:2 3:0\n", b"1" + b"1,2.5,3\n-4,5,.25\n", b"2" + matrix()],
    "csv": [CSV, b"1;2;3\n4;5;6\n", CSV.replace(b",", b"\t"), CASES, gzip.compress(CSV, mtime=0)], "npy": [matrix(), *arrays()], "range": [RANGE, E1071, *RANGES], "libsvm_model": [LIBSVM_MODEL],
    "json_model": [json.dumps(model).encode() for model in models()], "native_model": [native()], "problem": [bytes(range(200)), bytes([0] * 8 + list(range(120)))],
    "predict": [bytes([9, 33, 17, 1, kernel, kind, 0]) + bytes(range(200)) for kernel in range(4) for kind in range(3)],
}

if __name__ == "__main__":
    for target, files in SEEDS.items():
        folder = Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(files):
            (folder / f"seed-{number}").write_bytes(content)
    tests = Path(__file__).parents[1] / "crates/kernelet/tests"
    # Models of LIBSVM and of every version.
    for ending, target in ("model", "libsvm_model"), ("kernelet", "native_model"), ("range", "range"):
        for path in sorted((tests / "models").glob(f"*.{ending}")):
            (Path(sys.argv[1]) / target / path.name).write_bytes(path.read_bytes())
    # What cannot be written in a line here, and files that once broke something.
    for path in sorted((tests / "hostile").glob("*/*")):
        folder = Path(sys.argv[1]) / path.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / path.name).write_bytes(path.read_bytes())
