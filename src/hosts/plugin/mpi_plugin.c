/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_plugin.c - the table of mpi_plugin.h, compiled against one implementation of MPI. */
#include "hosts/mpi_plugin.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* Asked so often it costs 3 % of a CPU, and is as late as that at most
 * once a message. */
#define NAP_NS 200000

static void nap(void)
{
	const struct timespec t = { .tv_nsec = NAP_NS };

	nanosleep(&t, NULL);
}

static int await(MPI_Request *request)
{
	int is_done = 0;

	for (;;) {
		if (MPI_Test(request, &is_done, MPI_STATUS_IGNORE) !=
		    MPI_SUCCESS)
			return -1;
		if (is_done)
			return 0;
		nap();
	}
}

static int start(unsigned *rank, unsigned *total, char *why, size_t why_bytes)
{
	int has = 0, mine = 0, all = 0;

	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &has) !=
	    MPI_SUCCESS) {
		snprintf(why, why_bytes, "MPI_Init_thread failed");
		return -1;
	}
	if (has < MPI_THREAD_SERIALIZED) {
		snprintf(why, why_bytes,
			 "its library does not let one thread after the other "
			 "call it (MPI_THREAD_SERIALIZED)");
		return -1;
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mine);
	MPI_Comm_size(MPI_COMM_WORLD, &all);
	*rank = (unsigned)mine;
	*total = (unsigned)all;
	return 0;
}

static int exchange(const void *mine, size_t n, void *all)
{
	MPI_Request request;

	if (n > INT_MAX ||
	    MPI_Iallgather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE,
			   MPI_COMM_WORLD, &request) != MPI_SUCCESS)
		return -1;
	return await(&request);
}

static int send_to(unsigned to, const void *bytes, size_t n)
{
	MPI_Request request;

	if (n > INT_MAX || MPI_Isend(bytes, (int)n, MPI_BYTE, (int)to, 0,
				     MPI_COMM_WORLD, &request) != MPI_SUCCESS)
		return -1;
	return await(&request);
}

static long receive(unsigned *from, void *bytes, size_t room)
{
	MPI_Status status;
	int is_there = 0, n = 0;

	if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, &status) !=
	    MPI_SUCCESS)
		return -1;
	if (!is_there)
		return 0;
	MPI_Get_count(&status, MPI_BYTE, &n);
	if (n < 0 || (size_t)n > room ||
	    MPI_Recv(bytes, n, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD,
		     &status) != MPI_SUCCESS)
		return -1;
	*from = (unsigned)status.MPI_SOURCE;
	return n;
}

#ifndef OPEN_MPI
/*
 * MPICH over TCP of UCX closes its connections in MPI_Finalize. Who sees one
 * closed before that, in any call that makes progress, waits there for ever: 10
 * of 20 runs did. So all come to a last barrier, and nobody closes before the
 * slowest has left it and calls nothing any more.
 */
#define LAST_CALLS_NS 100000000

static void part(void)
{
	const struct timespec t = { .tv_nsec = LAST_CALLS_NS };
	MPI_Request request;

	if (MPI_Ibarrier(MPI_COMM_WORLD, &request) == MPI_SUCCESS &&
	    await(&request) == 0)
		nanosleep(&t, NULL);
}
#else
static void part(void)
{
}
#endif

static void end(void)
{
	part();
	MPI_Finalize();
}

extern const struct hosts_mpi hosts_mpi;

const struct hosts_mpi hosts_mpi = {
	.abi = HOSTS_MPI_ABI,
#ifdef OPEN_MPI
	.name = "Open MPI",
#else
	.name = "MPICH",
#endif
	.start = start,
	.exchange = exchange,
	.send = send_to,
	.receive = receive,
	.end = end,
};
