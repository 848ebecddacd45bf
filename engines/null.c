/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - engine: completes everything at once, or as a model of storage would, and touches no
 * file. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <mlgen/engine.h>

#define NS_PER_SEC 1e9

/* Nothing takes longer: the end of time, as a number of ns. */
#define NS_MAX 0x1p62

/* Less is no storage, but a unit that was forgotten. */
#define LEAST_BANDWIDTH 1024

/*
 * A thread wakes later than it asked, and so its next request comes late. The transfers behind it
 * make up for that, or a device with few requests in its queue would be slower than it is said to
 * be; but not for a host that stood still.
 */
#define LATE_MAX_NS UINT64_C(10000000)

#define PAGE_BYTES 4096u

/* Less is no window, but a unit that was forgotten; more is no kernel's. Linux has 128 KiB unless
 * somebody has set read_ahead_kb. */
#define USUAL_READAHEAD (128u << 10)
#define LEAST_READAHEAD PAGE_BYTES
#define MOST_READAHEAD 0x1p30

/*
 * What a reader has just had of a file is in the page cache: libraries look at a header twice. More
 * is not kept, or a small file that is read over and over would be no storage any more.
 */
#define KEPT_BYTES (2 * PAGE_BYTES)

struct null_opts {
	struct mlgen_dist latency;
	uint64_t bandwidth; /* bytes per second; 0 = no limit */
	uint64_t readahead; /* bytes; 0 = none */
};

/* clang-format off */
static const struct mlgen_field null_fields[] = {
	{ "latency", MLGEN_F_TIME_DIST(struct null_opts, latency),
	  .def = "0", .min = 0, .max = 3600e9, .unit = "s", .group = "null",
	  .help = "How long every operation takes, metadata too, but for reads that find what was read ahead; one at a time per worker." },
	{ "bandwidth", MLGEN_F_SIZE(struct null_opts, bandwidth),
	  .def = "0", .unit = "bytes/s", .group = "null",
	  .help = "Bytes per second that all workers of the job share, one request after the other, with latency= on top; 0 is no limit, else 1k or more." },
	{ "readahead", MLGEN_F_SIZE(struct null_opts, readahead),
	  .def = "128k", .max = MOST_READAHEAD, .unit = "bytes", .group = "null",
	  .help = "The window that buffered sequential reads have asked for ahead, as a kernel does: the next one while this one is consumed, a larger request at once. Direct reads have none; 0 is none at all, else 4k or more." },
	{ 0 },
};
/* clang-format on */

/* What all workers of a job queue up for. */
struct device {
	_Atomic uint64_t free_ns; /* when all that was asked for has passed */
	unsigned users;           /* set up and taken down on one thread */
};

/* What is asked for at one time: the bytes of a file before `end`. */
struct window {
	uint64_t end;
	uint64_t asked_ns; /* has its turn at the device from then on */
	uint64_t latency_ns;
	uint64_t ready_ns; /* no byte is there before */
};

/*
 * Where a file is read from one byte to the next: [begin, pos) was. Bytes have their turn at the
 * device when they are consumed, as of the time at which they were asked for: nobody here knows
 * where the file ends, and what lies behind that costs nothing.
 */
struct place {
	uint64_t begin, pos;
	struct window here, next; /* next.end == here.end: not asked for */
};

/* A file that is open. Two places, because an archive's directory is at its end, and its reader
 * comes back. */
#define PLACES 2

struct reading {
	struct place places[PLACES];
	unsigned last; /* that was read at */
};

/* A worker of a job that has a model. file->word is 1 + the place of the file's reading; 0 = it has
 * none. */
struct model {
	struct device *device;
	uint64_t drawn;
	uint64_t late_ns;
	struct reading *readings; /* as many as files may be open */
	unsigned *unused, unused_count;
};

/* When an operation is over: by the model, and for its thread, which may have been late to begin
 * it. */
struct ending {
	uint64_t due_ns, end_ns;
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t add_ns(uint64_t at, uint64_t ns)
{
	return ns < UINT64_MAX - at ? at + ns : UINT64_MAX;
}

static uint64_t transfer_ns(uint64_t bytes, uint64_t bytes_per_sec)
{
	double ns = (double)bytes * NS_PER_SEC / (double)bytes_per_sec + 0.5;

	return ns < NS_MAX ? (uint64_t)ns : (uint64_t)NS_MAX;
}

/*
 * Behind all that is in the queue: with one request each, every worker has its turn. When it has
 * passed. Only the number itself is shared, so that nothing has to be ordered with it.
 */
static uint64_t null_pass(struct device *d, uint64_t asked_ns, uint64_t ns)
{
	uint64_t free_ns = atomic_load_explicit(&d->free_ns, memory_order_relaxed);
	uint64_t end_ns;

	do {
		end_ns = add_ns(later(free_ns, asked_ns), ns);
	} while (!atomic_compare_exchange_weak_explicit(
		&d->free_ns, &free_ns, end_ns, memory_order_relaxed, memory_order_relaxed));
	return end_ns;
}

static uint64_t next_latency(const struct mlgen_ctx *ctx, struct model *m)
{
	const struct null_opts *opts = ctx->opts;

	if (opts->latency.kind == 0)
		return (uint64_t)opts->latency.a;
	return ctx->draw(ctx, &opts->latency, m->drawn++);
}

static struct window ask(const struct mlgen_ctx *ctx, struct model *m, const struct ending *at,
			 uint64_t end)
{
	uint64_t latency_ns = next_latency(ctx, m);

	return (struct window){ .end = end,
				.asked_ns = at->due_ns,
				.latency_ns = latency_ns,
				.ready_ns = add_ns(at->end_ns, latency_ns) };
}

/* No operation takes less than its latency, however late its thread is. */
static void wait_for(const struct mlgen_ctx *ctx, struct ending *at, const struct window *w,
		     uint64_t bytes)
{
	const struct null_opts *opts = ctx->opts;
	struct model *m = ctx->priv;
	uint64_t passed_ns = w->asked_ns;

	if (opts->bandwidth && bytes)
		passed_ns = null_pass(m->device, passed_ns, transfer_ns(bytes, opts->bandwidth));
	at->due_ns = later(at->due_ns, add_ns(passed_ns, w->latency_ns));
	at->end_ns = later(at->end_ns, later(at->due_ns, w->ready_ns));
}

static void do_alone(const struct mlgen_ctx *ctx, struct ending *at, uint64_t bytes)
{
	const struct window w = ask(ctx, ctx->priv, at, 0);

	wait_for(ctx, at, &w, bytes);
}

/* Who comes to a window asks for the next one, and waits for this one then. */
static void read_on(const struct mlgen_ctx *ctx, struct ending *at, struct place *p, uint64_t bytes)
{
	const struct null_opts *opts = ctx->opts;

	while (bytes) {
		uint64_t size = later(bytes, opts->readahead), n;

		if (p->pos == p->here.end) {
			p->here = p->next.end > p->pos ? p->next
						       : ask(ctx, ctx->priv, at, p->pos + size);
			p->next = ask(ctx, ctx->priv, at, p->here.end + size);
		}
		n = p->here.end - p->pos;
		n = bytes < n ? bytes : n;
		wait_for(ctx, at, &p->here, n);
		p->pos += n;
		bytes -= n;
	}
}

/* Which one goes on at `off`, or has just read there; NULL = none. */
static struct place *place_at(struct reading *r, uint64_t off)
{
	for (unsigned i = 0; i < PLACES; i++) {
		struct place *p = &r->places[i];
		uint64_t had = p->pos - p->begin;
		uint64_t kept = had < KEPT_BYTES ? had : KEPT_BYTES;

		if (off > p->pos || off < p->pos - kept)
			continue;
		r->last = i;
		return p;
	}
	return NULL;
}

/* In the stead of the one that was not read at last. */
static struct place *new_place(struct reading *r, uint64_t off)
{
	struct place *p = &r->places[r->last = (r->last + 1) % PLACES];

	*p = (struct place){ .begin = off - off % PAGE_BYTES, .pos = off };
	p->here.end = p->next.end = off;
	return p;
}

/*
 * As Linux does it: a read goes on where one has ended, or begins a file, and has a window; any
 * other is read as it is.
 */
static void read_buffered(const struct mlgen_ctx *ctx, struct ending *at, const struct mlgen_io *op)
{
	struct model *m = ctx->priv;
	struct reading *r = &m->readings[op->file->word - 1];
	struct place *p = place_at(r, op->off);
	uint64_t had;

	if (p) {
		had = p->pos - op->off;
		if (op->len_bytes > had)
			read_on(ctx, at, p, op->len_bytes - had);
		return;
	}
	p = new_place(r, op->off);
	if (op->off == 0) {
		read_on(ctx, at, p, op->len_bytes);
		return;
	}
	p->pos += op->len_bytes;
	p->here = p->next = ask(ctx, m, at, p->pos);
	wait_for(ctx, at, &p->here, op->len_bytes);
}

/* False: the job ends before this one does. */
static bool take_time(const struct mlgen_ctx *ctx, const struct mlgen_io *op)
{
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;
	struct model *m = ctx->priv;
	uint64_t now = ctx->now_ns(ctx);
	struct ending at = { now > m->late_ns ? now - m->late_ns : 0, now };

	if (op->op == MLGEN_READ && m->readings && op->file->word && !(op->file->flags & O_DIRECT))
		read_buffered(ctx, &at, op);
	else
		do_alone(ctx, &at, moves ? op->len_bytes : 0);
	if (at.end_ns > now) {
		if (!ctx->sleep_until(ctx, at.end_ns))
			return false;
		now = ctx->now_ns(ctx);
	}
	m->late_ns = now - at.due_ns < LATE_MAX_NS ? now - at.due_ns : LATE_MAX_NS;
	return true;
}

static void open_reading(struct model *m, struct mlgen_file *file)
{
	unsigned at;

	file->word = 0;
	if (!m->unused_count)
		return;
	at = m->unused[--m->unused_count];
	m->readings[at] = (struct reading){ 0 };
	file->word = at + 1u;
}

static void close_reading(struct model *m, struct mlgen_file *file)
{
	if (file->word)
		m->unused[m->unused_count++] = (unsigned)file->word - 1;
	file->word = 0;
}

/* Options may be absent where another engine wraps this one. */
static bool has_model(const struct null_opts *opts)
{
	return opts && (opts->bandwidth || opts->latency.kind != 0 || opts->latency.a > 0);
}

static int null_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	const struct null_opts *opts = job->opts;
	struct device *d = job->beside ? job->beside->priv : NULL;

	if (opts && opts->readahead && opts->readahead != USUAL_READAHEAD && !has_model(opts))
		return mlgen_fail(err, -EINVAL,
				  "readahead: counts with latency= or bandwidth= only: without "
				  "them nothing takes time");
	if (!has_model(opts))
		return 0;
	if (opts->bandwidth && opts->bandwidth < LEAST_BANDWIDTH)
		return mlgen_fail(err, -EINVAL,
				  "bandwidth: %" PRIu64 " bytes per second is below the minimum "
				  "1k; for MiB per second write %" PRIu64 "m",
				  opts->bandwidth, opts->bandwidth);
	if (opts->readahead && opts->readahead < LEAST_READAHEAD)
		return mlgen_fail(err, -EINVAL,
				  "readahead: %" PRIu64
				  " bytes are below the minimum 4k; for KiB write %" PRIu64 "k",
				  opts->readahead, opts->readahead);
	if (!d)
		d = calloc(1, sizeof(*d));
	if (!d)
		return mlgen_fail(err, -ENOMEM, "ioengine=null: no memory");
	d->users++;
	job->priv = d;
	return 0;
}

static void null_job_fini(struct mlgen_engine_job *job)
{
	struct device *d = job->priv;

	if (d && --d->users == 0)
		free(d);
	job->priv = NULL;
}

static void free_model(struct model *m)
{
	if (!m)
		return;
	free(m->readings);
	free(m->unused);
	free(m);
}

static struct model *make_model(const struct mlgen_ctx *ctx)
{
	const struct null_opts *opts = ctx->opts;
	unsigned files = opts->readahead ? ctx->files : 0;
	struct model *m = calloc(1, sizeof(*m));

	if (!m || files == 0)
		return m;
	m->readings = calloc(files, sizeof(*m->readings));
	m->unused = calloc(files, sizeof(*m->unused));
	if (!m->readings || !m->unused) {
		free_model(m);
		return NULL;
	}
	for (unsigned i = 0; i < files; i++)
		m->unused[m->unused_count++] = i;
	return m;
}

static int null_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct model *m;

	if (!has_model(ctx->opts))
		return 0;
	m = make_model(ctx);
	if (!m)
		return mlgen_fail(err, -ENOMEM, "ioengine=null: no memory");
	m->device = ctx->job->priv;
	ctx->priv = m;
	return 0;
}

static void null_fini(struct mlgen_ctx *ctx)
{
	free_model(ctx->priv);
	ctx->priv = NULL;
}

/*
 * What is left of a run when storage costs nothing: mlgen's own ceiling on this host. A STAT leaves
 * size_bytes as the caller set it.
 */
static int null_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)n; /* always 1: this engine has no reap */
	struct mlgen_io *op = io[0];
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;
	struct model *m = ctx->priv;

	op->result = moves ? (int64_t)op->len_bytes : 0;
	if (m && !take_time(ctx, op))
		op->result = -ECANCELED;
	if (op->op == MLGEN_OPEN)
		op->file->fd = -1;
	if (m && op->op == MLGEN_OPEN && op->result == 0)
		open_reading(m, op->file);
	if (m && op->op == MLGEN_CLOSE)
		close_reading(m, op->file);
	return 1;
}

const struct mlgen_engine mlgen_engine_null = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.help = "no I/O at all; what this host could do at best, or with storage of a given "
		"latency and bandwidth",
	.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT | MLGEN_CAP_NO_FILES |
		MLGEN_CAP_PRIVATE_FDS,
	.opts = null_fields,
	.opts_size = sizeof(struct null_opts),
	.job_init = null_job_init,
	.job_fini = null_job_fini,
	.init = null_init,
	.fini = null_fini,
	.submit = null_submit, /* no reap: done when submit returns */
};
