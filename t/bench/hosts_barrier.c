/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_barrier.c - how late processes wake from a barrier of src/hosts, and what waiting costs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "hosts/hosts_internal.h"

/*
 * hosts_barrier RANKS ROUNDS STEP_US: processes of this machine meet over loopback, and go through
 * ROUNDS barriers. Each sleeps STEP_US before every one, but for one rank in turn, which sleeps
 * twice as long and is the last to come. Prints "RANKS p50_us p99_us cpu_percent": late is the last
 * one out minus the last one in; cpu that of a process.
 */
#define RANKS_MOST 64
#define ROUNDS_MAX 4096

static struct shared {
	pthread_barrier_t all;
	char hello[RANKS_MOST][sizeof(struct hello)];
	uint64_t in[ROUNDS_MAX][RANKS_MOST], out[ROUNDS_MAX][RANKS_MOST];
	double cpu_percent[RANKS_MOST];
} * s;

static unsigned own_rank, ranks, rounds;

static int exchange(const void *mine, size_t n, void *all)
{
	memcpy(s->hello[own_rank], mine, n);
	pthread_barrier_wait(&s->all);
	for (unsigned i = 0; i < ranks; i++)
		memcpy((char *)all + i * n, s->hello[i], n);
	pthread_barrier_wait(&s->all);
	return 0;
}

static void end(void)
{
}

static const struct hosts_mpi memory_mpi = {
	.abi = HOSTS_MPI_ABI, .name = "memory", .exchange = exchange, .end = end
};

static double cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return 1e9 * (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       1e3 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int run_rank(uint64_t step_ns)
{
	const struct hosts_config cfg = { .version = "bench" };
	struct mlgen_err err = { 0 };
	struct hosts *h;

	if (hosts_meet_through(&h, &memory_mpi, own_rank, ranks, &cfg, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	double cpu = cpu_ns();
	uint64_t from_ns = star_now_ns();
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t ns = step_ns * (i % ranks == own_rank ? 2 : 1);
		const struct timespec t = { .tv_nsec = (long)ns };

		nanosleep(&t, NULL);
		s->in[i][own_rank] = star_now_ns();
		if (hosts_barrier(h, &err) < 0)
			return 1;
		s->out[i][own_rank] = star_now_ns();
	}
	s->cpu_percent[own_rank] = 100 * (cpu_ns() - cpu) / (double)(star_now_ns() - from_ns);
	hosts_finish(h);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t most(const uint64_t *of)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ranks; i++)
		n = u64_max(n, of[i]);
	return n;
}

static void print(void)
{
	static uint64_t late[ROUNDS_MAX];
	double cpu = 0;

	for (unsigned i = 0; i < rounds; i++)
		late[i] = most(s->out[i]) - most(s->in[i]);
	qsort(late, rounds, sizeof(*late), by_value);
	for (unsigned i = 0; i < ranks; i++)
		cpu += s->cpu_percent[i] / ranks;
	printf("%u %.1f %.1f %.2f\n", ranks, (double)late[rounds / 2] / 1e3,
	       (double)late[rounds * 99 / 100] / 1e3, cpu);
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t a;
	int failed = 0, status;

	ranks = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	if (argc != 4 || ranks < 2 || ranks > RANKS_MOST || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: hosts_barrier RANKS ROUNDS STEP_US\n");
		return 2;
	}
	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return 1;
	pthread_barrierattr_init(&a);
	pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&s->all, &a, ranks);
	for (own_rank = 0; own_rank < ranks; own_rank++)
		if (fork() == 0)
			_exit(run_rank(strtoull(argv[3], NULL, 10) * 1000));
	while (wait(&status) > 0)
		failed |= status;
	if (!failed)
		print();
	return failed != 0;
}
