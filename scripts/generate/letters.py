#!/usr/bin/env python3
"""Prints the ranges of src/base/yaml/letters.cc: letters (category L*) from U+0080 on."""
import unicodedata

ranges = []
for code in range(0x80, 0x110000):
    if unicodedata.category(chr(code)).startswith("L"):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
print(f"// Unicode {unicodedata.unidata_version}, {len(ranges)} ranges")
line = "   "
for first, last in ranges:
    entry = f" {{0x{first:X}, 0x{last:X}}},"
    if len(line) + len(entry) > 100:
        print(line)
        line = "   "
    line += entry
print(line)
