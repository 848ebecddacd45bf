#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""agree.py - run random jobs, and compare what their trace, JSON, log, series and metrics say.

	agree.py MLGEN SEED COUNT

Each job is a training, a plain job, checkpoints or a restore, in one process or two, or a
replay of one of these in one process. Its options are drawn by the seed and its number, so
that `agree.py MLGEN SEED 0 NUMBER` runs that one alone. A line is printed for each fault,
with the command. What is compared:

- reads, writes and their bytes of the trace with the rows of the log, with and without
  ramp_time, and with the JSON of jobs without ramp_time;
- samples in the rows of the log with the report's, likewise;
- what the series and the metrics have with the rows of the log;
- reads, writes and bytes of a replay with those of the trace it plays;
- bytes of saves and restores in the JSON with those of their files in the trace;
- operations of the report with the number of values in its histograms.
"""

import csv
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys


# Two processes on this host, where there is Open MPI.
MPIRUN = (["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
          if shutil.which("mpirun.openmpi") else [])


def training(r):
    """Options of a training."""
    files, batch = r.choice([8, 20, 32]), r.choice([1, 2, 4])
    a = ["--name=t", "--directory=data%d" % r.randrange(10**9),
         "--format=" + r.choice(["raw", "npz", "npy", "tfrecord", "tar"]),
         f"--num_files={files}", f"--batch_size={batch}",
         f"--sample_size={r.choice(['4k', '20000', '1k', '64k'])}",
         f"--samples_per_file={r.choice([1, 1, 4])}",
         f"--accelerators={r.choice([1, 2])}",
         f"--read_threads={r.choice([1, 2, 3])}",
         f"--epochs={r.choice([1, 2, 5])}",
         f"--compute_time={r.choice(['0', '1ms', '3ms'])}",
         f"--shuffle={r.choice(['none', 'sample', 'file'])}",
         f"--ioengine={r.choice(['psync', 'io_uring', 'libaio'])}",
         f"--invalidate={r.choice(['0', 'run', 'epoch'])}"]
    a += r.choice([[], [], ["--ramp_time=20ms"], ["--ramp_time=5ms"]])
    a += r.choice([[], ["--loader=plain"],
                   ["--eval_files=8", "--eval_every=1"],
                   ["--checkpoint_every=2 steps", "--checkpoint_size=128k"]])
    cache = r.choice([None, None, "lru", "minio"])
    if cache and "--samples_per_file=4" not in a:
        a += [f"--cache={cache}", f"--cache_size={r.choice([30, 60])}%"]
        a += r.choice([[], ["--cache_directory=tier"],
                       ["--cache_directory=tier", "--cache_fill=async"]])
        a += r.choice([[], ["--cache_prefetch=8"]])
    return a


def plain(r):
    """Options of a plain job."""
    a = ["--name=p", "--filename=f%d" % r.randrange(10**9),
         f"--rw={r.choice(['read', 'write', 'randread', 'randwrite', 'randrw'])}",
         f"--size={r.choice(['64k', '1m', '3m'])}", f"--bs={r.choice(['4k', '12k', '64k'])}",
         f"--numjobs={r.choice([1, 1, 3])}", "--group_reporting=1",
         f"--ioengine={r.choice(['psync', 'io_uring', 'libaio', 'mmap'])}",
         f"--iodepth={r.choice([1, 4])}", f"--loops={r.choice([1, 3])}"]
    a += r.choice([[], ["--ramp_time=3ms"], ["--rate_iops=2000"]])
    return a


def checkpoints(r):
    """Options of a job that saves or restores."""
    return ["--name=c", "--phase=checkpoint", "--directory=ck%d" % r.randrange(10**9),
            f"--checkpoint_size={r.choice(['64k', '1m'])}", f"--ranks={r.choice([1, 3])}",
            f"--checkpoints={r.choice([1, 3])}", f"--bs={r.choice(['16k', '1m'])}",
            f"--checkpoint_layout={r.choice(['stream', 'torch'])}",
            f"--ioengine={r.choice(['psync', 'io_uring'])}"]


def restores(r):
    """Options of a job that restores what a first job of the same options saves."""
    return [o.replace("phase=checkpoint", "phase=restore") for o in checkpoints(r)]


def replay(r):
    """Options of a replay; what it plays is recorded first."""
    return ["--name=r", "--replay_trace=played.mlt", "--directory=again",
            f"--replay_time={r.choice(['think', 'fixed', 'asap'])}",
            f"--replay_order={r.choice(['thread', 'file', 'global'])}",
            f"--replay_threads={r.choice([0, 0, 2])}",
            f"--ioengine={r.choice(['psync', 'io_uring', 'libaio'])}"]


def of_trace(mlgen, files):
    """Reads, writes and their bytes in the traces of all processes; bytes of checkpoints."""
    n = {"read": [0, 0], "write": [0, 0]}
    checkpoint = {"read": 0, "write": 0}
    for name in glob.glob(files):
        text = subprocess.run([os.path.join(os.path.dirname(mlgen), "mltrace"), "export", "--format=csv", name], check=True,
                              capture_output=True, text=True).stdout
        for row in csv.DictReader(text.splitlines()):
            if row["op"] in n and row["phase"] != "prepare":
                n[row["op"]][0] += 1
                n[row["op"]][1] += max(int(row["result"] or 0), 0)
                # A phase is one of the whole job: meanwhile samples are read, too.
                if "/global_" in row["file"]:
                    checkpoint[row["op"]] += max(int(row["result"] or 0), 0)
    return n["read"] + n["write"], checkpoint


def of_metrics(names):
    """Totals of the metrics' file, which has all processes' figures or one's."""
    n = dict.fromkeys(names, 0)
    with open("m.prom", encoding="utf-8") as f:
        for line in f:
            name = line.split("{")[0].removeprefix("mlgen_").removesuffix("_total")
            if name in n and not line.startswith("#"):
                n[name] += int(float(line.split()[-1]))
    return [n[name] for name in names]


def of_log():
    """The same of the log, and the samples."""
    names = ["read_ios", "read_bytes", "write_ios", "write_bytes", "samples"]
    sums = dict.fromkeys(names, 0)
    with open("log.csv", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            if row["phase"] != "prepare":
                for name in names:
                    sums[name] += int(row[name] or 0)
    return sums


def of_series(document, names):
    """The sums of columns of the series; NAME = None where there is none."""
    job = document["series"]["jobs"][0]
    return [round(sum(v or 0 for v in job[n])) if n in job else None for n in names]


def run(command, options):
    """None, or what went wrong."""
    p = subprocess.run([*command, *options, "--ceiling=no", "--quiet", "--json=run.json",
                        "--trace=run.mlt", "--log=log.csv", "--log_interval=10ms",
                        "--metrics-file=m.prom", "--html=run.html"],
                       capture_output=True, text=True, timeout=60, check=False)
    return f"status {p.returncode}: {p.stderr.strip()[-200:]}" if p.returncode else None


def faults(mlgen, options, kind, launch):
    """What does not agree in one job."""
    ramp = any(o.startswith("--ramp_time") for o in options)
    wrong = run([*launch, mlgen], options)
    if wrong:
        return [wrong]
    with open("run.json", encoding="utf-8") as f:
        document = json.load(f)
    job = document["jobs"][0]
    (trace, checkpoint), log = of_trace(mlgen, "run*.mlt"), of_log()
    names = ["read_ios", "read_bytes", "write_ios", "write_bytes"]
    rows = [log[n] for n in names]
    report = [job["read"]["total_ios"], job["read"]["io_bytes"],
              job["write"]["total_ios"], job["write"]["io_bytes"]]
    bad = []
    if rows != trace:
        bad.append(f"log {rows}, trace {trace}")
    series = of_series(document, names)
    if [v for v in series if v is not None] != [
            v for v, s in zip(rows, series) if s is not None]:
        bad.append(f"series {series}, log {rows}")
    if of_metrics(names) != rows:
        bad.append(f"metrics {of_metrics(names)}, log {rows}")
    if kind is replay and of_trace(mlgen, "played.mlt")[0] != trace:
        bad.append(f"played {of_trace(mlgen, 'played.mlt')[0]}, trace {trace}")
    for op, key in (("write", "saves"), ("read", "restores")):
        part = job.get("ml", {}).get(key)
        if part and not ramp and part["bytes"] != checkpoint[op]:
            bad.append(f"{key} {part['bytes']} bytes, trace {checkpoint[op]}")
    if not ramp and report != trace:
        bad.append(f"report {report}, trace {trace}")
    if ramp and any(a > b for a, b in zip(report, trace)):
        bad.append(f"report {report} has more than the trace {trace}")
    if kind is training:
        samples = job["ml"]["samples"] + (job["ml"].get("eval_samples") or 0)
        if (log["samples"] < job["ml"]["samples"] if ramp
                else log["samples"] not in (samples, job["ml"]["samples"])):
            bad.append(f"log {log['samples']} samples, report {samples}")
    for op in ("read", "write"):
        clat = job[op].get("clat_ns") or {}
        if clat.get("N", 0) > job[op]["total_ios"]:
            bad.append(f"{op}: {clat['N']} latencies of {job[op]['total_ios']}")
    return bad


def main():
    """Run them."""
    mlgen, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    numbers = range(count) if count else [int(sys.argv[4])]
    wrong = 0
    for number in numbers:
        r = random.Random(seed * 1000 + number)
        kind = r.choice([training, training, training, plain, checkpoints, restores, replay])
        first = r.choice([training, plain, checkpoints])(r) if kind is replay else None
        options = kind(r)
        launch = r.choice([[], [], [], MPIRUN]) if kind is not replay else []
        if kind is restores:
            first = [o.replace("phase=restore", "phase=checkpoint") for o in options]
        if launch:  # twice as many accelerators need as many samples
            options = [re.sub("(_files)=.*", r"\1=32", o) for o in options]
        os.mkdir("job")
        os.chdir("job")
        try:
            lost = run([*launch, mlgen], first) if first else None
            if kind is replay and not lost:
                os.rename("run.mlt", "played.mlt")
            for name in glob.glob("run*.mlt"):
                os.remove(name)
            bad = [lost] if lost else faults(mlgen, options, kind, launch)
        finally:
            os.chdir("..")
            shutil.rmtree("job")
        for text in bad:
            wrong += 1
            print(f"job {number}: {text}\n  {' '.join([*launch, 'mlgen', *options])}")
            if first:
                print(f"  after mlgen {' '.join(first)}")
    print(f"{len(numbers)} jobs, {wrong} faults")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
