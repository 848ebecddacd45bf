/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - run a command and append what it took to a file. */

/*
 *	measure FILE COMMAND [ARGUMENT...]
 *
 * One line: seconds from its start to its end, seconds of CPU (user and
 * system), the most memory it had resident, MiB, and the seconds of CPU once
 * more, user's and system's apart. Exits as the command does. Small itself:
 * what is resident before exec counts as the command's.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static double seconds(struct timeval tv)
{
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static int fail(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	return 125;
}

static int append(const char *path, double wall, const struct rusage *used)
{
	double user = seconds(used->ru_utime);
	double system = seconds(used->ru_stime);
	FILE *f = fopen(path, "a");

	if (!f)
		return fail(path);
	fprintf(f, "%.6f %.6f %.2f %.6f %.6f\n", wall, user + system,
		(double)used->ru_maxrss / 1024, user, system);
	return fclose(f) ? fail(path) : 0;
}

int main(int argc, char **argv)
{
	struct rusage used;
	double start;
	int status, rc;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: measure FILE COMMAND [ARGUMENT...]\n");
		return 125;
	}
	start = now();
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return fail(argv[2]);
	rc = append(argv[1], now() - start, &used);
	if (rc)
		return rc;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
