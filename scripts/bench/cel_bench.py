#!/usr/bin/env python3
"""Ten inventory expressions on a Pod: ours, the same by hand in C++, and the evaluator of the language's authors, in one run.

    cel_bench.py BUILD-DIR

Nanoseconds per evaluation, and geometric means of the ratios; ours may take 4 times what hand-written code takes.
"""
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 4.0


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    text = subprocess.run([str(build / "bench/cel_bench"), "--benchmark_format=json", "--benchmark_min_time=0.2"], check=True,
                          capture_output=True, text=True, cwd=ROOT).stdout
    times, labels = {}, {}
    for one in json.loads(text)["benchmarks"]:
        times[one["name"]] = one["cpu_time"]
        if one.get("label"):
            labels[one["name"].split("/")[1]] = one["label"]
    names = list(labels)
    lines = subprocess.run([str(ROOT / "scripts/conformance.sh"), "speed", str(build), str(ROOT / "bench/data/pod.json")], check=True,
                           capture_output=True, text=True, input="".join(labels[n] + "\n" for n in names)).stdout.splitlines()
    reference = [json.loads(line) for line in lines]
    print(f"{'expression':<16}{'ours ns':>10}{'by hand ns':>12}{'reference ns':>14}   {'compile ours':>13}{'reference':>12}")
    to_hand = to_reference = 0.0
    for name, other in zip(names, reference):
        ours, hand = times["Evaluate/" + name], times["ByHand/" + name]
        to_hand += math.log(ours / hand)
        to_reference += math.log(other["evaluate"] / ours)
        print(f"{name:<16}{ours:>10.0f}{hand:>12.0f}{other['evaluate']:>14.0f}   {times['Compile/' + name]:>13.0f}{other['compile']:>12.0f}")
    ratio = math.exp(to_hand / len(names))
    print(f"reading the Pod: ours {times['ParsePod']:.0f} ns, reference {reference[-1]['decode']:.0f} ns")
    print(f"ours to hand-written: {ratio:.2f} (limit {LIMIT:.0f}); the reference takes {math.exp(to_reference / len(names)):.1f} times what ours takes")
    sys.exit(0 if ratio <= LIMIT else 1)


if __name__ == "__main__":
    main()
