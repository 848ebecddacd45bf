/* SPDX-License-Identifier: Apache-2.0 */
/* capture_strace.c - record with strace: attach to processes and read what strace prints. */
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
 * It is attached to processes, and starts none: so a command stays our child, with its own status
 * and rights, and goes on unhindered when strace is gone, however that comes. It ends with this
 * program.
 */
struct strace_attached {
	pid_t pid; /* 0 = it is not there */
	int lines; /* to be read: what it prints */
	int words; /* an unnamed file: what it complains of */
	int wait_status;
};

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

/* Where it is: 0, or -ENOENT with err. */
static int strace_attached_find(struct mlgen_err *err)
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

/* Attach it to so many, and wait until the first is traced. 0 or -errno with err: nothing is left
 * of it then. */
static int strace_attached_start(struct strace_attached *s, const pid_t *pids, size_t count,
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

/* It lets them go, and its last lines are there to be read before the end. */
static void strace_attached_stop(struct strace_attached *s)
{
	if (s->pid > 0)
		(void)kill(s->pid, SIGTERM);
}

/* At once; the kernel lets them go. */
static void strace_attached_kill(struct strace_attached *s)
{
	if (s->pid > 0)
		(void)kill(s->pid, SIGKILL);
}

/* When its lines are at their end: wait for it. 0, or -ECHILD with err: it came to an end of its
 * own that is none of a recording. */
static int strace_attached_end(struct strace_attached *s, bool was_stopped, struct mlgen_err *err)
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

/* Between a look at one clock and at the other another thread may run: less than that is no
 * step. */
#define STEP_NS 1000000

/* strace may be kept from writing what it has the time of. When no distance that is known comes as
 * near, the time of day was set more than once. */
#define FAR_NS (10 * NS_PER_S)

/* strace writes in less, mostly; by so much a distance that nobody but a line has told may be
 * wrong. */
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

void capture_clock_look(struct capture_clock *c, uint64_t host_ns)
{
	int64_t step = (int64_t)(host_ns - c->host_ns);

	if (step <= STEP_NS && step >= -STEP_NS)
		return;
	c->host_ns = host_ns;
	c->was_set = true;
}

void capture_clock_empty(struct capture_clock *c, uint64_t now_ns)
{
	c->least_ns = now_ns;
	if (c->was_set)
		capture_clock_change(c, c->host_ns);
	c->was_set = false;
}

/* How far a line is from when it can have been written, by this distance. */
static uint64_t astray(const struct capture_clock *c, uint64_t wall_ns, uint64_t offset_ns,
		       uint64_t now_ns)
{
	int64_t at = (int64_t)(wall_ns - offset_ns);

	if (at > (int64_t)now_ns)
		return (uint64_t)at - now_ns;
	return at < (int64_t)c->least_ns ? (uint64_t)((int64_t)c->least_ns - at) : 0;
}

/* Of a step nobody has seen a line yet: by what has it begin last, until now. */
static bool is_of_host(const struct capture_clock *c, uint64_t wall_ns, uint64_t now_ns)
{
	int64_t at = (int64_t)(wall_ns - c->offset_ns);
	int64_t host_at = (int64_t)(wall_ns - c->host_ns);

	return c->was_set && host_at <= (int64_t)now_ns && (host_at > at || at > (int64_t)now_ns);
}

/* By the one before the last step only what is of before that step. */
static uint64_t of_earlier(const struct capture_clock *c, uint64_t wall_ns, uint64_t now_ns)
{
	int64_t at = (int64_t)(wall_ns - c->offset_ns);
	int64_t other_at = (int64_t)(wall_ns - c->other_ns);
	bool fits =
		at + (int64_t)LATE_NS >= (int64_t)c->since_ns && at <= (int64_t)(now_ns + LATE_NS);

	if (is_of_host(c, wall_ns, now_ns))
		return c->host_ns;
	return !fits && other_at <= (int64_t)c->since_ns ? c->other_ns : c->offset_ns;
}

uint64_t capture_clock_of(struct capture_clock *c, const struct capture_stamp *stamp,
			  uint64_t now_ns)
{
	const uint64_t known[] = { c->offset_ns, c->other_ns, c->host_ns };
	uint64_t wall_ns = stamp->wall_ns, least = UINT64_MAX;
	size_t best = 0;

	if (stamp->is_earlier)
		return of_earlier(c, wall_ns, now_ns);
	for (size_t i = 0; i < ARRAY_LEN(known) && least; i++) {
		uint64_t far = astray(c, wall_ns, known[i], now_ns);

		if (far < least)
			best = i;
		least = u64_min(least, far);
	}
	if (least > FAR_NS)
		return capture_clock_change(c, wall_ns - c->least_ns);
	c->least_ns = u64_max(c->least_ns, u64_min(wall_ns - known[best], now_ns));
	return known[best] == c->other_ns ? c->other_ns : capture_clock_change(c, known[best]);
}

struct capture_stamp capture_stamp_of(char *line, size_t bytes)
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

/* A path of 4,095 bytes, twice, each as four characters, fits; what is read at once is more. */
#define LINES_BYTES (256u << 10)

/* It lets hundreds of processes go in less; or, with one in vfork, never. */
#define STOP_NS (3 * NS_PER_S)

struct by_strace {
	struct capture_config cfg;
	struct strace_attached strace;
	struct importing import;
	struct strace_reader *reader;
	struct capture_clock clock;
	char *text; /* LINES_BYTES, and a zero */
	size_t bytes;
	uint64_t line;
	uint64_t begin_ns, last_ns; /* of what was lost */
	bool is_long;               /* what comes is the rest of a line that was let go */
	bool is_over;
};

static int strace_probe(struct mlgen_err *err)
{
	return strace_attached_find(err);
}

static int strace_open(void **state, const struct capture_config *cfg, struct mlgen_err *err)
{
	struct by_strace *s = mem_zalloc(sizeof(*s));

	(void)err;
	s->cfg = *cfg;
	s->strace.lines = s->strace.words = -1;
	s->text = mem_zalloc(LINES_BYTES + 1);
	s->import.fill = trace_fill_over(cfg->writer);
	s->import.is_lenient = true; /* what is lost is counted */
	capture_clock_init(&s->clock, cfg->wall_minus_clock_ns);
	s->reader = strace_reader_new(&s->import);
	s->begin_ns = clock_monotonic_ns();
	*state = s;
	return 0;
}

static int strace_follow(void *state, pid_t child, struct mlgen_err *err)
{
	struct by_strace *s = state;

	return strace_attached_start(&s->strace, &child, 1, s->cfg.buffer_bytes, err);
}

/* "flags:	0102001", in octal, of /proc/PID/fdinfo/FD. */
static bool appends(pid_t pid, const char *fd)
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

static void tell_descriptors(struct by_strace *s, pid_t pid)
{
	char path[32];
	struct dirent *d;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	while (folder && (d = readdir(folder)))
		if (d->d_name[0] != '.')
			strace_reader_fd(s->reader, (uint32_t)pid, (int)strtol(d->d_name, NULL, 10),
					 appends(pid, d->d_name));
	if (folder)
		closedir(folder);
}

/* strace does not say of what runs already which threads are of one process. */
static void tell_tasks(struct by_strace *s, pid_t pid)
{
	struct capture_pids threads = { 0 };
	char *line = capture_pid_line(pid);
	char path[64], folder[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	n = readlink(path, folder, sizeof(folder) - 1);
	if (n > 0)
		folder[n] = '\0';
	capture_pids_threads(&threads, pid);
	for (size_t i = 0; i < threads.count; i++)
		strace_reader_task(s->reader, (uint32_t)threads.at[i], (uint32_t)pid,
				   (uint32_t)capture_pid_parent(pid), line, n > 0 ? folder : NULL);
	tell_descriptors(s, pid);
	capture_pids_fini(&threads);
	mem_free(line);
}

static int strace_attach(void *state, struct mlgen_err *err)
{
	struct by_strace *s = state;
	struct capture_pids pids = { 0 };
	int rc;

	if (s->cfg.whose == CAPTURE_CGROUP)
		capture_pids_cgroup(&pids, s->cfg.cgroup);
	else
		capture_pids_tree(&pids, s->cfg.pid);
	for (size_t i = 0; i < pids.count; i++)
		tell_tasks(s, pids.at[i]);
	rc = pids.count ? strace_attached_start(&s->strace, pids.at, pids.count,
						s->cfg.buffer_bytes, err)
			: mlgen_fail(err, -ESRCH,
				     "cgroup=%s: has no task that strace could be attached to",
				     s->cfg.cgroup);
	capture_pids_fini(&pids);
	return rc;
}

/* ---- lines ---- */

/* The time of day may be set while it is recorded. */
static void follow_clock(struct by_strace *s, char *line, size_t bytes)
{
	struct capture_stamp stamp = capture_stamp_of(line, bytes);

	if (stamp.wall_ns)
		s->import.clock_offset_ns =
			capture_clock_of(&s->clock, &stamp, clock_monotonic_ns());
}

static int take_line(struct by_strace *s, char *line, size_t bytes, struct mlgen_err *err)
{
	uint64_t unread = s->import.tally.unread;
	int rc = 0;

	s->line++;
	follow_clock(s, line, bytes);
	if (!s->is_long)
		rc = strace_reader_line(s->reader, line, bytes, "strace", s->line, err);
	s->is_long = false;
	if (s->import.tally.unread > unread)
		s->last_ns = clock_monotonic_ns();
	return rc;
}

/* Whole lines; what begins another one goes to the front. */
static int take_lines(struct by_strace *s, struct mlgen_err *err)
{
	char *at = s->text, *end = s->text + s->bytes, *newline;
	int rc = 0;

	while (rc == 0 && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		rc = take_line(s, at, (size_t)(newline - at), err);
		at = newline + 1;
	}
	s->bytes = (size_t)(end - at);
	memmove(s->text, at, s->bytes);
	if (s->bytes == LINES_BYTES) {
		rc = import_unread(&s->import, "strace", s->line + 1, err,
				   "is longer than %u bytes", LINES_BYTES);
		s->is_long = true;
		s->bytes = 0;
	}
	return rc;
}

/* What there is, without waiting: 1 = there may be more, 0, or -errno. */
static int read_lines(struct by_strace *s, struct mlgen_err *err)
{
	uint64_t begin_ns = clock_monotonic_ns();
	ssize_t n;

	capture_clock_look(&s->clock, capture_wall_minus_clock_ns());
	n = read(s->strace.lines, s->text + s->bytes, LINES_BYTES - s->bytes);
	if (n < 0 && errno == EAGAIN) {
		capture_clock_empty(&s->clock, begin_ns);
		return 0;
	}
	if (n < 0)
		return errno == EINTR ? 0 : mlgen_fail(err, -errno, "strace: %s", strerror(errno));
	s->is_over = n == 0;
	s->bytes += (size_t)n;
	int rc = take_lines(s, err);

	return rc < 0 ? rc : n > 0;
}

static void wait_for(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	(void)poll(&p, 1, timeout_ms);
}

/* As many as come in about so long, so that others have their turn. */
static int strace_drain(void *state, int timeout_ms, struct mlgen_err *err)
{
	struct by_strace *s = state;
	uint64_t until = clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	int rc;

	wait_for(s->is_over ? -1 : s->strace.lines, timeout_ms);
	do
		rc = s->is_over ? 0 : read_lines(s, err);
	while (rc > 0 && clock_monotonic_ns() < until);
	return rc < 0 ? rc : 0;
}

static void strace_look(void *state, struct capture_status *status)
{
	const struct by_strace *s = state;
	const struct trace_filled *f = trace_fill_look(s->import.fill);

	*status = (struct capture_status){
		.records = f->records,
		.files = f->files,
		.processes = f->processes,
		.lost = s->import.tally.unread,
		.is_over = s->is_over,
	};
}

/* ---- the end ---- */

static int read_rest(struct by_strace *s, bool was_stopped, struct mlgen_err *err)
{
	uint64_t until = clock_monotonic_ns() + STOP_NS;
	int rc = 0;

	while (rc >= 0 && !s->is_over && clock_monotonic_ns() < until) {
		wait_for(s->strace.lines, 100);
		rc = read_lines(s, err);
	}
	/* The last one may have been cut. Where strace was asked to end it is of a call that has
	 * not ended. */
	if (rc >= 0 && s->bytes && !was_stopped)
		rc = take_line(s, s->text, s->bytes, err);
	return rc < 0 ? rc : 0;
}

static void tell_lost(struct by_strace *s)
{
	uint64_t n = s->import.tally.unread;
	const uint64_t number[] = { TRACE_NONE, n, s->begin_ns, s->last_ns, 0 };

	if (n)
		trace_fill_entry(s->import.fill, TRACE_LOST, number, ARRAY_LEN(number),
				 "a line of strace could not be read");
}

static int strace_stop(void *state, struct capture_status *status, struct buf *notes,
		       struct mlgen_err *err)
{
	struct by_strace *s = state;
	bool was_stopped = !s->is_over;
	int rc, ended;

	if (was_stopped)
		strace_attached_stop(&s->strace);
	rc = read_rest(s, was_stopped, err);
	if (rc == 0)
		rc = strace_reader_end(s->reader, err);
	if (!s->is_over)
		strace_attached_kill(&s->strace);
	ended = strace_attached_end(&s->strace, was_stopped, err);
	tell_lost(s);
	strace_look(s, status);
	buf_add(notes, buf_str(&s->import.tally.first_unread));
	buf_add(notes, buf_str(&s->import.tally.notes));
	return rc < 0 ? rc : ended;
}

static void strace_free(void *state)
{
	struct by_strace *s = state;
	struct mlgen_err unused = { 0 };

	if (!s)
		return;
	strace_attached_kill(&s->strace);
	(void)strace_attached_end(&s->strace, true, &unused);
	strace_reader_free(s->reader);
	trace_fill_abandon(s->import.fill);
	import_tally_fini(&s->import.tally);
	mem_free(s->text);
	mem_free(s);
}

const struct capture_backend capture_strace = {
	.name = "strace",
	.blind_to = "page faults, the page cache, devices, io_uring and CPU time; it has offsets "
		    "of read() by a model",
	.probe = strace_probe,
	.open = strace_open,
	.follow = strace_follow,
	.attach = strace_attach,
	.drain = strace_drain,
	.look = strace_look,
	.stop = strace_stop,
	.free = strace_free,
};
