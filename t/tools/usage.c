/* SPDX-License-Identifier: Apache-2.0 */
/* usage.c - run a command and append to a file what it used: wall time, CPU time and memory. */

/*
 *	usage FILE NAME COMMAND...
 *
 * The line is "NAME WALL_MS USER_MS SYSTEM_MS PEAK_KIB". CPU time is that of the command and of
 * every descendant that somebody waited for; the peak is the resident set of the largest one
 * of them, not their sum. The exit status is the command's own, or 128 and the signal that ended
 * it, as in a shell; 127 if it could not be run. SIGTERM and SIGINT are handed on.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t child;

static void hand_on(int number)
{
	if (child > 0)
		(void)kill((pid_t)child, number);
}

static long long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long long to_ms(struct timeval time)
{
	return (long long)time.tv_sec * 1000 + time.tv_usec / 1000;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = hand_on };
	struct rusage used;
	long long began = now_ms();
	int status = 0;
	FILE *file;
	pid_t pid;

	if (argc < 4) {
		fprintf(stderr, "usage: usage FILE NAME COMMAND...\n");
		return 2;
	}
	pid = fork();
	if (pid == 0) {
		execvp(argv[3], argv + 3);
		fprintf(stderr, "%s: %s\n", argv[3], strerror(errno));
		_exit(127);
	}
	if (pid < 0) {
		perror("fork");
		return 2;
	}
	child = pid;
	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	while (wait4(pid, &status, 0, &used) < 0)
		if (errno != EINTR) {
			perror("wait4");
			return 2;
		}
	file = fopen(argv[1], "a");
	if (!file ||
	    fprintf(file, "%s %lld %lld %lld %ld\n", argv[2], now_ms() - began,
		    to_ms(used.ru_utime), to_ms(used.ru_stime), used.ru_maxrss) < 0 ||
	    fclose(file) != 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
