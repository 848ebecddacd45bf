#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py - a training's loader as people write it, that says how long its steps took.

train.py FORMAT DIR [--torch] [--workers=N] [--shuffle] [--epochs=N] [--batch=N]
                    [--compute=SECONDS] [--save=DIR] [--save-bytes=N]

FORMAT is npz, jpeg, hdf5 or memmap (of .npy). Workers are forked for each epoch, batch
k is of worker k % N, two ahead of each, as PyTorch's DataLoader does it; with --torch it
is PyTorch's. A step sleeps. With --save, torch.save writes a model behind each epoch.
Prints a line of JSON: steps, their p50 and p95 in ms, seconds of all epochs, and AU as
mlgen counts it: without the first step of an epoch, which waits for workers to begin.
"""
import argparse
import importlib
import json
import multiprocessing
import pathlib
import random
import time

import numpy


def files(directory, pattern):
    return sorted(str(f) for f in pathlib.Path(directory).rglob(pattern))


def rows(directory, pattern):
    import h5py
    found = files(directory, pattern)
    if not found:
        return found
    with h5py.File(found[0], "r") as file:
        count = len(file["records"])
    return [(path, row) for path in found for row in range(count)]


def npz(path):
    with numpy.load(path) as arrays:
        return arrays["x"]


def jpeg(path):
    from PIL import Image
    with Image.open(path) as image:
        return numpy.asarray(image.convert("RGB"))


def hdf5(place):
    import h5py
    with h5py.File(place[0], "r") as file:
        return file["records"][place[1]]


def memmap(path):
    return numpy.array(numpy.load(path, mmap_mode="r"))


# How a sample is read, where all of them are, and what has to be imported.
READERS = {
    "npz": (npz, lambda d: files(d, "*.npz"), "numpy"),
    "jpeg": (jpeg, lambda d: files(d, "*.jp*g"), "PIL.Image"),
    "hdf5": (hdf5, lambda d: rows(d, "*.h*5"), "h5py"),
    "memmap": (memmap, lambda d: files(d, "*.npy"), "numpy"),
}


def work(read, samples, batches, queue):
    for batch in batches:
        queue.put([read(samples[i]).nbytes for i in batch])


def batches_of(args, read, samples):
    order = list(range(len(samples)))
    if args.shuffle:
        random.shuffle(order)
    batches = [order[i:i + args.batch] for i in range(0, len(order), args.batch)]
    if not args.workers:
        for batch in batches:
            yield [read(samples[i]).nbytes for i in batch]
        return
    fork = multiprocessing.get_context("fork")
    queues = [fork.Queue(2) for _ in range(args.workers)]
    workers = [fork.Process(target=work,
                            args=(read, samples, batches[i::args.workers], queue))
               for i, queue in enumerate(queues)]
    for worker in workers:
        worker.start()
    for k in range(len(batches)):
        yield queues[k % args.workers].get()
    for worker in workers:
        worker.join()


def torch_batches(args, read, samples):
    from torch.utils.data import DataLoader

    class Samples:
        """A map-style dataset."""

        def __len__(self):
            return len(samples)

        def __getitem__(self, i):
            return read(samples[i])

    return DataLoader(Samples(), batch_size=args.batch, shuffle=args.shuffle,
                      num_workers=args.workers)


def model_of(size):
    """A state_dict of so many bytes, in matrices of 4 MiB."""
    import torch
    return {f"layer{i}.weight": torch.zeros(1024, 1024) for i in range(size >> 22)}


def save(directory, epoch, model):
    import torch
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    torch.save({"epoch": epoch, "model": model},
               f"{directory}/checkpoint_{epoch}.pt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("format", choices=READERS)
    parser.add_argument("directory")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--compute", type=float, default=0.01)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--save-bytes", type=int, default=64 << 20)
    args = parser.parse_args()
    read, find, module = READERS[args.format]
    # All at the begin, as programs do, and not in each worker anew.
    importlib.import_module(module)
    if args.torch or args.save:
        importlib.import_module("torch.utils.data")
    samples = find(args.directory)
    if not samples:
        raise SystemExit(f"{args.directory}: no file of {args.format} in it")
    loader = torch_batches(args, read, samples) if args.torch else None
    model = model_of(args.save_bytes) if args.save else None
    steps, firsts = [], 0
    begin = last = time.monotonic()
    for epoch in range(args.epochs):
        first = len(steps)
        for _ in loader or batches_of(args, read, samples):
            time.sleep(args.compute)
            now = time.monotonic()
            steps.append(now - last)
            last = now
        firsts += steps[first]
        if model:
            save(args.save, epoch, model)
    seconds = time.monotonic() - begin
    at = sorted(steps)
    print(json.dumps({
        "steps": len(at),
        "p50_ms": round(1e3 * at[len(at) // 2], 3),
        "p95_ms": round(1e3 * at[int(len(at) * 0.95)], 3),
        "seconds": round(seconds, 3),
        "au": round(100 * (len(at) - args.epochs) * args.compute
                    / (sum(at) - firsts), 2),
    }))


if __name__ == "__main__":
    main()
