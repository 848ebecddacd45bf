/* SPDX-License-Identifier: Apache-2.0 */
/* record_bpf.c - captures a command by BPF, and nothing else: for tests and benchmarks of that. */

/*
 *	record_bpf TRACE COMMAND ARG...	or with -p PID, -c CGROUP, -b BYTES first
 *
 * Prints what was recorded and left out on standard error. With -p and -c until
 * a signal comes. Exits with the command's status; 77: it cannot work here.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "tracing/capture/capture.h"

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* It waits for a byte before it executes. */
static pid_t start(char **argv, int *go)
{
	int pipes[2];
	char byte;

	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) == 1)
			execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(pipes[0]);
	*go = pipes[1];
	return pid;
}

static int finish(void *state, struct trace_writer *w, struct mlgen_err *err)
{
	struct trace_written written = { 0 };
	struct capture_status status = { 0 };
	struct buf notes = { 0 };
	int rc = capture_bpf.stop(state, &status, &notes, err);

	capture_bpf.free(state);
	if (trace_writer_finish(w, &written, err) < 0)
		rc = -EIO;
	fprintf(stderr, "records %llu files %llu processes %llu lost %llu bytes %llu\n%s",
		(unsigned long long)status.records, (unsigned long long)status.files,
		(unsigned long long)status.processes, (unsigned long long)status.lost,
		(unsigned long long)written.bytes, buf_str(&notes));
	buf_fini(&notes);
	return rc;
}

static int run(struct capture_config *cfg, char **argv, struct mlgen_err *err)
{
	int go = -1, status = 0, rc;
	pid_t child = 0;
	void *state;

	rc = capture_bpf.open(&state, cfg, err);
	if (rc < 0)
		return rc;
	if (cfg->whose == CAPTURE_COMMAND) {
		child = start(argv, &go);
		rc = capture_bpf.follow(state, child, err);
		(void)!write(go, "x", 1);
		close(go);
	} else {
		rc = capture_bpf.attach(state, err);
		fprintf(stderr, "attached\n");
	}
	while (rc == 0 && !stopped) {
		rc = capture_bpf.drain(state, 50, err);
		if (child && waitpid(child, &status, WNOHANG) == child)
			break;
	}
	int end = finish(state, cfg->writer, err);
	if (rc < 0 || end < 0)
		return rc < 0 ? rc : end;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct capture_config cfg = { .buffer_bytes = 16 << 20 };
	struct trace_head head = { .clock_ns = now_ns(CLOCK_MONOTONIC),
				   .wall_ns = now_ns(CLOCK_REALTIME) };
	struct mlgen_err err = { 0 };
	int option;

	while ((option = getopt(argc, argv, "+p:c:b:")) != -1) {
		if (option == 'p') {
			cfg.whose = CAPTURE_PID;
			cfg.pid = (pid_t)strtol(optarg, NULL, 10);
		} else if (option == 'c') {
			cfg.whose = CAPTURE_CGROUP;
			cfg.cgroup = optarg;
		} else if (option == 'b') {
			cfg.buffer_bytes = strtoull(optarg, NULL, 10);
		} else {
			return 2;
		}
	}
	if (optind >= argc)
		return 2;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	int rc = capture_bpf.probe(&err);
	if (rc < 0) {
		fprintf(stderr, "record_bpf: %s\n", err.text);
		return 77;
	}
	int fd = open(argv[optind], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	rc = fd < 0 ? -errno : trace_writer_new(&cfg.writer, fd, argv[optind], &head, &err);
	if (rc == 0)
		rc = run(&cfg, argv + optind + 1, &err);
	if (rc < 0)
		fprintf(stderr, "record_bpf: %s\n", err.text);
	return rc < 0 ? 1 : rc;
}
