"""Compares our mpi.h with another header of the standard's ABI: `compare_headers.py OURS OTHER`, the paths of both.

A program in C++ is built against each, and says of every name what it is: the value of a constant and which type of
pointer it has, the type of a function with those of its arguments, the size of a type, and where the fields of a status
lie. The names are those of both. Ours has to be C99 too, and to be included twice, without a warning.

Ends with 1 where they differ. Names that begin with MPIX_ are the other's own affair.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

NAME = re.compile(r"\bP?MPI_\w+\b")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
# No names of programs': the guard, tags of structs, and macros that are gone at the header's end.
OPEN = re.compile(r"MPI_(ABI_(?!VERSION|SUBVERSION)\w+|H_ABI|T_\w+_t)$")
# MPICH's tags of the tools interface are not the standard's.
TAG = re.compile(r"\bstruct MPI_T_(\w+)_t\b")
STATUS = ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR", "MPI_internal")

PROGRAM = r"""
#include <cstddef>
#include <cstdio>
#include <typeinfo>
#include "mpi.h"
#include "mpi.h"

static void constant(const char *name, long long value) { std::printf("%s = %lld\n", name, value); }
template <class T> static void constant(const char *name, T *value) {
    std::printf("%s = %lld, %s\n", name, (long long)(intptr_t)value, typeid(value).name());
}
#define TYPE(t) std::printf("%s: %zu bytes\n", #t, sizeof(t))
#define FUNCTION(f) std::printf("%s: %s\n", #f, typeid(f).name())
#define FIELD(f) field(#f, typeid(decltype(MPI_Status::f)).name(), offsetof(MPI_Status, f))
static void field(const char *name, const char *type, size_t place) {
    std::printf("MPI_Status.%s: %s at %zu\n", name, type, place);
}
int main() {
"""


def names(header):
    return {name for name in NAME.findall(COMMENT.sub("", header)) if not OPEN.match(name)}


def program(all_names, ours):
    """What a name is, ours says: macros and enumerators are constants, what is declared as a function is one."""
    types = set(re.findall(r"typedef [^;{]*?(\w+);", ours)) | set(re.findall(r"\} (\w+);", ours))
    # Functions have no size.
    callbacks = set(re.findall(r"typedef \w+ \((\w+)\)", ours)) | {t for t in types if t.endswith("_errhandler_fn")}
    functions = set(re.findall(r"^\w+ (P?MPI_\w+)\(", ours, re.M))
    lines = []
    for name in sorted(all_names - set(STATUS)):
        if name in functions or name in callbacks:
            lines.append(f"FUNCTION({name});")
        elif name in types:
            lines.append(f"TYPE({name});")
        else:
            lines.append(f'constant("{name}", {name});')
    lines += [f"FIELD({field});" for field in STATUS]
    return PROGRAM + "\n".join(lines) + "\n}\n"


def said(folder, header, text):
    """What the program says that is built against a header."""
    folder.mkdir()
    (folder / "mpi.h").write_text(TAG.sub(r"struct MPI_ABI_T_\1", pathlib.Path(header).read_text()))
    (folder / "names.cc").write_text(text)
    subprocess.run(["c++", "-std=c++11", "-I", folder, "-o", folder / "names", folder / "names.cc"], check=True)
    return subprocess.run([folder / "names"], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def main(ours, other):
    texts = [COMMENT.sub("", pathlib.Path(path).read_text()) for path in (ours, other)]
    first, second = map(names, texts)
    for name in sorted(first ^ second):
        print(f"{name}: only in {ours if name in first else other}")
    text = program(first & second, texts[0])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        here, there = said(folder / "ours", ours, text), said(folder / "other", other, text)
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I", folder / "ours"]
        (folder / "twice.c").write_text('#include "mpi.h"\n#include "mpi.h"\nint main(void) { return MPI_SUCCESS; }\n')
        for standard in ("c99", "c11", "c17"):
            subprocess.run(["cc", f"-std={standard}", *strict, folder / "twice.c"], check=True)
        for standard in ("c++98", "c++11", "c++17", "c++20"):
            subprocess.run(["c++", f"-std={standard}", *strict, "-x", "c++", folder / "twice.c"], check=True)
    for mine, its in zip(here, there):
        if mine != its:
            print(f"ours has {mine}\nits has  {its}")
    print(f"{len(here)} names compared")
    return int(first != second or here != there)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
