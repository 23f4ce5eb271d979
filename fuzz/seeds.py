"""Writes a few small files of every kind for the fuzzer to begin with: python3 fuzz/seeds.py FOLDER."""
import gzip
import io
import json
import struct
import sys
import zipfile
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
LONE = b"5.5 0.25\n"
E1071 = b"5.84333333333333 0.828066127977863\n-3 1e3\n"
RANGES = [b"y\n-1 1\n0 5\nx\n-1 1\n", b"x\n-1 1\n2 0 1\n2 0 1\n", b"x\n1 -1\n", b"x\n-1 1\n1 1 0\n", b"x\n-1 1\n1 -1e308 1e-300\n", b"x\n-1 1\n1 0 5e-324\n", b"x\n-1 1\n1 1e20 1.0000000000000002e20\n"]
RANGE = b"x\n-1 1\n1 0 5.5\n3 -2 2\n"
LIBSVM_MODEL = b"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 2\nrho 0.1\nlabel 1 -1\nnr_sv 1 1\nSV\n1 1:0.5 2:1\n-1 1:-1 3:2\n"
MODEL = {
    "format": "kernelet-json", "version": 2, "program": "seed", "kernel": {"name": "gaussian", "gamma": 0.5}, "dim": 2,
    "decision": {"rule": "sign", "negative": "-1", "positive": "1"}, "offsets": [0.1], "coefficients": [[1.0], [-1.0]],
    "scale": {"shift": None, "factor": [1.0, 2.0, 1.0], "map": [[1.0, 0.0, 0.5], [0.0, 1.0, -1.0]]}, "vectors": [[0.0, 0.0], [1.0, 1.0]],
}

# What readers refuse, and what only some files have.
BAD_ROWS = [b"1:1 2:2\n", b"1 0:1\n", b"1 1:1 1:2\n", b"1 2:1 1:2\n", b"1 4294967295:1\n", b"1 1:\n", b"1 1:x\n", b"1 x\n", b"1 qid:3 1:2 # end\n2 qid:3\n", b"nan 1:1\n",
            b"? 1:1\n", b"\xff 1:1\n", b"1 1:1e999\n", b"1:1\n2:1\n", b"1 1:1\n2:1\n", b"a 1:1\nb 1:2\n", b"\xef\xbb\xbf1 1:2\n", b"1,2 1:2\n", b"1 99999999999999999999:1\n"]
BAD_TABLES = [b"a,b,y\n1,2,x\n3,4\n", b"a,a,y\n1,2,x\n", b"a,b,y\n1;5,2,x\n", b"a;b;y\n1,5;2;x\n2,5;3;z\n", b"a,b,y\n,1,x\n,2,z\n", b"a,y\n,x\n,z\n", b"a,b,y\n1,inf,x\n2,3,z\n", b"a,b,y\n1,u,?\n2,v,z\n",
              b"a,b,y\n1,u\xff,x\n2,v,z\n", b"\xff,b\n1,2\n", b"a,b\n", b"\n\n", b'a,"b\n1,2\n', b"1,2,3\nx,4,5\n", b"k,a,y\n" + b"".join(b"w%d,%d,x\n" % (i, i) for i in range(60)),
              b"kind,b,a,id\n" + b"z" * 60 + b",1,2,3\n", b"a,b,kind,id,y\n1,2,x,3,u\n4,?,new,5,v\n", b"kind,a\nx,1\ny,2\nx,word\n", b"1,word\n2,3\nword,4\n5,6\n"]
CUT = gzip.compress(LIBSVM_DATA * 50, mtime=0)[:-20]
HEADERS = [("<f8", "(3, 3)", 48), ("<f8", "(9, 2)", 48), ("<f8", "(4, 2)", 48), ("<f8", "(2, 2)", 48), ("<f8", "(6,)", 48), ("<f8", "()", 8), ("<f8", "(1, 6, 1)", 48), ("<f8", "(18446744073709551615, 9)", 48), ("<c16", "(3, 1)", 48),
           ("|O", "(3, 1)", 24), ("|S4", "(3, 1)", 12), ("|S4", "(3,)", 12), ("<U2", "(3, 2)", 48), ("<U0", "(3, 2)", 0), ("<u8", "(3, 2)", 48), ("<q", "(3, 2)", 48), ("<f8", "(0, 2)", 0), ("<f8", "(3, 0)", 0), ("<i8", "(3L, 2L)", 48)]


def bad_arrays():
    """Arrays whose headers and values do not fit, and of types that are not read; numbers that are too large for a sign."""
    for kind, shape, size in HEADERS:
        for byte in (0, 65, 255):
            text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n"
            yield b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes([byte]) * size
    for text in "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }\n", "{'descr': 7}\n", "\n":
        yield b"\x93NUMPY\x03\x00" + struct.pack("<I", len(text)) + text.encode() + bytes(24)
    yield from (b"\x93NUMPY\x09\x00\x02\x00\n\n", b"\x93NUMPY\x01\x00\xff\xff{", b"\x93NUMPY", b"\x93NUM", b"\x93NUMPY\x01\x00\x01\x00\xff")


def archives():
    """Archives of arrays of every kind as points, target and weights, and without some of them."""
    arrays_ = [None, matrix(), npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", [1, -0.0, 1], "d"), npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", [1, float("nan"), 2], "d"), *bad_arrays()]
    for points, target, weights in [(1, 2, 2), (1, 0, 0), (0, 2, 0), (1, 1, 1), (1, 3, 3), *((1, k, 0) for k in range(4, len(arrays_), 3)), *((k, 2, 0) for k in range(4, len(arrays_), 5)), (1, 2, 7)]:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, which in ("X", points), ("y", target), ("sample_weight", weights):
                if arrays_[which] is not None:
                    archive.writestr(zipfile.ZipInfo(name + ".npy"), arrays_[which])
        yield out.getvalue()
    yield b"PK\x03\x04"


def bad_models():
    """LIBSVM models, each with one thing that is wrong, or of another type."""
    lines = LIBSVM_MODEL.split(b"\n")
    for change in [b"svm_type other", b"kernel_type precomputed", b"kernel_type other", b"nr_class 1", b"nr_class 3", b"nr_class x", b"total_sv 3", b"total_sv 1", b"rho nan", b"rho 1 2", b"label 1 1", b"label 1", b"nr_sv 2 2", b"nr_sv 1",
                   b"gamma 1e999", b"degree 3", b"SV", b"other 1", b"probA 1", b"probA 1\nprobB 2", b"svm_type epsilon_svr", b"svm_type nu_svr", b"svm_type one_class", b"svm_type nu_svc", b"kernel_type polynomial\ndegree 2\ncoef0 1", b"kernel_type sigmoid\ncoef0 1", b"kernel_type linear"]:
        words = change.split()[0]
        changed = [change if line.split()[:1] == [words] else line for line in lines]
        yield b"\n".join(changed if change in changed else [*lines[:3], change, *lines[3:]])
    yield b"svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.1\nprobA 0.2\nSV\n0.5 1:1\n-0.5 2:1\n"
    yield b"svm_type one_class\nkernel_type sigmoid\ngamma 0.1\ncoef0 0.5\nnr_class 2\ntotal_sv 1\nrho 0.1\nSV\n0.5 1:1\n"
    for vectors in [b"1 0:1\n1 1:1", b"1 2:1 1:2\n1 1:1", b"1 1:nan\n1 1:1", b"1 1:x\n1 1:1", b"x 1:1\n1 1:1", b"1 2 1:1\n1 1:1", b"1 1\n1 1:1", b"1 1:1\n1 1:1\n1 1:1", b"1 1:1", b"1 99999999999:1\n1 1:1"]:
        yield LIBSVM_MODEL.split(b"SV\n")[0] + b"SV\n" + vectors + b"\n"
    yield LIBSVM_MODEL.split(b"SV\n")[0]
    yield LIBSVM_MODEL.replace(b"rbf", b"\xff")


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
    yield {key: value for key, value in {**plain, "sparse_vectors": [{"columns": [1], "values": [0.5]}, {"columns": [], "values": []}]}.items() if key != "vectors"}
    yield {key: value for key, value in {**plain, "sparse_vectors": [{"columns": [1, 0], "values": [0.5]}]}.items() if key != "vectors"}
    yield {**plain, "sparse_vectors": []}
    yield {**plain, "starts": [0, 1, 2], "decision": {"rule": "votes", "labels": ["1", "2"]}}
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
    "libsvm_data": [LIBSVM_DATA, gzip.compress(LIBSVM_DATA, mtime=0), CUT, *BAD_ROWS], "npz": [*archives()], "cache": [b"", bytes([0, 9, 1]), bytes([255, 255, 1])],
    "differential": [b"0" + LIBSVM_DATA, b"0" + b"1 1:1\n2 2:2 3:0\n", b"1" + b"1,2.5,3\n-4,5,.25\n", b"2" + matrix()],
    "csv": [CSV, b"1;2;3\n4;5;6\n", CSV.replace(b",", b"\t"), CASES, gzip.compress(CSV, mtime=0), gzip.compress(CSV * 30, mtime=0)[:-12], *BAD_TABLES], "npy": [matrix(), *arrays(), *bad_arrays()], "range": [RANGE, LONE, E1071, *RANGES], "libsvm_model": [LIBSVM_MODEL, *bad_models()],
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
