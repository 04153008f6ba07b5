"""What a program that was compiled before relies on in millpond.h, and all that takes a handle.

    layouts.py before HEADER       the header without the last field of each structure that can grow
    layouts.py bare HEADER         the header without comments but those that fix a layout, for
                                   ffi/tests/fixtures
    layouts.py program HEADER      a C program that prints what each field is and where, the values
                                   of the enumerations, and the types of the functions
    layouts.py compare OLD NEW     what such a program printed: whether all that was there is as it was,
                                   fixed layouts have no new field, and new fields of what programs
                                   allocate lie behind the old size
    layouts.py handles HEADER      the C function with_every_handle of check.h
"""

import re
import sys

STRUCTURE = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\n)?typedef struct \{\n(.*?)\n\} (\w+);", re.DOTALL)
FIELD = re.compile(r"^    ([^/ *][^;]*?)(\w+);$", re.MULTILINE)
ENUMERATOR = re.compile(r"^    (MILLPOND_\w+) = ", re.MULTILINE)
FUNCTION = re.compile(r"^(?!typedef)(\w[\w *]*?)(millpond_\w+)\(([^;]*)\);", re.MULTILINE)
HANDLE = re.compile(r"^typedef struct (millpond_\w+) \1;", re.MULTILINE)
POINTER = re.compile(r"^typedef (\w[\w *]*?)\(\*(millpond_\w+)\)\(([^;]*)\);", re.MULTILINE)
FIXED = "Its layout is fixed."


def before(header: str) -> str:
    def cut(found: re.Match) -> str:
        comment, body, _ = found.groups()
        if FIXED in (comment or ""):
            return found[0]
        last = list(FIELD.finditer(body))[-1]
        # With its comment, which the compiler would not mind.
        return found[0].replace(body, body[: last.start()].rstrip(), 1)

    return STRUCTURE.sub(cut, header)


def bare(header: str) -> str:
    def kept(comment: re.Match) -> str:
        return f"/** {FIXED} */" if FIXED in comment[0] else ""

    return re.sub(r"\n\s*\n+", "\n", re.sub(r"[ \t]*/\*.*?\*/", kept, header, flags=re.DOTALL))


def program(header: str) -> str:
    header = bare(header)
    lines = []
    for comment, body, name in STRUCTURE.findall(header):
        kind = "fixed" if FIXED in comment else "open"
        lines.append(f'    printf("{name} - {kind} %zu\\n", sizeof({name}));')
        for declared, field in FIELD.findall(body):
            size = f"sizeof((({name} *)0)->{field})"
            place = f"offsetof({name}, {field})"
            declared = "".join(declared.split())
            lines.append(f'    printf("{name} {field} %zu %zu {declared}\\n", {place}, {size});')
    lines += [f'    printf("enum {name} %d\\n", (int){name});' for name in ENUMERATOR.findall(header)]
    for result, name, parameters in FUNCTION.findall(header) + POINTER.findall(header):
        # The names of parameters may change.
        types = ",".join(re.sub(r"(?<=[ *])\w+$", "", part.strip()) for part in parameters.split(","))
        declared = "".join(f"{result}({types})".split())
        lines.append(f'    puts("function {name} {declared}");')
    body = "\n".join(lines)
    return f"#include <millpond.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n    return 0;\n}}\n"


def handles(header: str) -> str:
    header = bare(header)
    # An error tells of itself by its code: it has no function that fails.
    kinds = set(HANDLE.findall(header)) - {"millpond_error"}

    def argument(parameter: str) -> str:
        declared = re.sub(r"\w+$", "", parameter).removeprefix("const ").strip()
        if declared == "millpond_error **":
            return "&error"
        if declared.removesuffix(" *") in kinds:
            return "handle"
        if declared.endswith("_handler"):
            return f"({declared})never"
        return "0" if "*" not in declared or parameter.startswith("const ") else "fresh()"

    lines = []
    for result, name, parameters in FUNCTION.findall(header):
        arguments = [argument(" ".join(part.split())) for part in parameters.split(",")]
        call = f"{name}({', '.join(arguments)})"
        if arguments[0] != "handle":
            continue
        if result.strip() == "void":
            lines.append(f"    {call};")
        elif result.strip() == "millpond_status":
            lines.append(f"    FAILS(MILLPOND_INVALID_ARGUMENT, says, {call});")
        else:
            lines.append(f"    CHECK(!{call});")
    body = "\n".join(lines)
    return f"""#include "check.h"

/* Where a result goes, which is of any type: a structure that begins with its size has the least one. */
static void *fresh(void) {{
    static size_t result[64];
    result[0] = sizeof result[0];
    return result;
}}

static void never(void) {{ CHECK(!"there is a job"); }}

void with_every_handle(void *handle, const char *says) {{
    millpond_error *error;
{body}
}}
"""


def compare(old: str, new: str) -> str:
    def read(text: str) -> dict:
        return {tuple(line.split()[:2]): line.split()[2:] for line in text.splitlines()}

    was, now = read(old), read(new)
    for (of, name), place in was.items():
        # The size of a layout that is not fixed may change.
        if place[0] != "open" and now.get((of, name)) != place:
            sys.exit(f"{of} {name} was {place} and is {now.get((of, name))}")
    for (of, name), place in now.items():
        if (of, name) not in was and (of, "size") in was:
            size = int(was[of, "-"][1])
            if int(place[0]) < size:
                sys.exit(f"{of} {name} is {place}, inside of the {size} bytes that were there")
    return ""


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    texts = [open(path, encoding="utf-8").read() for path in paths]
    print(globals()[command](*texts), end="")
