/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - one recording, from the first check of its arguments to the exit status. */
#include "tracing/capture/capture_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "io/host.h"
#include "io/devices.h"
#include "report/output/output.h"
#include "trace/trace.h"
#include "tracing/describe/describe.h"

struct capture {
	const struct capture_args *args;
	char *const *command; /* NULL = the target runs already */
	struct capture_user user;
	struct buf cgroup;
	const struct capture_backend *backend;
	struct capture_config cfg;
	struct tracefile file;
	struct capture_child child;
	struct capture_watch watch;
	bool is_incomplete;
	bool is_not_executed; /* the command could not be executed */
};

/* Reading both clocks takes less time than this, unless another thread runs in between. */
#define CLOCKS_READ_NS 10000

uint64_t capture_wall_minus_clock_ns(void)
{
	uint64_t best = 0, least = UINT64_MAX;

	/* The shortest of three attempts is the most exact. */
	for (int i = 0; i < 3 && least > CLOCKS_READ_NS; i++) {
		uint64_t before = clock_monotonic_ns(), wall = clock_wall_ns();
		uint64_t took = clock_monotonic_ns() - before;

		if (took < least)
			best = wall - before - took / 2;
		least = u64_min(least, took);
	}
	return best;
}

/* ---- target and backend ---- */

static int find_target(struct capture *c, struct mlgen_err *err)
{
	const struct capture_args *s = c->args;

	c->cfg.whose = s->pid ? CAPTURE_PID : s->cgroup ? CAPTURE_CGROUP : CAPTURE_COMMAND;
	if (s->pid) {
		c->cfg.pid = s->pid;
		return capture_pid_check(c->cfg.pid, err);
	}
	if (s->cgroup) {
		int rc = capture_cgroup_find(&c->cgroup, s->cgroup, err);

		c->cfg.cgroup = buf_str(&c->cgroup);
		return rc;
	}
	return s->user ? capture_user_find(&c->user, s->user, err) : 0;
}

static int choose_backend(struct capture *c, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 }, missing = { 0 };
	int wanted = c->args->backend;
	uid_t owner;
	int rc;

	c->backend = wanted == CAPTURE_STRACE ? &capture_strace : &capture_bpf;
	rc = c->backend->probe(&why);
	if (rc < 0 && wanted != CAPTURE_AUTO)
		return mlgen_fail(err, rc, "backend=%s: %s", c->backend->name, why.text);
	if (rc < 0) {
		c->backend = &capture_strace;
		if (capture_strace.probe(&missing) < 0)
			return mlgen_fail(err, missing.code,
					  "capture: neither BPF nor strace can record here. %s. %s",
					  why.text, missing.text);
		log_note("%s", why.text);
		log_note("strace records instead: it slows programs down, and does not see %s",
			 capture_strace.blind_to);
	}
	/* strace would report missing rights only later, when it attaches. */
	if (c->backend != &capture_strace || !c->args->pid || geteuid() == 0 ||
	    capture_pid_owner(c->cfg.pid, &owner) < 0 || owner == geteuid())
		return 0;
	return mlgen_fail(err, -EPERM,
			  "pid=%d: belongs to user %u; only root may trace processes of other "
			  "users; run mltrace under sudo",
			  (int)c->cfg.pid, (unsigned)owner);
}

/* ---- the trace ---- */

static int open_file(struct capture *c, struct mlgen_err *err)
{
	struct place p = { .fd = -1 };
	int rc = place_open(&p, "output", c->args->output, err);

	if (rc == 0)
		rc = tracefile_check(&p, c->args->force, err);
	/* The command uses its standard files, and mltrace prints messages to them. */
	for (int fd = STDIN_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++)
		if (!p.is_handed_over && place_is_fd(&p, fd))
			rc = mlgen_fail(err, -EINVAL,
					"output=%s: is also a standard file of the command; "
					"name another file",
					p.given);
	if (rc == 0)
		rc = tracefile_open(&c->file, &p, err);
	place_close(&p);
	return rc;
}

static void add_fact(void *fill, const char *key, const char *value)
{
	if (has_text(value))
		trace_fill_fact(fill, key, value);
}

/* Note the path of a standard file, so that the program's messages are not taken for its data. */
static void add_standard_file(struct trace_fill *fill, const char *key, int fd)
{
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	add_fact(fill, key, path);
}

static void add_mount(void *fill, const struct mount_listed *m)
{
	const uint64_t number[] = { (uint64_t)m->dev };
	struct buf text = { 0 };

	mount_append_text(&text, m->type, m->target, m->source);
	trace_fill_entry(fill, TRACE_MOUNT, number, ARRAY_LEN(number), buf_str(&text));
	buf_fini(&text);
}

/* Begin the trace: its head, and the facts and mounts of this host. 0 or -errno with err. */
static int open_writer(struct capture *c, struct mlgen_err *err)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *path = c->args->output;
	struct trace_head head;
	struct trace_fill *fill;
	int rc;

	c->cfg.buffer_bytes = c->args->buffer_bytes;
	c->cfg.wall_minus_clock_ns = capture_wall_minus_clock_ns();
	head = (struct trace_head){ .wall_ns = clock_wall_ns(), .clock_ns = clock_monotonic_ns() };
	/* A missing id only makes two traces that are read together look like one run. */
	if (getrandom(head.run_id, sizeof(head.run_id), GRND_NONBLOCK) < 0)
		memset(head.run_id, 0, sizeof(head.run_id));
	if (ftruncate(c->file.fd, 0) < 0)
		return mlgen_fail(err, -errno, "output=%s: %s", path, strerror(errno));
	rc = trace_writer_new(&c->cfg.writer, c->file.fd, path, &head, err);
	if (rc < 0)
		return rc;
	fill = trace_fill_append(c->cfg.writer);
	host_facts(c->args->host, add_fact, fill);
	add_fact(fill, "capture", c->backend->name);
	if (c->command)
		add_fact(fill, "user", c->user.name ? c->user.name : pw ? pw->pw_name : NULL);
	add_standard_file(fill, "stdout", STDOUT_FILENO);
	add_standard_file(fill, "stderr", STDERR_FILENO);
	mount_each(add_mount, fill);
	trace_fill_abandon(fill);
	trace_writer_flush(c->cfg.writer);
	return 0;
}

/* ---- the description ---- */

/* Minimum bytes read from the trace's device for a note: as a share of all bytes read, and in
 * total. */
#define NOTE_SHARE 0.1
#define NOTE_BYTES (UINT64_C(1) << 20)

static void log_lines(const char *text, bool are_notes)
{
	while (*text) {
		int len = (int)strcspn(text, "\n");

		if (!are_notes)
			log_plain("%.*s", len, text);
		else if (len)
			log_note("%.*s", len, text);
		text += len + (text[len] == '\n');
	}
}

/* Print a note if the trace was written to a device that the target read much from. Files that no
 * longer exist are ignored. */
static void note_shared_device(const struct description *d, const char *path)
{
	const struct described_trace *t = &d->figures.trace;
	const struct described_file *files = t->top_files.items;
	uint64_t shared_bytes = 0;
	struct stat st, file;

	/* Device numbers without a major are not disks: memory, network. */
	if (!t->read_bytes || stat(path, &st) < 0 || major(st.st_dev) == 0)
		return;
	for (size_t i = 0; i < t->top_files.count; i++)
		if (files[i].path && *files[i].path == '/' && lstat(files[i].path, &file) == 0 &&
		    file.st_dev == st.st_dev && S_ISREG(file.st_mode))
			shared_bytes += files[i].read_bytes;
	if (shared_bytes >= NOTE_BYTES && (double)shared_bytes > NOTE_SHARE * (double)t->read_bytes)
		log_note("%s is on the device that was read from, and was written during the "
			 "recording; -o FILE on another device avoids this",
			 path);
}

/* Print a short description of the trace, and how to see more. This takes long for a long trace,
 * and may be interrupted. */
static void describe(const char *path, bool quiet)
{
	const struct timespec no_wait = { 0 };
	struct description d = { 0 };
	struct mlgen_err err = { 0 };
	struct buf word = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *to;

	/* Signals up to now were meant for the recording. */
	while (signals_next(&no_wait, NULL) > 0)
		;
	signals_set_mode(SIGNALS_UNSEEN);
	log_progress("reading %s ...", path);
	if (describe_trace(&d, &path, 1, NS_PER_S, &err) == 0) {
		to = open_memstream(&text, &bytes);
		if (to) {
			describe_brief(to, &d, quiet);
			(void)fclose(to);
			log_lines(text, false);
			free(text);
		}
		note_shared_device(&d, path);
		shellword_add(&word, path);
		log_plain("%s: mltrace describe %s shows more", path, buf_str(&word));
		buf_fini(&word);
	} else {
		log_error("%s", err.text);
	}
	description_fini(&d);
}

/* ---- recording ---- */

/* Start recording. The command already exists, and waits, when the backend follows it. */
static int capture_begin(struct capture *c, struct mlgen_err *err)
{
	int rc = c->backend->open(&c->watch.state, &c->cfg, err);

	if (rc < 0)
		return rc;
	if (!c->command)
		return c->backend->attach(c->watch.state, err);
	rc = capture_child_start(&c->child, c->command, &c->user, err);
	if (rc == 0)
		rc = c->backend->follow(c->watch.state, c->child.pid, err);
	if (rc == 0)
		capture_child_release(&c->child);
	return rc;
}

static void report_incomplete(struct capture *c, const struct mlgen_err *err)
{
	c->is_incomplete = true;
	log_error("%s", err->text);
}

static void stop_backend(struct capture *c)
{
	struct mlgen_err err = { 0 };
	struct buf notes = { 0 };
	struct capture_status *s = &c->watch.status;

	if (c->backend->stop(c->watch.state, s, &notes, &err) < 0)
		report_incomplete(c, &err);
	log_lines(buf_str(&notes), true);
	if (s->lost) {
		c->is_incomplete = true;
		log_warn("%s: %" PRIu64 " event%s lost; the trace contains their number; a larger "
			 "--buffer, or a CPU reserved for mlgen, may avoid losses",
			 c->args->output, s->lost, s->lost == 1 ? " was" : "s were");
	}
	buf_fini(&notes);
}

/* A trace without any record is complete, too. */
static void close_trace(struct capture *c)
{
	struct mlgen_err err = { 0 };
	struct trace_written written;
	int rc;

	if (trace_writer_finish(c->cfg.writer, &written, &err) < 0)
		report_incomplete(c, &err);
	c->cfg.writer = NULL;
	rc = tracefile_close(&c->file);
	if (rc < 0 && !err.code) {
		mlgen_fail(&err, rc, "output=%s: %s", c->args->output, strerror(-rc));
		report_incomplete(c, &err);
	}
}

static void capture_record(struct capture *c)
{
	struct capture_watch *w = &c->watch;
	char time[UNITS_TEXT_BYTES];
	struct mlgen_err err = { 0 };
	bool still_runs;

	w->backend = c->backend;
	w->cfg = &c->cfg;
	w->fd = c->file.fd;
	w->duration_ns = c->args->duration_ns;
	w->child = c->command ? &c->child : NULL;
	capture_status_line_begin(&w->line, c->args->eta, clock_monotonic_ns());
	if (capture_watch(w, &err) < 0)
		report_incomplete(c, &err);
	capture_status_line_erase(&w->line);
	stop_backend(c);
	close_trace(c);
	still_runs = c->command && !capture_child_has_ended(&c->child);
	if (w->end == CAPTURE_TIMED_OUT)
		log_note("%s have passed, and the recording has ended%s",
			 units_format_time(time, c->args->duration_ns),
			 still_runs ? "; the command continues" : "");
	else if (w->end == CAPTURE_SIGNALED && still_runs)
		log_note("interrupted: the recording has ended; the command still runs");
	capture_watch_child(w);
}

static int exit_status(struct capture *c)
{
	struct mlgen_err err = { 0 };
	int status = EXIT_RAN;

	if (c->command) {
		status = capture_child_status(&c->child, *c->command, &err);
		c->is_not_executed = err.code != 0;
		if (c->is_not_executed)
			log_error("%s", err.text);
	} else if (c->watch.end == CAPTURE_SIGNALED) {
		return EXIT_INTERRUPTED;
	}
	return status == EXIT_RAN && c->is_incomplete ? EXIT_FAILED : status;
}

/* ---- the whole recording ---- */

/* Check that there is exactly one target, and that it suits the other options. */
static int check_request(const struct capture_args *q, struct mlgen_err *err)
{
	const char *running = q->pid ? "pid" : "cgroup";
	uint64_t below = 1;

	if (q->pid && q->cgroup)
		return mlgen_fail(
			err, -EINVAL,
			"pid: both pid and cgroup select what is recorded; leave out one of them");
	if (q->command && (q->pid || q->cgroup))
		return mlgen_fail(err, -EINVAL,
				  "%s: records a running target, but a command follows --; leave "
				  "out one of them",
				  running);
	if (q->user && (q->pid || q->cgroup))
		return mlgen_fail(err, -EINVAL,
				  "user: applies to a command, but --%s records a running target",
				  running);
	if (q->command && !*q->command)
		return mlgen_fail(err, -EINVAL,
				  "record: no command follows --; write mltrace record -o %s -- "
				  "COMMAND ARGUMENTS...",
				  q->output);
	if (!q->command && !q->pid && !q->cgroup)
		return mlgen_fail(
			err, -EINVAL,
			"record: no target; write mltrace record -o %s -- COMMAND ARGUMENTS..., or "
			"--pid=PID or --cgroup=PATH for a running target",
			q->output);
	while (below <= q->buffer_bytes / 2)
		below *= 2;
	if (q->buffer_bytes != below) {
		char given[UNITS_TEXT_BYTES], one[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];

		return mlgen_fail(
			err, -EINVAL, "buffer: %s is not a power of two; the nearest are %s and %s",
			units_format_size(given, q->buffer_bytes), units_format_size(one, below),
			units_format_size(other, 2 * below));
	}
	return 0;
}

int capture_run(const struct capture_args *args)
{
	struct capture c = { .args = args, .command = args->command };
	struct mlgen_err err = { 0 }, unused = { 0 };
	int status = check_request(args, &err) < 0 ? EXIT_USAGE
		     : c.command                   ? capture_command_check(*c.command, &err)
						   : 0;
	const char *client;
	int rc;

	if (status) {
		log_error("%s", err.text);
		return status;
	}
	signals_set_mode(SIGNALS_WATCHED);
	client = c.command ? capture_client_name(*c.command) : NULL;
	if (client)
		log_warn("%s makes another program run the command, and mltrace records little or "
			 "nothing of it; start the container, then: mltrace record -o %s "
			 "--cgroup=PATH, with the PATH in /proc/PID/cgroup of a process in the "
			 "container",
			 client, args->output);
	rc = find_target(&c, &err);
	if (rc == 0)
		rc = choose_backend(&c, &err);
	if (rc == 0)
		rc = open_file(&c, &err);
	if (rc == 0)
		rc = open_writer(&c, &err);
	if (rc == 0)
		rc = capture_begin(&c, &err);
	if (rc < 0) {
		log_error("%s", err.text);
		status = EXIT_USAGE;
	} else {
		capture_record(&c);
		status = exit_status(&c);
		if (!c.is_not_executed)
			describe(args->output, args->quiet);
	}

	if (c.backend && c.watch.state)
		c.backend->free(c.watch.state);
	capture_child_fini(&c.child);
	if (c.cfg.writer)
		(void)trace_writer_finish(c.cfg.writer, NULL, &unused);
	(void)tracefile_close(&c.file);
	capture_user_fini(&c.user);
	buf_fini(&c.cgroup);
	return status;
}
