"""Structures of millpond.h: what a program that was compiled before relies on.

    layouts.py before HEADER       the header without the last field of each structure that can grow
    layouts.py bare HEADER         the header without comments, for ffi/tests/fixtures
    layouts.py program HEADER      a C program that prints where each field is
    layouts.py compare OLD NEW     what such a program printed: whether the old fields are where they
                                   were, and new ones of what programs allocate behind the old size
"""

import re
import sys

STRUCTURE = re.compile(r"(?:/\*\*((?:(?!\*/).)*)\*/\n)?typedef struct \{\n(.*?)\n\} (\w+);", re.DOTALL)
FIELD = re.compile(r"^    [^/ *][^;]*?(\w+);$", re.MULTILINE)
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
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"[ \t]*/\*.*?\*/", "", header, flags=re.DOTALL))


def program(header: str) -> str:
    lines = []
    for _, body, name in STRUCTURE.findall(header):
        lines.append(f'    printf("{name} - 0 %zu\\n", sizeof({name}));')
        for field in FIELD.findall(body):
            size = f"sizeof((({name} *)0)->{field})"
            place = f"offsetof({name}, {field})"
            lines.append(f'    printf("{name} {field} %zu %zu\\n", {place}, {size});')
    body = "\n".join(lines)
    return f"#include <millpond.h>\n#include <stdio.h>\nint main(void) {{\n{body}\n    return 0;\n}}\n"


def compare(old: str, new: str) -> str:
    def read(text: str) -> dict:
        return {tuple(line.split()[:2]): line.split()[2:] for line in text.splitlines()}

    old_places, new_places = read(old), read(new)
    for (name, field), place in old_places.items():
        if field != "-" and new_places.get((name, field)) != place:
            sys.exit(f"{name}.{field} was at {place} and is at {new_places.get((name, field))}")
    for (name, field), (offset, _) in new_places.items():
        is_new = (name, field) not in old_places and (name, "size") in old_places
        size = int(old_places[name, "-"][1]) if is_new else 0
        if int(offset) < size:
            sys.exit(f"{name}.{field} is at {offset}, inside of the {size} bytes that were there")
    return ""


if __name__ == "__main__":
    command, *paths = sys.argv[1:]
    texts = [open(path, encoding="utf-8").read() for path in paths]
    print(globals()[command](*texts), end="")
