/* SPDX-License-Identifier: Apache-2.0 */
/* mpi.c - see mpi.h. */
#include "hosts/mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"

/* As configure found them; the names of the files are those of the Makefile. */
static const struct library {
	const char *word, *name, *packages;
	const char *as_root; /* what its mpirun asks of root */
} libraries[] = {
	[LAUNCHER_OPENMPI] = { "openmpi", "Open MPI", PACKAGES_OPENMPI,
			       ", as root with --allow-run-as-root" },
	[LAUNCHER_MPICH] = { "mpich", "MPICH", PACKAGES_MPICH, "" },
};

/* The file of a plugin: false where there is none. */
static bool find(char *path, size_t size, const char *binary_dir, const char *word)
{
	snprintf(path, size, "%s/build/mlgen-mpi-%s.so", binary_dir, word);
	if (access(path, R_OK) == 0)
		return true;
	snprintf(path, size, "%s/mlgen-mpi-%s.so", MLGEN_PLUGIN_DIR, word);
	return access(path, R_OK) == 0;
}

static const struct hosts_mpi *load(const char *path, struct mlgen_err *err)
{
	const struct hosts_mpi *mpi = NULL;
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!object) {
		mlgen_fail(err, -ENOEXEC, "%s: cannot be loaded: %s", path, dlerror());
		return NULL;
	}
	mpi = dlsym(object, HOSTS_MPI_SYMBOL);
	if (mpi && mpi->abi == HOSTS_MPI_ABI)
		return mpi;
	mlgen_fail(err, -ENOEXEC,
		   "%s: is not the plugin of this mlgen; install those of one build together",
		   path);
	return NULL;
}

/* MPI_Init, but for the handlers of signals that it leaves behind. */
static int start(const struct hosts_mpi *mpi, unsigned *rank, unsigned *total, char *why,
		 size_t size)
{
	struct sigaction before[NSIG];
	int rc;

	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &before[i]);
	rc = mpi->start(rank, total, why, size);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &before[i], NULL);
	return rc;
}

const struct hosts_mpi *mpi_start(const struct launcher *l, const char *binary_dir,
				  struct mlgen_err *err)
{
	const struct library *lib = &libraries[l->mpi];
	unsigned rank = 0, total = 0;
	char path[PATH_MAX], why[256] = "";

	if (!find(path, sizeof(path), binary_dir, lib->word)) {
		mlgen_fail(err, -ENOENT,
			   "%s started %u processes, but this mlgen was built without %s (%s): "
			   "there is no %s",
			   l->name, l->total, lib->name, lib->packages, path);
		return NULL;
	}
	const struct hosts_mpi *mpi = load(path, err);
	if (!mpi)
		return NULL;
	if (start(mpi, &rank, &total, why, sizeof(why)) < 0) {
		mlgen_fail(err, -EIO, "%s: %s", path, why);
		return NULL;
	}
	if (rank == l->rank && total == l->total)
		return mpi;
	mlgen_fail(err, -EINVAL,
		   "%s started %u processes and this is rank %u of them, but the library of %s "
		   "sees rank %u of %u: it is not a launcher of this %s; start mlgen with the "
		   "mpirun that belongs to the plugin %s%s",
		   l->name, l->total, l->rank, mpi->name, rank, total, lib->name, path,
		   geteuid() == 0 ? lib->as_root : "");
	return NULL;
}
