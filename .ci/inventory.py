"""Third-party code in the files of a release: a bill of materials (CycloneDX), and the texts of the licences.

Both are made from the dependency tree that cargo builds, the sources of the crates, and what the compiler and the linker
add. Nothing of the machine that made them is in them.
"""

from __future__ import annotations

import datetime
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterator

# The packages of the workspace that are shipped.
SHIPPED = ("millpond-ffi", "millpond-python", "millpond-node")
TEXTS = pathlib.Path(__file__).resolve().parent / "notices"
IS_LICENSE = re.compile(r"(?i)(licen[cs]e|copying|notice|unlicense|copyright)([-_.].*)?$")


class Inventory:
    """What is in the libraries for a target."""

    def __init__(self, source: pathlib.Path, version: str, triple: str, tools: pathlib.Path) -> None:
        self.source, self.version, self.triple = source, version, triple
        self.epoch = int(os.environ["SOURCE_DATE_EPOCH"])
        command = ("metadata", "--format-version", "1", "--filter-platform", triple)
        metadata = json.loads(self.cargo(*command))
        self.packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
        self.by_id = {package["id"]: package for package in metadata["packages"]}
        self.needs = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
        locked = tomllib.loads((source / "Cargo.lock").read_text())["package"]
        self.sums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
        self.rust = pathlib.Path(self.output("rustc", "--print", "sysroot"))
        self.rust_version = self.output("rustc", "--version").split()[1]
        (self.zig,) = tools.glob("lib/python*/site-packages/ziglang")
        self.zig_version = self.output("python-zig", "version")

    def output(self, *command: str) -> str:
        return subprocess.run(command, cwd=self.source, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def cargo(self, *command: str) -> str:
        return self.output("cargo", *command, "--locked")

    def crates(self, *shipped: str) -> list[dict]:
        """The crates in these packages, without what only runs at compile time."""
        named = [word for package in shipped for word in ("--package", package)]
        edges = ("--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
        lines = self.cargo("tree", *named, "--target", self.triple, *edges).splitlines()
        found = {tuple(line.split()[:2]) for line in lines if line.strip()}
        return [self.packages[name, version.lstrip("v")] for name, version in sorted(found)]

    def bill(self, *shipped: str) -> dict:
        """The bill of materials of these packages, or of all."""
        crates = self.crates(*(shipped or SHIPPED))
        inside = {crate["id"] for crate in crates}
        added = [
            self.component("rust-std", self.rust_version, "MIT OR Apache-2.0", "pkg:generic/rust-std"),
            self.component("zig-runtime", self.zig_version, "MIT AND Apache-2.0 WITH LLVM-exception", "pkg:generic/zig"),
        ]
        tree = [
            {"ref": reference(crate), "dependsOn": sorted(self.references_of(crate, inside))} for crate in crates
        ]
        root = self.component(shipped[0] if shipped else "millpond-release", self.version, "MIT OR Apache-2.0", "pkg:generic/millpond")
        root["bom-ref"] = "release"
        tops = [reference(crate) for crate in crates if crate["name"] in (shipped or SHIPPED)]
        content = {
            "metadata": {"timestamp": self.timestamp(), "component": root},
            "components": [self.of_crate(crate) for crate in crates] + added,
            "dependencies": [{"ref": "release", "dependsOn": tops + [part["bom-ref"] for part in added]}, *tree],
        }
        number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
        return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{number}", "version": 1} | content

    def timestamp(self) -> str:
        return datetime.datetime.fromtimestamp(self.epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    def component(self, name: str, version: str, license: str, url: str) -> dict:
        url = f"{url}@{version}"
        return {
            "type": "library",
            "bom-ref": url,
            "name": name,
            "version": version,
            "licenses": [{"expression": license}],
            "purl": url,
        }

    def of_crate(self, crate: dict) -> dict:
        license = crate["license"].replace("/", " OR ")
        component = self.component(crate["name"], crate["version"], license, f"pkg:cargo/{crate['name']}")
        checksum = self.sums[crate["name"], crate["version"]]
        return component | ({"hashes": [{"alg": "SHA-256", "content": checksum}]} if checksum else {})

    def references_of(self, crate: dict, inside: set[str]) -> set[str]:
        needed = self.needs[crate["id"]]
        is_normal = [edge for edge in needed if any(kind["kind"] is None for kind in edge["dep_kinds"])]
        return {reference(self.by_id[edge["pkg"]]) for edge in is_normal if edge["pkg"] in inside}

    def notices(self, *shipped: str) -> str:
        """The texts of all licences, each once, with what is under it."""
        texts: dict[str, list[str]] = {}
        for crate in self.crates(*(shipped or SHIPPED)):
            if not crate["name"].startswith("millpond"):
                for text in self.texts_of(crate):
                    texts.setdefault(text, []).append(f"{crate['name']} {crate['version']}")
        for name, text in self.of_tools():
            texts.setdefault(text, []).append(name)
        parts = [
            "# Third-party code in Millpond",
            "The libraries of Millpond contain the following. Where a crate is under a choice of licences, all of them are here.",
        ]
        for text, names in sorted(texts.items(), key=lambda item: item[1]):
            parts.append(f"## {', '.join(names)}\n\n~~~text\n{text}\n~~~")
        return "\n\n".join(parts) + "\n"

    def texts_of(self, crate: dict) -> list[str]:
        folder = pathlib.Path(crate["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if file.is_file() and IS_LICENSE.match(file.name))
        # A crate without a text of its licence says whose it is; the text is here.
        files = files or sorted(TEXTS.glob(f"{crate['name']}.txt"))
        if not files:
            sys.exit(f"dist: the crate {crate['name']} has no text of its licence: put it into {TEXTS}/{crate['name']}.txt")
        return [normal(file.read_text()) for file in files]

    def of_tools(self) -> Iterator[tuple[str, str]]:
        """What the compiler and the linker add, and the text of each licence."""
        page = (self.rust / "share/doc/rust/COPYRIGHT-library.html").read_text()
        general, *crates = page.split("<h3>📦 ")
        if not crates:
            sys.exit("dist: the page on the copyright of Rust's library has another form")
        yield f"Rust's library {self.rust_version}", normal(html.unescape(re.sub(r"(?s)<head>.*</head>|<[^>]*>", "", general)))
        for crate in crates:
            name = crate.split("<")[0]
            for text in re.findall(r"(?s)<pre>(.*?)</pre>", crate):
                yield f"{name} of Rust's library", normal(html.unescape(text))
        yield f"compiler-rt of zig {self.zig_version}", normal((self.zig / "LICENSE").read_text())
        yield f"libunwind of zig {self.zig_version}", normal((self.zig / "lib/libunwind/LICENSE.TXT").read_text())


def reference(crate: dict) -> str:
    return f"pkg:cargo/{crate['name']}@{crate['version']}"


def normal(text: str) -> str:
    """The text without what differs between copies of it: blanks at the ends, and empty lines."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.lstrip("\ufeff").splitlines())).strip("\n")
