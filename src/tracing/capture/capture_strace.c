/* SPDX-License-Identifier: Apache-2.0 */
/* capture_strace.c - the strace backend: attach strace to processes and read its output. */
#include "tracing/capture/capture_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
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
#include "io/host.h"
#include "trace/trace.h"
#include "tracing/import/import.h"

/*
 * strace is attached to processes, and starts none. So a command stays a child of mltrace, with its
 * own status and rights, and continues if strace ends for any reason. strace ends with this
 * program.
 */
struct strace_tracer {
	pid_t pid;       /* 0 = not running */
	int lines_fd;    /* a pipe: the output of strace */
	int messages_fd; /* an unnamed file: standard error of strace */
};

#define ATTACH_NS (10 * NS_PER_S)
#define ATTACH_POLL_NS 1000000

/*
 * System calls on files, and the calls that are needed to identify these files. '?' marks calls
 * that some machines lack. Other calls stop the process, too, but are not printed. --seccomp-bpf
 * would avoid these stops, but strace cannot attach or detach with it.
 */
static const char calls[] =
	"trace=?open,openat,?openat2,?creat,close,?close_range,?dup,?dup2,dup3,fcntl,read,pread64,"
	"readv,preadv,?preadv2,write,pwrite64,writev,pwritev,?pwritev2,lseek,?_llseek,?stat,?"
	"stat64,?lstat,?lstat64,fstat,?fstat64,?newfstatat,?fstatat64,?statx,fsync,fdatasync,?sync_"
	"file_range,?rename,?renameat,renameat2,?unlink,unlinkat,?mkdir,mkdirat,?rmdir,?getdents,"
	"getdents64,?mmap,?mmap2,munmap,fallocate,ftruncate,?ftruncate64,?fadvise64,?fadvise64_64,"
	"sendfile,?copy_file_range,splice,chdir,fchdir,?fork,?vfork,clone,?clone3,execve,?execveat,"
	"?io_setup,?io_submit,?io_getevents,?io_pgetevents,?io_uring_setup,?io_uring_enter";

/* ---- the strace process ---- */

static __attribute__((noreturn)) void strace_main(char *const *argv, int lines_fd, int messages_fd,
						  pid_t parent)
{
	/* Give strace its own process group, so that the terminal's SIGINT does not reach it. */
	(void)setpgid(0, 0);
	/* The kernel detaches all processes of a killed tracer. strace itself, when asked to
	 * detach, waits forever for a process in vfork whose child waits for strace. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || dup2(messages_fd, STDERR_FILENO) < 0 ||
	    fcntl(lines_fd, F_SETFD, 0) < 0)
		_exit(CAPTURE_NOT_EXECUTABLE);
	signals_restore_inherited();
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	execvp(argv[0], argv);
	_exit(CAPTURE_NOT_FOUND);
}

/* Fork strace, attached to `pids`. 0 or -errno. */
static int spawn(struct strace_tracer *s, const pid_t *pids, size_t count, int lines_fd)
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
	pid_t self = getpid();
	char text[32];
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		argv[n++] = mem_strdup(words[i]);
	snprintf(text, sizeof(text), "/proc/self/fd/%d", lines_fd);
	argv[n++] = mem_strdup(text);
	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%d", (int)pids[i]);
		argv[n++] = mem_strdup("-p");
		argv[n++] = mem_strdup(text);
	}
	s->pid = fork();
	if (s->pid == 0)
		strace_main(argv, lines_fd, s->messages_fd, self);
	rc = s->pid < 0 ? -errno : 0;
	for (size_t i = 0; argv[i]; i++)
		mem_free(argv[i]);
	mem_free(argv);
	return rc;
}

/* The last message, without "strace: ". */
static void last_message(const struct strace_tracer *s, char *out, size_t size)
{
	char text[4096], *line;
	ssize_t n = pread(s->messages_fd, text, sizeof(text) - 1, 0);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (strncmp(line, "strace: ", 8) == 0)
		line += 8;
	snprintf(out, size, "%.*s", (int)size - 1, line);
}

static void strace_tracer_close(struct strace_tracer *s)
{
	if (s->lines_fd >= 0)
		close(s->lines_fd);
	if (s->messages_fd >= 0)
		close(s->messages_fd);
	*s = (struct strace_tracer){ .lines_fd = -1, .messages_fd = -1 };
}

static int fail_attach(struct strace_tracer *s, pid_t pid, struct mlgen_err *err)
{
	char why[256];

	last_message(s, why, sizeof(why));
	if (s->pid > 0) {
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
	}
	strace_tracer_close(s);
	return mlgen_fail(
		err, -EPERM,
		"strace cannot be attached to process %d: %s; only root may trace processes of "
		"other users, and /proc/sys/kernel/yama/ptrace_scope may forbid tracing your own",
		(int)pid, *why ? why : "strace did not attach in time");
}

/* Start strace, and wait until the first process is traced. -errno with err: strace has ended and
 * `s` is closed. */
static int strace_tracer_start(struct strace_tracer *s, const pid_t *pids, size_t count,
			       size_t pipe_bytes, struct mlgen_err *err)
{
	const struct timespec pause = { .tv_nsec = ATTACH_POLL_NS };
	uint64_t tracer, until;
	int ends[2] = { -1, -1 }, rc;
	char path[64];

	*s = (struct strace_tracer){ .lines_fd = -1, .messages_fd = -1 };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return mlgen_fail(err, -errno, "capture: pipe: %s", strerror(errno));
	s->lines_fd = ends[0];
	s->messages_fd = memfd_create("strace", MFD_CLOEXEC);
	/* The largest pipe that is allowed; without privileges the limit is 1 MiB. */
	while (pipe_bytes >= 65536 && fcntl(ends[1], F_SETPIPE_SZ, (int)pipe_bytes) < 0)
		pipe_bytes /= 2;
	(void)fcntl(s->lines_fd, F_SETFL, O_NONBLOCK);
	rc = s->messages_fd < 0 ? -errno : spawn(s, pids, count, ends[1]);
	close(ends[1]);
	if (rc < 0) {
		strace_tracer_close(s);
		return mlgen_fail(err, rc, "capture: cannot start strace: %s", strerror(-rc));
	}
	until = clock_monotonic_ns() + ATTACH_NS;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pids[0]);
	while (sysfile_keyed(&tracer, "", path, "TracerPid") < 0 || !tracer) {
		if (waitpid(s->pid, NULL, WNOHANG) != 0)
			s->pid = 0;
		if (!s->pid || clock_monotonic_ns() > until)
			return fail_attach(s, pids[0], err);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static void strace_tracer_signal(const struct strace_tracer *s, int sig)
{
	if (s->pid > 0)
		(void)kill(s->pid, sig);
}

/* Wait for the end of strace after its last line. -ECHILD with err: strace failed by itself. */
static int strace_tracer_end(struct strace_tracer *s, bool was_stopped, struct mlgen_err *err)
{
	int status = 0, rc = 0;
	char why[256];

	if (s->pid > 0 && waitpid(s->pid, &status, 0) == s->pid && !was_stopped &&
	    (WIFSIGNALED(status) || WEXITSTATUS(status) != 0)) {
		last_message(s, why, sizeof(why));
		rc = mlgen_fail(err, -ECHILD,
				"strace ended early, %s %d%s%s; later operations of the programs "
				"are not recorded",
				WIFSIGNALED(status) ? "by signal" : "with status",
				WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
				*why ? ": " : "", why);
	}
	strace_tracer_close(s);
	return rc;
}

/* ---- clocks ---- */

/* Another thread may run between the reads of two clocks: a smaller change is not a step. */
#define STEP_NS 1000000

/* The longest that strace may be delayed between reading the time and writing it. If every known
 * offset is farther off, the time of day was set more than once. */
#define FAR_NS (10 * NS_PER_S)

/* strace usually writes a line within this time. An offset that is known only from a line may be
 * wrong by this much. */
#define LATE_NS (NS_PER_S / 10)

void capture_clock_init(struct capture_clock *c, uint64_t offset_ns)
{
	*c = (struct capture_clock){ .offset_ns = offset_ns,
				     .other_ns = offset_ns,
				     .host_ns = offset_ns };
}

static uint64_t capture_clock_change(struct capture_clock *c, uint64_t offset_ns)
{
	if (offset_ns != c->offset_ns) {
		c->other_ns = c->offset_ns;
		c->offset_ns = offset_ns;
		c->since_ns = c->least_ns;
	}
	return offset_ns;
}

void capture_clock_observe(struct capture_clock *c, uint64_t host_ns)
{
	int64_t step = (int64_t)(host_ns - c->host_ns);

	if (step <= STEP_NS && step >= -STEP_NS)
		return;
	c->host_ns = host_ns;
	c->was_set = true;
}

void capture_clock_drained(struct capture_clock *c, uint64_t now_ns)
{
	c->least_ns = now_ns;
	if (c->was_set)
		capture_clock_change(c, c->host_ns);
	c->was_set = false;
}

/* The offset of a line that may have been written any time after its stamp. */
static uint64_t offset_of_earlier(const struct capture_clock *c, uint64_t wall_ns, uint64_t now_ns)
{
	int64_t now = (int64_t)now_ns, at = (int64_t)(wall_ns - c->offset_ns);
	int64_t host_at = (int64_t)(wall_ns - c->host_ns);
	int64_t other_at = (int64_t)(wall_ns - c->other_ns);
	bool fits = at + (int64_t)LATE_NS >= (int64_t)c->since_ns && at <= now + (int64_t)LATE_NS;

	/* No line has shown a new offset of this host yet: use the latest start that is not in the
	 * future. */
	if (c->was_set && host_at <= now && (host_at > at || at > now))
		return c->host_ns;
	/* The previous offset holds only for calls that began before the last step. */
	return !fits && other_at <= (int64_t)c->since_ns ? c->other_ns : c->offset_ns;
}

uint64_t capture_clock_offset(struct capture_clock *c, const struct capture_stamp *stamp,
			      uint64_t now_ns)
{
	const uint64_t known[] = { c->offset_ns, c->other_ns, c->host_ns };
	uint64_t wall_ns = stamp->wall_ns, least = UINT64_MAX;
	size_t best = 0;

	if (stamp->is_earlier)
		return offset_of_earlier(c, wall_ns, now_ns);
	for (size_t i = 0; i < ARRAY_LEN(known) && least; i++) {
		int64_t at = (int64_t)(wall_ns - known[i]);
		/* Distance under this offset to the interval in which the line was written. */
		uint64_t far = at > (int64_t)now_ns        ? (uint64_t)at - now_ns
			       : at < (int64_t)c->least_ns ? (uint64_t)((int64_t)c->least_ns - at)
							   : 0;

		if (far < least)
			best = i;
		least = u64_min(least, far);
	}
	if (least > FAR_NS)
		return capture_clock_change(c, wall_ns - c->least_ns);
	c->least_ns = u64_max(c->least_ns, u64_min(wall_ns - known[best], now_ns));
	return known[best] == c->other_ns ? c->other_ns : capture_clock_change(c, known[best]);
}

struct capture_stamp capture_stamp_parse(char *line, size_t bytes)
{
	struct capture_stamp stamp = { 0 };
	struct strace_line l;
	uint64_t duration_ns;

	strace_line_split(&l, (struct strace_text){ line, bytes });
	if (l.clock != STRACE_UNIX)
		return stamp;
	stamp.wall_ns = l.ns;
	if (strace_text_begins(l.body, "<... ") || strace_text_begins(l.body, "+++ "))
		return stamp;
	duration_ns = strace_line_duration(&l.body);
	stamp.is_earlier = duration_ns == TRACE_UNKNOWN;
	stamp.wall_ns += stamp.is_earlier ? 0 : duration_ns;
	return stamp;
}

/* ---- the backend ---- */

/* Fits a line with two paths of 4,095 bytes at four characters a byte, and a large read. */
#define LINES_BYTES (256u << 10)

/* strace detaches hundreds of processes in less time; with a process in vfork, it never does. */
#define STOP_NS (3 * NS_PER_S)

struct strace_capture {
	struct capture_config cfg;
	struct strace_tracer strace;
	struct importing import;
	struct strace_reader *reader;
	struct capture_clock clock;
	char *text; /* LINES_BYTES, and a zero */
	size_t bytes;
	uint64_t line;              /* number of the last line */
	uint64_t begin_ns, last_ns; /* start of the recording, last loss */
	bool skips_rest;            /* the next line is the rest of a line that was too long */
	bool is_over;
};

static int strace_probe(struct mlgen_err *err)
{
	struct mlgen_err unused = { 0 };

	if (capture_command_check("strace", &unused) == 0)
		return 0;
	return mlgen_fail(err, -ENOENT, "strace is not in $PATH; install the package strace");
}

static int strace_open(void **state, const struct capture_config *cfg, struct mlgen_err *err)
{
	struct strace_capture *s = mem_zalloc(sizeof(*s));

	(void)err;
	s->cfg = *cfg;
	s->strace.lines_fd = s->strace.messages_fd = -1;
	s->text = mem_zalloc(LINES_BYTES + 1);
	s->import.fill = trace_fill_append(cfg->writer);
	s->import.is_lenient = true; /* losses are counted */
	capture_clock_init(&s->clock, cfg->wall_minus_clock_ns);
	s->reader = strace_reader_new(&s->import);
	s->begin_ns = clock_monotonic_ns();
	*state = s;
	return 0;
}

static int strace_follow(void *state, pid_t child, struct mlgen_err *err)
{
	struct strace_capture *s = state;

	return strace_tracer_start(&s->strace, &child, 1, s->cfg.buffer_bytes, err);
}

/* Does the descriptor append? Read from "flags: 0102001", in octal, in /proc/PID/fdinfo/FD. */
static bool has_append_flag(pid_t pid, const char *fd)
{
	char path[64], line[128];
	unsigned flags = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", (int)pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "flags: %o", &flags) == 1)
			break;
	if (f)
		fclose(f);
	return flags & O_APPEND;
}

/* Tell the reader what strace does not print about a running process: its threads, working
 * directory and open descriptors. */
static void add_process(struct strace_capture *s, pid_t pid)
{
	struct capture_pids threads = { 0 };
	char *line = capture_pid_command_line(pid);
	char path[64], folder[PATH_MAX];
	struct dirent *d;
	DIR *fds;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	n = readlink(path, folder, sizeof(folder) - 1);
	if (n > 0)
		folder[n] = '\0';
	capture_pids_threads(&threads, pid);
	for (size_t i = 0; i < threads.count; i++)
		strace_reader_task(s->reader, (uint32_t)threads.at[i], (uint32_t)pid,
				   (uint32_t)capture_pid_parent(pid), line, n > 0 ? folder : NULL);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && (d = readdir(fds)))
		if (d->d_name[0] != '.')
			strace_reader_fd(s->reader, (uint32_t)pid, (int)strtol(d->d_name, NULL, 10),
					 has_append_flag(pid, d->d_name));
	if (fds)
		closedir(fds);
	capture_pids_fini(&threads);
	mem_free(line);
}

static int strace_attach(void *state, struct mlgen_err *err)
{
	struct strace_capture *s = state;
	struct capture_pids pids = { 0 };
	int rc;

	if (s->cfg.whose == CAPTURE_CGROUP)
		capture_pids_cgroup(&pids, s->cfg.cgroup);
	else
		capture_pids_tree(&pids, s->cfg.pid);
	for (size_t i = 0; i < pids.count; i++)
		add_process(s, pids.at[i]);
	rc = pids.count ? strace_tracer_start(&s->strace, pids.at, pids.count, s->cfg.buffer_bytes,
					      err)
			: mlgen_fail(err, -ESRCH,
				     "cgroup=%s: contains no task to which strace can be attached",
				     s->cfg.cgroup);
	capture_pids_fini(&pids);
	return rc;
}

/* ---- lines ---- */

static int parse_line(struct strace_capture *s, char *line, size_t bytes, struct mlgen_err *err)
{
	struct capture_stamp stamp = capture_stamp_parse(line, bytes);
	uint64_t unread = s->import.tally.unread;
	int rc = 0;

	s->line++;
	if (stamp.wall_ns)
		s->import.clock_offset_ns =
			capture_clock_offset(&s->clock, &stamp, clock_monotonic_ns());
	if (!s->skips_rest)
		rc = strace_reader_line(s->reader, line, bytes, "strace", s->line, err);
	s->skips_rest = false;
	if (s->import.tally.unread > unread)
		s->last_ns = clock_monotonic_ns();
	return rc;
}

/* Read without waiting, and parse all whole lines. 1 = there may be more, 0, or -errno. */
static int read_lines(struct strace_capture *s, struct mlgen_err *err)
{
	uint64_t begin_ns = clock_monotonic_ns();
	char *at = s->text, *end, *newline;
	ssize_t n;
	int rc = 0;

	capture_clock_observe(&s->clock, capture_wall_minus_clock_ns());
	n = read(s->strace.lines_fd, s->text + s->bytes, LINES_BYTES - s->bytes);
	if (n < 0 && errno == EAGAIN) {
		capture_clock_drained(&s->clock, begin_ns);
		return 0;
	}
	if (n < 0)
		return errno == EINTR ? 0 : mlgen_fail(err, -errno, "strace: %s", strerror(errno));
	s->is_over = n == 0;
	s->bytes += (size_t)n;
	end = s->text + s->bytes;
	while (rc == 0 && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		rc = parse_line(s, at, (size_t)(newline - at), err);
		at = newline + 1;
	}
	s->bytes = (size_t)(end - at);
	memmove(s->text, at, s->bytes);
	if (s->bytes == LINES_BYTES) {
		rc = import_count_unread(&s->import, "strace", s->line + 1, err,
					 "is longer than %u bytes", LINES_BYTES);
		s->skips_rest = true;
		s->bytes = 0;
	}
	return rc < 0 ? rc : n > 0;
}

static void wait_for(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	(void)poll(&p, 1, timeout_ms);
}

/* Read for about `timeout_ms` at most, so that the caller can do its other work. */
static int strace_drain(void *state, int timeout_ms, struct mlgen_err *err)
{
	struct strace_capture *s = state;
	uint64_t until = clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	int rc;

	wait_for(s->is_over ? -1 : s->strace.lines_fd, timeout_ms);
	do
		rc = s->is_over ? 0 : read_lines(s, err);
	while (rc > 0 && clock_monotonic_ns() < until);
	return rc < 0 ? rc : 0;
}

static void strace_get_status(void *state, struct capture_status *status)
{
	const struct strace_capture *s = state;
	const struct trace_fill_totals *f = trace_fill_get_totals(s->import.fill);

	*status = (struct capture_status){
		.records = f->records,
		.files = f->files,
		.processes = f->processes,
		.lost = s->import.tally.unread,
		.is_over = s->is_over,
	};
}

/* ---- the end ---- */

static int strace_stop(void *state, struct capture_status *status, struct buf *notes,
		       struct mlgen_err *err)
{
	struct strace_capture *s = state;
	const struct import_tally *tally = &s->import.tally;
	uint64_t until = clock_monotonic_ns() + STOP_NS;
	bool was_stopped = !s->is_over;
	int rc = 0, ended;

	/* strace detaches, and writes its last lines. */
	if (was_stopped)
		strace_tracer_signal(&s->strace, SIGTERM);
	while (rc >= 0 && !s->is_over && clock_monotonic_ns() < until) {
		wait_for(s->strace.lines_fd, 100);
		rc = read_lines(s, err);
	}
	/* A last line without a newline was cut. If strace was stopped, the line belongs to a call
	 * that has not ended. */
	if (rc >= 0 && s->bytes && !was_stopped)
		rc = parse_line(s, s->text, s->bytes, err);
	if (rc >= 0)
		rc = strace_reader_end(s->reader, err);
	if (!s->is_over)
		strace_tracer_signal(&s->strace, SIGKILL);
	ended = strace_tracer_end(&s->strace, was_stopped, err);
	if (tally->unread) {
		const uint64_t number[] = { TRACE_NONE, tally->unread, s->begin_ns, s->last_ns, 0 };

		trace_fill_entry(s->import.fill, TRACE_LOST, number, ARRAY_LEN(number),
				 "a line of strace could not be read");
	}
	strace_get_status(s, status);
	buf_add(notes, buf_str(&tally->first_unread));
	buf_add(notes, buf_str(&tally->notes));
	return rc < 0 ? rc : ended;
}

static void strace_free(void *state)
{
	struct strace_capture *s = state;
	struct mlgen_err unused = { 0 };

	if (!s)
		return;
	strace_tracer_signal(&s->strace, SIGKILL);
	(void)strace_tracer_end(&s->strace, true, &unused);
	strace_reader_free(s->reader);
	trace_fill_abandon(s->import.fill);
	import_tally_fini(&s->import.tally);
	mem_free(s->text);
	mem_free(s);
}

const struct capture_backend capture_strace = {
	.name = "strace",
	.blind_to = "page faults, the page cache, devices, io_uring and CPU time; offsets of "
		    "read() are inferred",
	.probe = strace_probe,
	.open = strace_open,
	.follow = strace_follow,
	.attach = strace_attach,
	.drain = strace_drain,
	.get_status = strace_get_status,
	.stop = strace_stop,
	.free = strace_free,
};
