/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.c - see launcher.h. */
#include "hosts/launcher.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

/* What a launcher sets. A row fits where all of its variables are set, and its size is above 1; the
 * first one that fits counts: mpirun within a job of Slurm has the variables of both. */
static const struct {
	const char *size, *rank, *also;
	enum launcher_mpi mpi;
	const char *name;
} launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", NULL, LAUNCHER_OPENMPI,
	  "mpirun of Open MPI" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMI_FD", LAUNCHER_MPICH, "srun --mpi=pmi2" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "PMIX_RANK", LAUNCHER_OPENMPI,
	  "srun --mpi=pmix" },
	{ "PMI_SIZE", "PMI_RANK", NULL, LAUNCHER_MPICH, "mpirun of MPICH" },
	{ "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", NULL, LAUNCHER_NONE, "srun" },
};

static unsigned number_of(const char *variable)
{
	const char *text = getenv(variable);
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n > 1000000 ? 0 : (unsigned)n;
}

int launcher_look(struct launcher *l, struct mlgen_err *err)
{
	*l = (struct launcher){ .total = 1 };
	for (size_t i = 0; i < ARRAY_LEN(launchers); i++) {
		unsigned total = number_of(launchers[i].size);

		if (total < 2 || !getenv(launchers[i].rank) ||
		    (launchers[i].also && !getenv(launchers[i].also)))
			continue;
		*l = (struct launcher){ .mpi = launchers[i].mpi,
					.name = launchers[i].name,
					.rank = number_of(launchers[i].rank),
					.total = total };
		if (l->mpi != LAUNCHER_NONE)
			return 0;
		return mlgen_fail(
			err, -EINVAL,
			"srun started %u tasks without an MPI that they could meet through: use "
			"srun --mpi=pmix (for the plugin of Open MPI) or srun --mpi=pmi2 (for that "
			"of MPICH); srun --mpi=list says which it has",
			total);
	}
	return 0;
}

bool launcher_is_first(void)
{
	struct mlgen_err err = { 0 };
	struct launcher l;

	launcher_look(&l, &err);
	return l.rank == 0;
}
