#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.py - reads npz files as a training does, with two worker processes.

Needs NumPy: apt install python3-numpy, or pip install numpy.

train.py DIR [EPOCHS]: all of them below DIR, by PyTorch's DataLoader where PyTorch is
there, else by NumPy and multiprocessing. It computes nothing: a step sleeps for 10 ms.
"""
import multiprocessing
import pathlib
import random
import sys
import time

try:
    import numpy
except ImportError:
    sys.exit("train.py: needs NumPy; apt install python3-numpy, or pip install numpy")
try:
    from torch.utils.data import DataLoader
except ImportError:
    DataLoader = None

WORKERS, BATCH, COMPUTE_S = 2, 4, 0.01


class Samples(list):
    """Names of files, of which [i] gives the arrays."""

    def __getitem__(self, i):
        with numpy.load(list.__getitem__(self, i)) as arrays:
            return {name: arrays[name] for name in arrays}


def work(samples, batches, queue):
    for batch in batches:
        queue.put([samples[i]["x"].nbytes for i in batch])


def numpy_batches(samples):
    """As a DataLoader: batch k is of worker k % WORKERS, two ahead of each."""
    order = random.sample(range(len(samples)), len(samples))
    batches = [order[i:i + BATCH] for i in range(0, len(order), BATCH)]
    fork = multiprocessing.get_context("fork")
    queues = [fork.Queue(2) for _ in range(WORKERS)]
    workers = [fork.Process(target=work, args=(samples, batches[i::WORKERS], queue))
               for i, queue in enumerate(queues)]
    for worker in workers:
        worker.start()
    for k in range(len(batches)):
        yield queues[k % WORKERS].get()
    for worker in workers:
        worker.join()


def main():
    samples = Samples(sorted(str(f) for f in pathlib.Path(sys.argv[1]).rglob("*.npz")))
    if not samples:
        sys.exit(f"{sys.argv[1]}: no *.npz in it")
    loader = DataLoader and DataLoader(samples, batch_size=BATCH, shuffle=True,
                                       num_workers=WORKERS)
    for epoch in range(int(sys.argv[2]) if len(sys.argv) > 2 else 3):
        begin = time.monotonic()
        steps = 0
        for _ in loader or numpy_batches(samples):
            time.sleep(COMPUTE_S)
            steps += 1
        print(f"epoch {epoch}: {steps} steps in {time.monotonic() - begin:.2f} s")


if __name__ == "__main__":
    main()
