/* SPDX-License-Identifier: Apache-2.0 */
/* strace_attached.c - strace as a child that is attached to others, and what it prints. */
#include "tracing/capture/strace_attached.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "tracing/capture/capture_child.h"
#include "io/host.h"

#define ATTACH_NS (10 * NS_PER_S)
#define LOOK_NS 1000000 /* between two looks whether it is attached */

/*
 * What is asked of files, and what has to be known to tell which. With '?' those that not every
 * machine has. The others are stopped at, too, but not printed: --seccomp-bpf would spare them
 * that, and forbids to attach and to let go.
 */
static const char calls[] =
	"trace=?open,openat,?openat2,?creat,close,?close_range,?dup,?dup2,dup3,fcntl,read,pread64,"
	"readv,preadv,?preadv2,write,pwrite64,writev,pwritev,?pwritev2,lseek,?_llseek,?stat,?"
	"stat64,?lstat,?lstat64,fstat,?fstat64,?newfstatat,?fstatat64,?statx,fsync,fdatasync,?sync_"
	"file_range,?rename,?renameat,renameat2,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,?getdents,"
	"getdents64,?mmap,?mmap2,munmap,fallocate,ftruncate,?ftruncate64,?fadvise64,?fadvise64_64,"
	"sendfile,?copy_file_range,splice,chdir,fchdir,?fork,?vfork,clone,?clone3,execve,?execveat,"
	"?io_setup,?io_submit,?io_getevents,?io_pgetevents,?io_uring_setup,?io_uring_enter";

int strace_attached_find(struct mlgen_err *err)
{
	struct mlgen_err unused = { 0 };

	if (capture_command_check("strace", &unused) == 0)
		return 0;
	return mlgen_fail(err, -ENOENT, "strace is not in $PATH; install the package strace");
}

/* ---- the child ---- */

static __attribute__((noreturn)) void strace_main(char *const *argv, int lines, int words,
						  pid_t parent)
{
	/* It is not of the terminal's group: SIGINT is for us to take. */
	(void)setpgid(0, 0);
	/* The kernel lets go of all that a tracer had. strace itself, asked to, waits for ever for
	 * a process in vfork whose child waits for it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || dup2(words, STDERR_FILENO) < 0 || fcntl(lines, F_SETFD, 0) < 0)
		_exit(CAPTURE_NOT_EXECUTABLE);
	signals_hand_down();
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	execvp(argv[0], argv);
	_exit(CAPTURE_NOT_FOUND);
}

static void add_word(char **argv, size_t *n, const char *word)
{
	argv[(*n)++] = mem_strdup(word);
}

/* To be freed with all words in it. */
static char **make_argv(const pid_t *pids, size_t count, int lines)
{
	static const char *const words[] = { "strace",
					     "-f",
					     "-q",
					     "-yy",
					     "--absolute-timestamps=format:unix,precision:ns",
					     "--syscall-times=ns",
					     "-e",
					     "signal=none",
					     "-e",
					     calls,
					     "-o" };
	char **argv = mem_array(ARRAY_LEN(words) + 2 + 2 * count, sizeof(*argv));
	char text[32];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		add_word(argv, &n, words[i]);
	snprintf(text, sizeof(text), "/proc/self/fd/%d", lines);
	add_word(argv, &n, text);
	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%d", (int)pids[i]);
		add_word(argv, &n, "-p");
		add_word(argv, &n, text);
	}
	return argv;
}

static void free_argv(char **argv)
{
	for (size_t i = 0; argv[i]; i++)
		mem_free(argv[i]);
	mem_free(argv);
}

static int spawn(struct strace_attached *s, const pid_t *pids, size_t count, int lines)
{
	char **argv = make_argv(pids, count, lines);
	pid_t self = getpid();
	int rc;

	s->pid = fork();
	if (s->pid == 0)
		strace_main(argv, lines, s->words, self);
	rc = s->pid < 0 ? -errno : 0;
	free_argv(argv);
	return rc;
}

/* ---- what came of it ---- */

/* Its last line, without "strace: ". */
static void last_words(const struct strace_attached *s, char *out, size_t size)
{
	char text[4096], *line;
	ssize_t n = pread(s->words, text, sizeof(text) - 1, 0);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (strncmp(line, "strace: ", 8) == 0)
		line += 8;
	snprintf(out, size, "%.*s", (int)size - 1, line);
}

static void close_all(struct strace_attached *s)
{
	if (s->lines >= 0)
		close(s->lines);
	if (s->words >= 0)
		close(s->words);
	*s = (struct strace_attached){ .lines = -1, .words = -1 };
}

static int fail_attach(struct strace_attached *s, pid_t pid, struct mlgen_err *err)
{
	char why[256];

	last_words(s, why, sizeof(why));
	if (s->pid > 0) {
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
	}
	close_all(s);
	return mlgen_fail(
		err, -EPERM,
		"strace cannot be attached to process %d: %s; only root may trace processes of "
		"others, and /proc/sys/kernel/yama/ptrace_scope may forbid the rest",
		(int)pid, *why ? why : "it is not by now");
}

static bool is_traced(pid_t pid)
{
	char path[64];
	uint64_t tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return sysfile_keyed(&tracer, "", path, "TracerPid") == 0 && tracer;
}

static int wait_until_attached(struct strace_attached *s, pid_t pid, struct mlgen_err *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = clock_monotonic_ns() + ATTACH_NS;

	while (!is_traced(pid)) {
		if (waitpid(s->pid, NULL, WNOHANG) != 0)
			s->pid = 0;
		if (!s->pid || clock_monotonic_ns() > until)
			return fail_attach(s, pid, err);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int strace_attached_start(struct strace_attached *s, const pid_t *pids, size_t count,
			  size_t pipe_bytes, struct mlgen_err *err)
{
	int ends[2] = { -1, -1 }, rc;

	*s = (struct strace_attached){ .lines = -1, .words = -1 };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return mlgen_fail(err, -errno, "capture: pipe: %s", strerror(errno));
	s->lines = ends[0];
	s->words = memfd_create("strace", MFD_CLOEXEC);
	/* As much as may be had of it; a user has 1 MiB. */
	while (pipe_bytes >= 65536 && fcntl(ends[1], F_SETPIPE_SZ, (int)pipe_bytes) < 0)
		pipe_bytes /= 2;
	(void)fcntl(s->lines, F_SETFL, O_NONBLOCK);
	rc = s->words < 0 ? -errno : spawn(s, pids, count, ends[1]);
	close(ends[1]);
	if (rc < 0) {
		s->pid = 0;
		close_all(s);
		return mlgen_fail(err, rc, "capture: cannot start strace: %s", strerror(-rc));
	}
	return wait_until_attached(s, pids[0], err);
}

void strace_attached_stop(struct strace_attached *s)
{
	if (s->pid > 0)
		(void)kill(s->pid, SIGTERM);
}

void strace_attached_kill(struct strace_attached *s)
{
	if (s->pid > 0)
		(void)kill(s->pid, SIGKILL);
}

int strace_attached_end(struct strace_attached *s, bool was_stopped, struct mlgen_err *err)
{
	int status = 0, rc = 0;
	char why[256];

	if (s->pid > 0 && waitpid(s->pid, &status, 0) == s->pid && !was_stopped &&
	    (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)) {
		last_words(s, why, sizeof(why));
		rc = mlgen_fail(
			err, -ECHILD,
			"strace ended early, %s %d%s%s; what the programs did then is not recorded",
			WIFSIGNALED(status) ? "by signal" : "with status",
			WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			*why ? ": " : "", why);
	}
	close_all(s);
	return rc;
}
