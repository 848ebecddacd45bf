/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - which launcher started this process, as the environment says. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

/* Whose library can talk to it. */
enum launcher_mpi { LAUNCHER_NONE, LAUNCHER_OPENMPI, LAUNCHER_MPICH };

struct launcher {
	enum launcher_mpi mpi; /* NONE: nobody, or it started one process */
	const char *name;      /* "mpirun of Open MPI"; static */
	unsigned rank, total;  /* as it says */
};

/*
 * Read before MPI_Init, which sets some of these variables itself. One process is none, whoever
 * started it. 0, or -EINVAL with err: srun started several tasks, but gives no MPI to talk through.
 */
int launcher_look(struct launcher *l, struct mlgen_err *err);

/* Is this process the one that speaks for all that a launcher started? True of one that nobody
 * started so. */
bool launcher_is_first(void);
