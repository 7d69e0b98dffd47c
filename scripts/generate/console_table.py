#!/usr/bin/env python3
"""console_table.py FOLDER OUTPUT: the files of a folder as a C++ table (console/assets.h). The same files give the same text."""
import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}


def array(name, data):
    lines = [",".join(map(str, data[at:at + 40])) for at in range(0, len(data), 40)]
    return f"constexpr unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def main(folder, output):
    files = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file())
    out = ['// Made by scripts/generate/console_table.py.\n#include "console/assets.h"\n\nnamespace kollect::console {\nnamespace {\n\n',
           "template <std::size_t N>\nstd::string_view view(const unsigned char (&bytes)[N]) {\n"
           "  return {reinterpret_cast<const char*>(bytes), N};\n}\n\n"]
    rows = []
    for number, path in enumerate(files):
        data = path.read_bytes()
        out.append(array(f"kBytes{number}", data))
        out.append(array(f"kGzip{number}", gzip.compress(data, 9, mtime=0)))
        immutable = "true" if re.fullmatch(r"[a-z]+-[A-Za-z0-9]{8,}\.[a-z]+", path.name) else "false"
        rows.append(f'      {{{{.bytes = view(kBytes{number}), .gzip = view(kGzip{number}), '
                    f'.content_type = "{TYPES[path.suffix]}", .etag = "\\"{hashlib.sha256(data).hexdigest()[:32]}\\"", .immutable = {immutable}}}, "{path.name}"}},\n')
    out.append("\n}  // namespace\n\nstd::span<const Asset> assets() {\n  static const Asset kAssets[] = {\n" + "".join(rows) + "  };\n  return kAssets;\n}\n\n"
               "}  // namespace kollect::console\n")
    pathlib.Path(output).write_text("".join(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
