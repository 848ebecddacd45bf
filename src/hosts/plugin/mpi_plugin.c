/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_plugin.c - the table of mpi_plugin.h, compiled against one implementation of MPI. */
#include "hosts/mpi_plugin.h"

#include <limits.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Polling this often costs 3 % of a CPU, and delays a message by at most this time. */
#define NAP_NS 200000

static int await(MPI_Request *request)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	int is_done = 0;

	for (;;) {
		if (MPI_Test(request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return -1;
		if (is_done)
			return 0;
		nanosleep(&nap, NULL);
	}
}

static int start(unsigned *rank, unsigned *total, char *why, size_t why_bytes)
{
	int has = 0, mine = 0, all = 0;

	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &has) != MPI_SUCCESS) {
		snprintf(why, why_bytes, "MPI_Init_thread failed");
		return -1;
	}
	if (has < MPI_THREAD_SERIALIZED) {
		snprintf(why, why_bytes,
			 "its library does not allow calls from several threads in turn "
			 "(MPI_THREAD_SERIALIZED)");
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

	if (n > INT_MAX || MPI_Iallgather(mine, (int)n, MPI_BYTE, all, (int)n, MPI_BYTE,
					  MPI_COMM_WORLD, &request) != MPI_SUCCESS)
		return -1;
	return await(&request);
}

static int send_to(unsigned to, const void *bytes, size_t n)
{
	MPI_Request request;

	if (n > INT_MAX ||
	    MPI_Isend(bytes, (int)n, MPI_BYTE, (int)to, 0, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
		return -1;
	return await(&request);
}

static long receive(unsigned *from, void *bytes, size_t room)
{
	MPI_Status status;
	int is_there = 0, n = 0;

	if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_there, &status) != MPI_SUCCESS)
		return -1;
	if (!is_there)
		return 0;
	MPI_Get_count(&status, MPI_BYTE, &n);
	if (n < 0 || (size_t)n > room ||
	    MPI_Recv(bytes, n, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, &status) !=
		    MPI_SUCCESS)
		return -1;
	*from = (unsigned)status.MPI_SOURCE;
	return n;
}

#ifndef OPEN_MPI
/*
 * MPICH with UCX over TCP closes its connections in MPI_Finalize. A process that sees a closed
 * connection in a call that makes progress waits there for ever. No pause prevents this race: with
 * a pause of 0.1 s, none of 65 runs hung on an idle machine, but one of 25 runs at a load of 11.
 * So MPI_Finalize is avoided. Instead, each process sends its launcher the lines of PMI-1 that
 * MPICH would send: a barrier, after which no process calls MPI, and then its end.
 */
#define PMI_WAIT_MS 10000

/* Send a line and read one line, which has to begin with `answer`. */
static int pmi_say(int fd, const char *line, const char *answer)
{
	char got[256] = "";
	size_t n = 0;

	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		return -1;
	while (n < sizeof(got) - 1 && !memchr(got, '\n', n)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, PMI_WAIT_MS) <= 0 || read(fd, got + n, 1) != 1)
			return -1;
		n++;
	}
	return strncmp(got, answer, strlen(answer)) == 0 ? 0 : -1;
}

/* Wait until all MPI traffic is complete; no process calls MPI afterwards. */
static void end(void)
{
	MPI_Request request;
	const char *text = getenv("PMI_FD");
	char *rest = NULL;
	long number = text ? strtol(text, &rest, 10) : -1;
	int fd = rest && rest != text && !*rest && number <= INT_MAX ? (int)number : -1;

	if (fd < 0 || MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS || await(&request) != 0)
		MPI_Finalize();
	else if (pmi_say(fd, "cmd=barrier_in\n", "cmd=barrier_out") == 0)
		pmi_say(fd, "cmd=finalize\n", "cmd=finalize_ack");
}
#else
static void end(void)
{
	MPI_Finalize();
}
#endif

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
