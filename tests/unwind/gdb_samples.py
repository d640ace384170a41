"""Takes stacks of a program under gdb, as a recording would, together with gdb's own view of them.

Run by gdb:  gdb -nx -batch -x gdb_samples.py --args PROGRAM ARGUMENT...
Environment: SAMPLES_OUT    the file to write: one JSON object a line
             SAMPLES_EVERY  take every n-th call (default 1)
             SAMPLES_MAX    stop the program after that many samples (default 1000)
             SAMPLES_BUDGET bytes of stack to copy (default 1 MiB)
             SAMPLES_AT     the function at whose entry to stop (default malloc)
             SAMPLES_LIBRARIES  a folder with a C library for the program
             SAMPLES_IF     take only those calls for which this holds, in gdb's words

A sample has pid, tid, time, regs (by DWARF number), sp, bytes (hex), truncated, and the witness: pcs and names
of gdb's frames, innermost first. A line with maps precedes the samples that it holds for.
"""
import json
import os
import time

import gdb

REGISTERS = ["rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp"]
REGISTERS += ["r%d" % i for i in range(8, 16)] + ["rip"]
MAX_FRAMES = 600


def read_maps(pid):
    """The executable file mappings, as a recording has them, and the ranges of everything else."""
    maps, ranges = [], []
    with open("/proc/%d/maps" % pid) as lines:
        for line in lines:
            fields = line.rstrip("\n").split(None, 5)
            start, end = (int(text, 16) for text in fields[0].split("-"))
            path = fields[5] if len(fields) > 5 else ""
            ranges.append((start, end, path))
            if "x" in fields[1] and path.startswith("/"):
                major, minor = (int(text, 16) for text in fields[3].split(":"))
                maps.append({"path": path, "dev": major << 20 | minor, "ino": int(fields[4]),
                             "file_offset": int(fields[2], 16), "start": start, "len": end - start})
    return maps, ranges


def stack_end(pid, sp, ranges):
    """Where the stack around sp ends: never into the arguments and the environment."""
    with open("/proc/%d/stat" % pid) as stat:
        start_stack = int(stat.read().rsplit(")", 1)[1].split()[25])
    for start, end, _ in ranges:
        if start <= sp < end:
            return start_stack if start <= start_stack < end and start_stack > sp else end
    return sp


def pointer(frame, name):
    return int(frame.read_register(name)) & 0xFFFFFFFFFFFFFFFF


class Sampler:
    def __init__(self):
        self.out = open(os.environ["SAMPLES_OUT"], "w")
        self.budget = int(os.environ.get("SAMPLES_BUDGET", str(1 << 20)))
        self.maps = None
        self.n_samples = 0

    def write(self, value):
        self.out.write(json.dumps(value) + "\n")

    def take(self):
        inferior = gdb.selected_inferior()
        frame = gdb.newest_frame()
        maps, ranges = read_maps(inferior.pid)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if maps != self.maps:
            self.write({"pid": inferior.pid, "time": now, "maps": maps})
            self.maps = maps
        sp = pointer(frame, "rsp")
        length = stack_end(inferior.pid, sp, ranges) - sp
        stack = bytes(inferior.read_memory(sp, min(length, self.budget)))
        sample = {"pid": inferior.pid, "tid": gdb.selected_thread().ptid[1], "time": now, "sp": sp,
                  "regs": [pointer(frame, name) for name in REGISTERS], "bytes": stack.hex(),
                  "truncated": length > self.budget, "pcs": [], "names": []}
        while frame and len(sample["pcs"]) < MAX_FRAMES:
            if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                sample["pcs"].append(frame.pc())
                sample["names"].append(frame.name() or "")
            frame = frame.older()
        self.write(sample)
        self.n_samples += 1


def main():
    gdb.execute("set pagination off")
    gdb.execute("set confirm off")
    gdb.execute("set width 0")
    gdb.execute("set backtrace past-main on")
    gdb.execute("set backtrace past-entry on")
    gdb.execute("set print thread-events off")
    gdb.execute("set breakpoint pending on")
    gdb.execute("set debuginfod enabled off")
    for signal in ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGSEGV", "SIGPIPE", "SIGCHLD"):
        gdb.execute("handle %s nostop noprint pass" % signal, to_string=True)
    if "SAMPLES_LIBRARIES" in os.environ:
        gdb.execute("set environment LD_LIBRARY_PATH " + os.environ["SAMPLES_LIBRARIES"])
    # Stripped programs have no main, and before this one the C library is not there.
    gdb.execute("break __libc_start_main", to_string=True)
    gdb.execute("run", to_string=True)
    gdb.execute("delete")
    breakpoint_ = gdb.Breakpoint("*" + os.environ.get("SAMPLES_AT", "malloc"))
    breakpoint_.condition = os.environ.get("SAMPLES_IF")
    every = int(os.environ.get("SAMPLES_EVERY", "1"))
    sampler = Sampler()
    while sampler.n_samples < int(os.environ.get("SAMPLES_MAX", "1000")):
        breakpoint_.ignore_count = every - 1
        gdb.execute("continue", to_string=True)
        if not gdb.selected_inferior().pid:
            break
        sampler.take()
    sampler.out.close()
    if gdb.selected_inferior().pid:
        gdb.execute("kill")


main()
