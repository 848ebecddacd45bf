/* SPDX-License-Identifier: Apache-2.0 */
/* capture.c - record a command, or what runs already, from the first check to the exit status. */
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
#include "base/printable.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "io/host.h"
#include "io/mount.h"
#include "report/output/output.h"
#include "trace/trace.h"
#include "tracing/describe/describe.h"

struct capture_head {
	const char *path; /* of the trace, for messages */
	int fd;           /* its file, of which nothing stays */
	const struct host *host;
	const char *backend; /* "bpf" */
	const char *user;    /* that the command runs as; NULL = not known */
};

/* Looks at two clocks take less. */
#define LOOK_NS 10000

/* Nearest when nothing ran in between. */
uint64_t capture_wall_minus_clock_ns(void)
{
	uint64_t best = 0, least = UINT64_MAX;

	for (int i = 0; i < 3 && least > LOOK_NS; i++) {
		uint64_t before = clock_monotonic_ns(), wall = clock_wall_ns();
		uint64_t took = clock_monotonic_ns() - before;

		if (took < least)
			best = wall - before - took / 2;
		least = u64_min(least, took);
	}
	return best;
}

static void put_fact(void *fill, const char *key, const char *value)
{
	if (has_text(value))
		trace_fill_fact(fill, key, value);
}

/* What a program prints is no data of its. */
static void put_output(struct trace_fill *fill, const char *key, int fd)
{
	char link[32], path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	put_fact(fill, key, path);
}

static void put_mount(void *fill, const struct mount_listed *m)
{
	const uint64_t number[] = { (uint64_t)m->dev };
	struct buf text = { 0 };

	mount_put_text(&text, m->type, m->target, m->source);
	trace_fill_entry(fill, TRACE_MOUNT, number, ARRAY_LEN(number), buf_str(&text));
	buf_fini(&text);
}

static void put_all(struct trace_fill *fill, const struct capture_head *h)
{
	host_facts(h->host, put_fact, fill);
	put_fact(fill, "capture", h->backend);
	put_fact(fill, "user", h->user);
	put_output(fill, "stdout", STDOUT_FILENO);
	put_output(fill, "stderr", STDERR_FILENO);
	mount_each(put_mount, fill);
}

/* A writer that has head, facts and all mounts of this host. 0 or -errno with err. */
static int capture_head_write(struct trace_writer **out, const struct capture_head *h,
			      struct mlgen_err *err)
{
	struct trace_head head = { .wall_ns = clock_wall_ns(), .clock_ns = clock_monotonic_ns() };
	struct trace_fill *fill;
	int rc;

	/* Without it, two that are read together would only seem to be of one run. */
	if (getrandom(head.run_id, sizeof(head.run_id), GRND_NONBLOCK) < 0)
		memset(head.run_id, 0, sizeof(head.run_id));
	if (ftruncate(h->fd, 0) < 0)
		return mlgen_fail(err, -errno, "output=%s: %s", h->path, strerror(errno));
	rc = trace_writer_new(out, h->fd, h->path, &head, err);
	if (rc < 0)
		return rc;
	fill = trace_fill_over(*out);
	put_all(fill, h);
	trace_fill_abandon(fill);
	trace_writer_flush(*out);
	return 0;
}

/* What is told of the device is a matter of the trace, from so much on. */
#define SHARE 0.1
#define SHARE_BYTES (UINT64_C(1) << 20)

static void each_line(const char *text, void (*put)(const char *line, int len))
{
	while (*text) {
		int len = (int)strcspn(text, "\n");

		put(text, len);
		text += len + (text[len] == '\n');
	}
}

static void put_note(const char *line, int len)
{
	if (len)
		log_note("%.*s", len, line);
}

static void put_plain(const char *line, int len)
{
	log_plain("%.*s", len, line);
}

/* What back ends could not see, a line each. */
static void capture_tell_notes(const struct buf *notes)
{
	each_line(buf_str(notes), put_note);
}

/* Of what was read of files that are still there: on this device. */
static uint64_t read_from(const struct description *d, dev_t dev)
{
	const struct described_trace *t = &d->figures.trace;
	const struct described_file *files = t->top_files.items;
	uint64_t bytes = 0;
	struct stat st;

	for (size_t i = 0; i < t->top_files.count; i++)
		if (files[i].path && *files[i].path == '/' && lstat(files[i].path, &st) == 0 &&
		    st.st_dev == dev && S_ISREG(st.st_mode))
			bytes += files[i].read_bytes;
	return bytes;
}

/* The writes of the trace are among those of the device then. */
static void tell_device(const struct description *d, const char *path)
{
	uint64_t all = d->figures.trace.read_bytes;
	uint64_t there;
	struct stat st;

	/* Device numbers without a major are of no device: memory, network. */
	if (!all || stat(path, &st) < 0 || major(st.st_dev) == 0)
		return;
	there = read_from(d, st.st_dev);
	if (there >= SHARE_BYTES && (double)there > SHARE * (double)all)
		log_note("%s lies on the device that was read from, which wrote it meanwhile; "
			 "-o FILE elsewhere leaves it to what is recorded",
			 path);
}

static void tell_more(const char *path)
{
	struct buf word = { 0 };

	shellword_add(&word, path);
	log_plain("%s: mltrace describe %s shows more", path, buf_str(&word));
	buf_fini(&word);
}

static void capture_report_tell(const struct description *d, bool quiet)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (!to)
		return;
	describe_brief(to, d, quiet);
	(void)fclose(to);
	each_line(text, put_plain);
	free(text);
}

/*
 * The short description of a trace, and how to see more of it; with `quiet` its first line. Says so
 * if much of what was read lies on the device that the trace lies on. What cannot be described is
 * told.
 */
static void capture_describe(const char *path, bool quiet)
{
	struct description d = { 0 };
	struct mlgen_err err = { 0 };

	log_progress("%s is looked through ...", path);
	if (describe_trace(&d, &path, 1, NS_PER_S, &err) == 0) {
		capture_report_tell(&d, quiet);
		tell_device(&d, path);
		tell_more(path);
	} else {
		log_error("%s", err.text);
	}
	description_fini(&d);
}

struct capture {
	const struct capture_args *args;
	char *const *command; /* NULL = it runs already */
	struct capture_user user;
	struct buf cgroup;
	const struct capture_backend *backend;
	struct capture_config cfg;
	struct tracefile file;
	struct capture_child child;
	struct capture_watch watch;
	bool is_incomplete;
	bool is_without; /* the command could not be executed */
};

/* ---- whom, and how ---- */

static int find_whom(struct capture *c, struct mlgen_err *err)
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

static void warn_client(const struct capture *c)
{
	const char *client = c->command ? capture_is_client(*c->command) : NULL;

	if (client)
		log_warn("%s has another program run the command, of which little or nothing is "
			 "recorded; start the container, then: mltrace record -o %s --cgroup=PATH, "
			 "with the PATH that /proc/PID/cgroup of a process in it has",
			 client, c->args->output);
}

/* Without rights strace would say that, too, and later. */
static int check_owner(const struct capture *c, struct mlgen_err *err)
{
	uid_t owner;

	if (!c->args->pid || geteuid() == 0 || capture_pid_owner(c->cfg.pid, &owner) < 0 ||
	    owner == geteuid())
		return 0;
	return mlgen_fail(err, -EPERM,
			  "pid=%d: belongs to user %u; only root may trace processes of others, "
			  "begin with sudo",
			  (int)c->cfg.pid, (unsigned)owner);
}

static int fall_back(struct capture *c, const struct mlgen_err *why, struct mlgen_err *err)
{
	struct mlgen_err lacks = { 0 };

	c->backend = &capture_strace;
	if (capture_strace.probe(&lacks) < 0)
		return mlgen_fail(err, lacks.code,
				  "capture: neither BPF nor strace can record here. %s. %s",
				  why->text, lacks.text);
	log_note("%s", why->text);
	log_note("strace records instead: it slows programs down, and cannot see %s",
		 capture_strace.blind_to);
	return check_owner(c, err);
}

static int choose_backend(struct capture *c, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int wanted = c->args->backend;
	int rc;

	c->backend = wanted == CAPTURE_STRACE ? &capture_strace : &capture_bpf;
	rc = c->backend->probe(&why);
	if (rc < 0 && wanted == CAPTURE_AUTO)
		return fall_back(c, &why, err);
	if (rc < 0)
		return mlgen_fail(err, rc, "backend=%s: %s", c->backend->name, why.text);
	return c->backend == &capture_strace ? check_owner(c, err) : 0;
}

/* ---- the file ---- */

static int check_place(const struct place *p, bool force, struct mlgen_err *err)
{
	int rc = tracefile_check(p, force, err);

	if (rc < 0)
		return rc;
	/* The command writes there, or mlgen its messages. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (!p->is_handed_over && place_is_fd(p, fd))
			return mlgen_fail(err, -EINVAL,
					  "output=%s: is also a standard file of the command; "
					  "name another file",
					  p->given);
	return 0;
}

static int open_file(struct capture *c, struct mlgen_err *err)
{
	struct place p = { .fd = -1 };
	int rc = place_open(&p, "output", c->args->output, err);

	if (rc == 0)
		rc = check_place(&p, c->args->force, err);
	if (rc == 0)
		rc = tracefile_open(&c->file, &p, err);
	place_close(&p);
	return rc;
}

static int open_writer(struct capture *c, struct mlgen_err *err)
{
	const struct passwd *pw = getpwuid(geteuid());
	const struct capture_head head = {
		.path = c->args->output,
		.fd = c->file.fd,
		.host = c->args->host,
		.backend = c->backend->name,
		.user = !c->command    ? NULL
			: c->user.name ? c->user.name
			: pw           ? pw->pw_name
				       : NULL,
	};

	c->cfg.buffer_bytes = c->args->buffer_bytes;
	c->cfg.wall_minus_clock_ns = capture_wall_minus_clock_ns();
	return capture_head_write(&c->cfg.writer, &head, err);
}

/* ---- recording ---- */

/* The command is there, and waits, before it is followed. */
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
		capture_child_go(&c->child);
	return rc;
}

static void tell_end(struct capture *c)
{
	char time[UNITS_TEXT_BYTES];
	bool goes_on = c->command && !capture_child_look(&c->child);

	if (c->watch.end == CAPTURE_TIME)
		log_note("%s are over, and so is the recording%s",
			 units_put_time(time, c->args->duration_ns),
			 goes_on ? "; the command goes on" : "");
	else if (c->watch.end == CAPTURE_SIGNALED && goes_on)
		log_note("interrupted: the recording is over; the command still runs");
}

/* What is lost, and why it is no whole trace. */
static void fail_trace(struct capture *c, const struct mlgen_err *err)
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
		fail_trace(c, &err);
	capture_tell_notes(&notes);
	if (s->lost) {
		c->is_incomplete = true;
		log_warn("%s: %" PRIu64 " event%s lost, which the trace counts; a larger --buffer, "
			 "or a CPU left to mlgen, may keep all",
			 c->args->output, s->lost, s->lost == 1 ? " was" : "s were");
	}
	buf_fini(&notes);
}

/* Also one to which nothing was recorded is whole. */
static void close_trace(struct capture *c)
{
	struct mlgen_err err = { 0 };
	struct trace_written written;
	int rc;

	if (trace_writer_finish(c->cfg.writer, &written, &err) < 0)
		fail_trace(c, &err);
	c->cfg.writer = NULL;
	rc = tracefile_close(&c->file);
	if (rc < 0 && !err.code) {
		mlgen_fail(&err, rc, "output=%s: %s", c->args->output, strerror(-rc));
		fail_trace(c, &err);
	}
}

static void capture_record(struct capture *c)
{
	struct capture_watch *w = &c->watch;
	struct mlgen_err err = { 0 };

	w->backend = c->backend;
	w->cfg = &c->cfg;
	w->fd = c->file.fd;
	w->duration_ns = c->args->duration_ns;
	w->child = c->command ? &c->child : NULL;
	capture_line_begin(&w->line, c->args->eta, clock_monotonic_ns());
	if (capture_watch(w, &err) < 0)
		fail_trace(c, &err);
	capture_line_erase(&w->line);
	stop_backend(c);
	close_trace(c);
	tell_end(c);
	capture_watch_child(w);
}

/* ---- what is said of it ---- */

static int command_status(struct capture *c)
{
	struct mlgen_err err = { 0 };
	int status = capture_child_status(&c->child, *c->command, &err);

	c->is_without = err.code != 0;
	if (c->is_without)
		log_error("%s", err.text);
	return status == EXIT_RAN && c->is_incomplete ? EXIT_FAILED : status;
}

static int status_of(struct capture *c)
{
	if (c->command)
		return command_status(c);
	if (c->watch.end == CAPTURE_SIGNALED)
		return EXIT_INTERRUPTED;
	return c->is_incomplete ? EXIT_FAILED : EXIT_RAN;
}

/* ---- all of it ---- */

static int capture_prepare(struct capture *c, struct mlgen_err *err)
{
	int rc = find_whom(c, err);

	if (rc == 0)
		rc = choose_backend(c, err);
	if (rc == 0)
		rc = open_file(c, err);
	if (rc == 0)
		rc = open_writer(c, err);
	if (rc == 0)
		rc = capture_begin(c, err);
	return rc;
}

/* It takes its time where the trace is long, and may be interrupted. */
static void describe(struct capture *c)
{
	const struct timespec at_once = { 0 };

	/* What came with the end of the recording was of that. */
	while (signals_next(&at_once, NULL) > 0)
		;
	signals_attend(SIGNALS_UNSEEN);
	capture_describe(c->args->output, c->args->quiet);
}

static void capture_fini(struct capture *c)
{
	struct mlgen_err unused = { 0 };

	if (c->backend && c->watch.state)
		c->backend->free(c->watch.state);
	capture_child_fini(&c->child);
	if (c->cfg.writer)
		(void)trace_writer_finish(c->cfg.writer, NULL, &unused);
	(void)tracefile_close(&c->file);
	capture_user_fini(&c->user);
	buf_fini(&c->cgroup);
}

/* Is there exactly one target, and does it go with the other options? */
static int check_request(const struct capture_args *q, struct mlgen_err *err)
{
	const char *running = q->pid ? "pid" : "cgroup";
	uint64_t below = 1;

	if (q->pid && q->cgroup)
		return mlgen_fail(err, -EINVAL,
				  "pid: and cgroup name what is recorded, each of them; leave out "
				  "one");
	if (q->command && (q->pid || q->cgroup))
		return mlgen_fail(err, -EINVAL,
				  "%s: records what runs already, and a command follows --; leave "
				  "out one of them",
				  running);
	if (q->user && (q->pid || q->cgroup))
		return mlgen_fail(err, -EINVAL,
				  "user: is of a command, and --%s records what runs already",
				  running);
	if (q->command && !*q->command)
		return mlgen_fail(err, -EINVAL,
				  "record: nothing follows --; write mltrace record -o %s -- "
				  "COMMAND ARGUMENTS...",
				  q->output);
	if (!q->command && !q->pid && !q->cgroup)
		return mlgen_fail(
			err, -EINVAL,
			"record: of what? Write mltrace record -o %s -- COMMAND "
			"ARGUMENTS..., or --pid=PID or --cgroup=PATH of what runs already",
			q->output);
	while (below <= q->buffer_bytes / 2)
		below *= 2;
	if (q->buffer_bytes != below) {
		char given[UNITS_TEXT_BYTES], one[UNITS_TEXT_BYTES], other[UNITS_TEXT_BYTES];

		return mlgen_fail(err, -EINVAL,
				  "buffer: %s is no power of two; the next are %s and %s",
				  units_put_size(given, q->buffer_bytes),
				  units_put_size(one, below), units_put_size(other, 2 * below));
	}
	return 0;
}

int capture_run(const struct capture_args *args)
{
	struct capture c = { .args = args, .command = args->command };
	struct mlgen_err err = { 0 };
	int status = check_request(args, &err) < 0 ? EXIT_USAGE
		     : c.command                   ? capture_command_check(*c.command, &err)
						   : 0;

	if (status) {
		log_error("%s", err.text);
		return status;
	}
	signals_attend(SIGNALS_WATCHED);
	warn_client(&c);
	if (capture_prepare(&c, &err) < 0) {
		log_error("%s", err.text);
		status = EXIT_USAGE;
	} else {
		capture_record(&c);
		status = status_of(&c);
		if (!c.is_without)
			describe(&c);
	}
	capture_fini(&c);
	return status;
}
