/* SPDX-License-Identifier: Apache-2.0 */
/* capture_strace.c - the way to record that needs no rights: strace, whose lines are read as they
 * come. */
#include "tracing/capture/capture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "tracing/capture/capture_clock.h"
#include "tracing/capture/capture_head.h"
#include "tracing/capture/capture_whom.h"
#include "tracing/capture/strace_attached.h"
#include "tracing/import/strace.h"
#include "trace/trace.h"

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
