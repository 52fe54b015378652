#!/usr/bin/env python3
"""Checks who includes whom: a table and a loop over the #include lines of every C++ file."""
import os
import re
import subprocess
import sys

GRPC = r"grpc(pp)?/|.*\.grpc\.pb\.h"
PQXX = r"pqxx|libpq"
# (folder of the file, what it may never include)
RULES = [
    (r"services/common/", rf"{GRPC}|{PQXX}|services/(edge|log|todo)/|clients/"),
    (r"services/edge/", rf"{PQXX}|services/(log|todo)/|clients/"),
    (r"services/log/core/", rf"{GRPC}|{PQXX}|services/(edge|todo|log/store|log/rpc)/|clients/"),
    (r"services/todo/core/", rf"{GRPC}|{PQXX}|services/(edge|log|todo/logclient|todo/rpc)/|clients/"),
    (r"services/log/store/", rf"{GRPC}|services/(edge|todo|log/rpc)/|clients/"),
    (r"services/log/rpc/", rf"{PQXX}|services/(todo|log/store)/|clients/"),
    (r"services/todo/logclient/", rf"{PQXX}|services/(log|todo/rpc)/|clients/"),
    (r"services/todo/rpc/", rf"{PQXX}|services/(log|todo/logclient)/|clients/"),
    (r"services/log/main\.cc", r"services/todo/|clients/"),
    (r"services/todo/main\.cc", r"services/log/|clients/"),
    (r"clients/harness/", rf"{GRPC}|{PQXX}|services/(edge|log|todo)/"),
    (r"clients/", rf"{PQXX}|services/(log|todo)/"),
    (r"tests/(e2e|faults)/", r"services/(log|todo)/"),
    (r"(?!services/common/log\.cc)", r"spdlog/"),
]


def violations(path, text):
    """The includes of a file that its folder may not have. Tests may use what they test with."""
    found = []
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', text, re.M):
        for folder, never in RULES:
            if re.match(folder, path) and re.match(never, name):
                found.append(f"{path} includes {name}")
    return found


def main():
    # The check itself must find what is planted.
    planted = violations("services/log/core/x.cc", '#include <grpcpp/grpcpp.h>\n#include "services/log/core/ids.h"\n')
    assert planted == ["services/log/core/x.cc includes grpcpp/grpcpp.h"], planted
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = subprocess.run(["git", "ls-files", "*.h", "*.cc"], check=True, capture_output=True, text=True).stdout.split()
    assert len(files) > 10, "no files to check"
    bad = []
    for path in files:
        if path.endswith("_test.cc") and path.startswith("services/"):
            continue
        with open(path, encoding="utf-8") as file:
            bad += violations(path, file.read())
    print("\n".join(bad) or f"{len(files)} files, no violation")
    return 1 if bad else 0


sys.exit(main())
