/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - --log: one row per interval and job. */
#include "report/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "io/host.h"

#define NS_PER_SEC 1e9

struct csv {
	FILE *to;
	struct buf row;
	char *path;
	bool was_made;   /* by csv_open: there was none */
	bool is_emptied; /* before the first row */
	int failed;      /* -errno of the first failed write */
	bool started;
	uint64_t start_ns; /* of the column `seconds` */
	/* The CPUs are those of the host: read once per interval, however many
	 * jobs have a row for it. */
	uint64_t cpu_at_ns;
	uint64_t cpu_wall_ns; /* CLOCK_MONOTONIC of that reading */
	struct host_cpu cpu;
	double cpu_percent;
};

struct csv_interval {
	const struct live *now, *before;
	struct timespec wall;
	double seconds;
	double cpu_percent;
	uint64_t resident_bytes, page_cache_bytes;
};

/* The interval in which a job ends still holds what it did last. */
static bool was_in(const struct csv_interval *i, enum live_phase phase)
{
	return i->now->phase == phase ||
	       (i->now->phase == LIVE_DONE && i->before->phase == phase);
}

static bool is_train(const struct csv_interval *i)
{
	/* Between epochs as well: what the last one did is in this interval. */
	return was_in(i, LIVE_TRAIN) || was_in(i, LIVE_DROP);
}

/* Also one that began and ended within the interval. */
static bool is_io(const struct csv_interval *i)
{
	return i->now->is_io &&
	       (i->now->phase == LIVE_IO || i->now->phase == LIVE_DONE);
}

static bool is_checkpoint(const struct csv_interval *i)
{
	return was_in(i, LIVE_CHECKPOINT);
}

static bool is_prepare(const struct csv_interval *i)
{
	return was_in(i, LIVE_PREPARE);
}

static void put_u64(struct buf *out, uint64_t v)
{
	buf_addf(out, "%" PRIu64, v);
}

/* Counters only grow; a look that lags behind the other is no progress. */
static uint64_t gained(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Percent of the steps that were finished in the interval; 0 without one. */
static void put_step_share(struct buf *out, const struct csv_interval *i,
			   uint64_t now_ns, uint64_t before_ns)
{
	uint64_t steps_ns = gained(i->now->step_ns, i->before->step_ns);
	double part = (double)gained(now_ns, before_ns);
	double percent = steps_ns ? part / (double)steps_ns * 100 : 0;
	buf_addf(out, "%.2f", percent < 100 ? percent : 100.0);
}

static void put_time(struct buf *out, const struct csv_interval *i)
{
	char text[32] = "";
	struct tm utc;
	if (gmtime_r(&i->wall.tv_sec, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	buf_addf(out, "%s.%03ldZ", text, i->wall.tv_nsec / 1000000);
}

static void put_seconds(struct buf *out, const struct csv_interval *i)
{
	buf_addf(out, "%.3f", i->seconds);
}

/* Quoted only where a comma or quote in the name asks for it; a row is a line
 * that can be followed on a terminal. */
static void put_job(struct buf *out, const struct csv_interval *i)
{
	struct buf shown = { 0 };
	printable_add(&shown, i->now->job_name);
	if (!strpbrk(buf_str(&shown), ",\"")) {
		buf_add(out, buf_str(&shown));
		buf_fini(&shown);
		return;
	}
	buf_addc(out, '"');
	for (const char *name = buf_str(&shown); *name; name++) {
		if (*name == '"')
			buf_addc(out, '"');
		buf_addc(out, *name);
	}
	buf_addc(out, '"');
	buf_fini(&shown);
}

static void put_phase(struct buf *out, const struct csv_interval *i)
{
	static const char *const names[] = {
		[LIVE_WAIT] = "wait",
		[LIVE_PREPARE] = "prepare",
		[LIVE_DROP] = "drop",
		[LIVE_TRAIN] = "train",
		[LIVE_IO] = "io",
		[LIVE_DONE] = "done",
		[LIVE_CHECKPOINT] = "checkpoint",
	};
	buf_add(out, names[i->now->phase]);
}

static void put_epoch(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i))
		put_u64(out, i->now->epoch);
}

static void put_step(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i))
		put_u64(out, i->now->step);
}

static void put_samples(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i))
		put_u64(out, gained(i->now->samples, i->before->samples));
}

static void put_sample_bytes(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i))
		put_u64(out,
			gained(i->now->sample_bytes, i->before->sample_bytes));
}

static void put_io_bytes(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i))
		put_u64(out, gained(i->now->io_bytes, i->before->io_bytes));
	else if (is_prepare(i))
		put_u64(out, gained(i->now->bytes_done, i->before->bytes_done));
}

static void put_au(struct buf *out, const struct csv_interval *i)
{
	/* Steps, and none of them computes: there is no AU. */
	if (is_train(i) && (i->now->compute_ns > 0 || i->now->step_ns == 0))
		put_step_share(out, i, i->now->compute_ns,
			       i->before->compute_ns);
}

static void put_stall(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i))
		put_step_share(out, i, i->now->stall_ns, i->before->stall_ns);
}

/* 0: /proc is not mounted. */
static void put_known(struct buf *out, uint64_t bytes)
{
	if (bytes)
		put_u64(out, bytes);
}

static void put_cpu(struct buf *out, const struct csv_interval *i)
{
	if (!isnan(i->cpu_percent))
		buf_addf(out, "%.2f", i->cpu_percent);
}

static void put_resident(struct buf *out, const struct csv_interval *i)
{
	put_known(out, i->resident_bytes);
}

static void put_page_cache(struct buf *out, const struct csv_interval *i)
{
	put_known(out, i->page_cache_bytes);
}

static void put_gained(struct buf *out, const struct csv_interval *i,
		       uint64_t now, uint64_t before)
{
	if (is_io(i))
		put_u64(out, gained(now, before));
}

static void put_read_ios(struct buf *out, const struct csv_interval *i)
{
	put_gained(out, i, i->now->io_ios[0], i->before->io_ios[0]);
}

static void put_write_ios(struct buf *out, const struct csv_interval *i)
{
	put_gained(out, i, i->now->io_ios[1], i->before->io_ios[1]);
}

static void put_read_bytes(struct buf *out, const struct csv_interval *i)
{
	put_gained(out, i, i->now->io_moved[0], i->before->io_moved[0]);
}

static void put_write_bytes(struct buf *out, const struct csv_interval *i)
{
	put_gained(out, i, i->now->io_moved[1], i->before->io_moved[1]);
}

/* Of a training only while one is under way. */
static void put_checkpoint(struct buf *out, const struct csv_interval *i)
{
	if (is_checkpoint(i) || i->now->is_checkpointing)
		put_u64(out, i->now->checkpoint);
}

/* All checkpoints are alike: so far, of those before and of this one. */
static uint64_t checkpoint_bytes(const struct live *l)
{
	uint64_t before = l->checkpoint > 0 ? l->checkpoint - 1 : 0;
	return before * l->checkpoint_bytes + l->checkpoint_done;
}

static void put_checkpoint_bytes(struct buf *out, const struct csv_interval *i)
{
	if (is_checkpoint(i) || i->now->checkpoint > 0)
		put_u64(out, gained(checkpoint_bytes(i->now),
				    checkpoint_bytes(i->before)));
}

static void put_errors(struct buf *out, const struct csv_interval *i)
{
	if (is_train(i) || is_io(i))
		put_u64(out, gained(i->now->errors, i->before->errors));
}

const struct csv_column csv_columns[] = {
	{ "time", "End of the interval, ISO 8601, UTC.", put_time },
	{ "seconds", "The same in seconds since the start of the log.",
	  put_seconds },
	{ "job", "Name of the job.", put_job },
	{ "phase",
	  "What the job is at: wait, prepare, drop (its files leave "
	  "the page cache), train, io (a plain job), checkpoint (one is "
	  "saved or restored) or done.",
	  put_phase },
	{ "epoch", "The epoch under way, from 1.", put_epoch },
	{ "step", "The step of this epoch that rank 0 is at, from 1.",
	  put_step },
	{ "samples",
	  "Samples taken by accelerators in the interval, without those "
	  "that failed.",
	  put_samples },
	{ "sample_bytes", "Their payload, in bytes.", put_sample_bytes },
	{ "io_bytes",
	  "Bytes read in the interval as transferred; of a "
	  "preparation or layout, bytes written.",
	  put_io_bytes },
	{ "au_percent",
	  "Compute, on samples that did not fail, as a percentage of the "
	  "steps that ended in the interval; 0 when none did, empty where "
	  "nothing is "
	  "computed.",
	  put_au },
	{ "stall_percent", "Stall as a percentage of the same steps.",
	  put_stall },
	{ "cpu_percent",
	  "How busy the allowed CPUs of this host were, with "
	  "all processes.",
	  put_cpu },
	{ "resident_bytes", "Memory that mlgen holds.", put_resident },
	{ "page_cache_bytes", "Page cache of this host.", put_page_cache },
	{ "read_ios", "Reads that a plain job completed in the interval.",
	  put_read_ios },
	{ "write_ios", "Writes that it completed.", put_write_ios },
	{ "read_bytes", "Bytes that it read.", put_read_bytes },
	{ "write_bytes", "Bytes that it wrote.", put_write_bytes },
	{ "checkpoint", "The checkpoint under way, from 1.", put_checkpoint },
	{ "checkpoint_bytes",
	  "Bytes of checkpoints that were written, or read, in the interval.",
	  put_checkpoint_bytes },
	{ "errors", "Errors that continue_on_error counted in the interval.",
	  put_errors },
	{ 0 },
};

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void read_cpu(struct csv *c, uint64_t now_ns)
{
	struct host_cpu cpu;
	uint64_t wall_ns = monotonic_ns();
	host_cpu_read(&cpu);
	c->cpu_percent = host_cpu_percent(&c->cpu, &cpu,
					  gained(wall_ns, c->cpu_wall_ns));
	c->cpu = cpu;
	c->cpu_wall_ns = wall_ns;
	c->cpu_at_ns = now_ns;
}

/* Rows of several jobs come right behind each other. */
static bool cpu_is_recent(const struct csv *c, uint64_t now_ns,
			  uint64_t before_ns)
{
	return c->cpu_at_ns != 0 &&
	       gained(now_ns, c->cpu_at_ns) * 2 < gained(now_ns, before_ns);
}

/* A row goes out whole or not at all; what fails first is kept. */
static void write_row(struct csv *c)
{
	buf_addc(&c->row, '\n');
	errno = 0;
	if ((fputs(buf_str(&c->row), c->to) < 0 || fflush(c->to) != 0) &&
	    c->failed == 0)
		c->failed = errno ? -errno : -EIO;
	buf_reset(&c->row);
}

static void start(struct csv *c, uint64_t now_ns)
{
	struct stat st;
	c->started = true;
	c->start_ns = now_ns;
	if (c->is_emptied && fstat(fileno(c->to), &st) == 0 &&
	    S_ISREG(st.st_mode) && ftruncate(fileno(c->to), 0) < 0)
		c->failed = -errno;
	buf_reset(&c->row);
	for (const struct csv_column *col = csv_columns; col->name; col++)
		buf_addf(&c->row, "%s%s", col == csv_columns ? "" : ",",
			 col->name);
	write_row(c);
}

static int open_place(struct csv *c, struct place *p, struct mlgen_err *err)
{
	int rc = 0;
	c->path = mem_strdup(p->path ? p->path : p->given);
	c->was_made = p->kind == PLACE_NEW;
	/* A descriptor of another program's: what is before it is not ours. */
	c->is_emptied = p->kind != PLACE_STREAM && !p->is_handed_over;
	if (c->was_made)
		rc = place_make(p, err);
	else if (c->is_emptied)
		rc = place_lock(p, err);
	if (rc < 0)
		return rc;
	c->to = fdopen(p->fd, "w");
	if (!c->to)
		return mlgen_fail(err, -errno, "log=%s: %s", p->given,
				  strerror(errno));
	p->fd = -1;
	return 0;
}

int csv_open(struct csv **out, struct place *p, struct mlgen_err *err)
{
	struct csv *c = mem_zalloc(sizeof(*c));
	int rc = open_place(c, p, err);
	place_close(p);
	*out = NULL;
	if (rc < 0) {
		mem_free(c->path);
		mem_free(c);
		return rc;
	}
	buf_init(&c->row);
	host_cpu_read(&c->cpu);
	c->cpu_wall_ns = monotonic_ns();
	*out = c;
	return 0;
}

void csv_row(struct csv *c, const struct live *now, const struct live *before)
{
	struct csv_interval i = { .now = now, .before = before };
	if (!c->started)
		start(c, before->now_ns);
	if (!cpu_is_recent(c, now->now_ns, before->now_ns))
		read_cpu(c, now->now_ns);
	clock_gettime(CLOCK_REALTIME, &i.wall);
	i.seconds = (double)gained(now->now_ns, c->start_ns) / NS_PER_SEC;
	i.cpu_percent = c->cpu_percent;
	i.resident_bytes = host_resident_bytes();
	i.page_cache_bytes = host_page_cache_bytes();
	for (const struct csv_column *col = csv_columns; col->name; col++) {
		if (col != csv_columns)
			buf_addc(&c->row, ',');
		col->put(&c->row, &i);
	}
	write_row(c);
}

int csv_close(struct csv *c)
{
	if (!c)
		return 0;
	int rc = c->failed;
	if (fclose(c->to) != 0 && rc == 0)
		rc = -errno;
	if (c->was_made && !c->started)
		unlink(c->path);
	buf_fini(&c->row);
	mem_free(c->path);
	mem_free(c);
	return rc;
}
