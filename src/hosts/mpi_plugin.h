/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_plugin.h - what mlgen takes of an MPI library: a table that a plugin of it exports. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * mlgen links no MPI. A shared object for each implementation is compiled from mpi_plugin.c against
 * its headers, and loaded only where its launcher started the process. One thread at a time calls
 * these; none of them spins: where MPI would, they ask and sleep in turn.
 */
#define HOSTS_MPI_ABI 1
#define HOSTS_MPI_SYMBOL "hosts_mpi"

struct hosts_mpi {
	uint32_t abi;
	const char *name; /* "Open MPI" */
	/* MPI_Init_thread: 0, or -1 with words in `why`. The signal handlers that the library
	 * installs are still there. */
	int (*start)(unsigned *rank, unsigned *total, char *why, size_t why_bytes);
	/* Together: n bytes of each, one after the other in `all`. */
	int (*exchange)(const void *mine, size_t n, void *all);
	/* One message to a rank; and one that has come from any: its bytes, 0 where there is none,
	 * -1 for an error. `from` says whose. */
	int (*send)(unsigned to, const void *bytes, size_t n);
	long (*receive)(unsigned *from, void *bytes, size_t room);
	/* Together: MPI_Finalize. */
	void (*end)(void);
};
