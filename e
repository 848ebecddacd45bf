x: writing 200 npz files, 4.07 MiB to DS (in 59.08 ms)
