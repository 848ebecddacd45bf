/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_plugin.h - the table of MPI functions that a plugin exports. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * mlgen does not link MPI. For each implementation a shared object is compiled from mpi_plugin.c
 * against its headers, and loaded only if its launcher started the process. Only one thread at a
 * time calls these functions. The functions never spin: where MPI would spin, they test and sleep
 * in turn.
 */
#define HOSTS_MPI_ABI 1
#define HOSTS_MPI_SYMBOL "hosts_mpi"

struct hosts_mpi {
	uint32_t abi;
	const char *name; /* "Open MPI" */
	/* MPI_Init_thread. 0, or -1 with a message in `why`. The caller restores the signal
	 * handlers that the library replaces. */
	int (*start)(unsigned *rank, unsigned *total, char *why, size_t why_bytes);
	/* Together: gather n bytes of each process, in the order of ranks, in `all`. */
	int (*exchange)(const void *mine, size_t n, void *all);
	/* Send one message to a rank, and receive one from any rank. receive returns its length and
	 * stores the sender in `from`; 0 = no message has come, -1 = an error. */
	int (*send)(unsigned to, const void *bytes, size_t n);
	long (*receive)(unsigned *from, void *bytes, size_t room);
	/* Together: MPI_Finalize. */
	void (*end)(void);
};
