#!/usr/bin/env python3
"""Counts the cases in a folder of GoogleTest's JSON results: prints "passed failed skipped".

count.py FOLDER CODE: CODE is the exit code of the run. If it is not 0 although no case failed (a crash, a timeout), that counts as one failure.
"""
import glob
import json
import os
import sys


def main(folder, code):
    passed = failed = skipped = 0
    for path in glob.glob(os.path.join(folder, "*.json")):
        with open(path, encoding="utf-8") as file:
            try:
                suites = json.load(file).get("testsuites", [])
            except ValueError:
                failed += 1
                continue
        for suite in suites:
            for case in suite.get("testsuite", []):
                if case.get("failures"):
                    failed += 1
                elif case.get("result") == "SKIPPED":
                    skipped += 1
                elif case.get("result") == "COMPLETED":
                    passed += 1
    if code != 0 and failed == 0:
        failed = 1
    print(passed, failed, skipped)


main(sys.argv[1], int(sys.argv[2]))
