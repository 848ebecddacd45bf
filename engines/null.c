/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - engine: completes all operations at once or according to a model of storage, and touches
 * no file. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <mlgen/engine.h>

#define NS_PER_SEC 1e9

/* Upper limit of any duration, ns. */
#define NS_MAX 0x1p62

/* A smaller bandwidth is refused: most likely its unit was forgotten. */
#define MIN_BANDWIDTH 1024

/*
 * A thread wakes later than it asked, so its next request comes late. Later transfers compensate
 * for a delay up to this limit; otherwise a device with few requests in its queue would be slower
 * than configured. A longer delay means that the host stood still, and is not compensated.
 */
#define LATE_MAX_NS UINT64_C(10000000)

#define PAGE_BYTES 4096u

/* Limits of the read-ahead window. For a smaller window, the unit was most likely forgotten; no
 * kernel has a larger window. Linux's default (read_ahead_kb) is 128 KiB. */
#define DEFAULT_READAHEAD (128u << 10)
#define MIN_READAHEAD PAGE_BYTES
#define MAX_READAHEAD 0x1p30

/* The last bytes that a reader read are in the modelled page cache, because libraries read a header
 * twice. No more is cached; otherwise repeated reads of a small file would cost nothing. */
#define CACHED_BYTES (2 * PAGE_BYTES)

struct null_opts {
	struct mlgen_dist latency;
	uint64_t bandwidth; /* bytes per second; 0 = no limit */
	uint64_t readahead; /* bytes; 0 = none */
};

/* clang-format off */
static const struct mlgen_field null_fields[] = {
	{ "latency", MLGEN_F_TIME_DIST(struct null_opts, latency),
	  .def = "0", .min = 0, .max = 3600e9, .unit = "s", .group = "null",
	  .help = "Duration of every operation, including metadata, except reads of data that was read ahead; one at a time per worker." },
	{ "bandwidth", MLGEN_F_SIZE(struct null_opts, bandwidth),
	  .def = "0", .unit = "bytes/s", .group = "null",
	  .help = "Bytes per second that all workers of the job share, one request after the other, in addition to latency=; 0 is no limit, else 1k or more." },
	{ "readahead", MLGEN_F_SIZE(struct null_opts, readahead),
	  .def = "128k", .max = MAX_READAHEAD, .unit = "bytes", .group = "null",
	  .help = "Readahead window of buffered sequential reads, as in a kernel: the next window is read while this one is consumed, and a larger request as a whole. Direct reads have no readahead; 0 disables it, else 4k or more." },
	{ 0 },
};
/* clang-format on */

/* The device that all workers of a job share. */
struct device {
	_Atomic uint64_t free_ns; /* end of the last transfer in the queue */
	unsigned users;           /* written by the main thread alone */
};

/* A request for the bytes of a file up to `end`. */
struct readahead {
	uint64_t end;
	uint64_t asked_ns; /* earliest start of the transfer */
	uint64_t latency_ns;
	uint64_t ready_ns; /* earliest arrival of a byte */
};

/*
 * A sequential reader of a file; [begin, pos) was read. Bytes are queued at the device when they
 * are consumed, but their transfer may start as early as their request. The size of the file is not
 * known here, and bytes after its end must cost nothing.
 */
struct file_reader {
	uint64_t begin, pos;
	struct readahead current, next; /* next.end == current.end: not requested */
};

/* The readers of an open file. There are two, because an archive's directory is at its end, and a
 * program returns to the start after reading it. */
#define READERS 2

struct file_readers {
	struct file_reader readers[READERS];
	unsigned last; /* index of the reader used last */
};

/* State of a worker whose job has a model. file->word is 1 + the index in `files`; 0 = no index. */
struct model {
	struct device *device;
	uint64_t drawn;
	uint64_t late_ns;
	struct file_readers *files; /* ctx->files elements */
	unsigned *unused, unused_count;
};

/* When an operation ends: in the model, and for its thread, which may have started the operation
 * late. */
struct completion {
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
 * Append a transfer to the device's queue and return the time of its end. With one request each,
 * workers take turns. Relaxed order suffices, because no other data depends on free_ns.
 */
static uint64_t queue_transfer(struct device *d, uint64_t asked_ns, uint64_t ns)
{
	uint64_t free_ns = atomic_load_explicit(&d->free_ns, memory_order_relaxed);
	uint64_t end_ns;

	do {
		end_ns = add_ns(later(free_ns, asked_ns), ns);
	} while (!atomic_compare_exchange_weak_explicit(
		&d->free_ns, &free_ns, end_ns, memory_order_relaxed, memory_order_relaxed));
	return end_ns;
}

static struct readahead request_window(const struct mlgen_ctx *ctx, const struct completion *at,
				       uint64_t end)
{
	const struct null_opts *opts = ctx->opts;
	struct model *m = ctx->priv;
	uint64_t latency_ns = opts->latency.kind == 0 ? (uint64_t)opts->latency.a
						      : ctx->draw(ctx, &opts->latency, m->drawn++);

	return (struct readahead){ .end = end,
				   .asked_ns = at->due_ns,
				   .latency_ns = latency_ns,
				   .ready_ns = add_ns(at->end_ns, latency_ns) };
}

/* Extend `at` until `bytes` of the window have arrived. No operation takes less than its latency,
 * however late its thread is. */
static void await_window(const struct mlgen_ctx *ctx, struct completion *at,
			 const struct readahead *w, uint64_t bytes)
{
	const struct null_opts *opts = ctx->opts;
	struct model *m = ctx->priv;
	uint64_t moved_ns = w->asked_ns;

	if (opts->bandwidth && bytes)
		moved_ns = queue_transfer(m->device, moved_ns, transfer_ns(bytes, opts->bandwidth));
	at->due_ns = later(at->due_ns, add_ns(moved_ns, w->latency_ns));
	at->end_ns = later(at->end_ns, later(at->due_ns, w->ready_ns));
}

/* Continue a sequential read. A reader that enters a window requests the next window and waits for
 * the current window. */
static void read_on(const struct mlgen_ctx *ctx, struct completion *at, struct file_reader *p,
		    uint64_t bytes)
{
	const struct null_opts *opts = ctx->opts;

	while (bytes) {
		uint64_t size = later(bytes, opts->readahead), n;

		if (p->pos == p->current.end) {
			p->current = p->next.end > p->pos ? p->next
							  : request_window(ctx, at, p->pos + size);
			p->next = request_window(ctx, at, p->current.end + size);
		}
		n = p->current.end - p->pos;
		n = bytes < n ? bytes : n;
		await_window(ctx, at, &p->current, n);
		p->pos += n;
		bytes -= n;
	}
}

/* Find the reader that continues at `off` or has just read there; NULL = none. */
static struct file_reader *find_reader(struct file_readers *r, uint64_t off)
{
	for (unsigned i = 0; i < READERS; i++) {
		struct file_reader *p = &r->readers[i];
		uint64_t had = p->pos - p->begin;
		uint64_t cached = had < CACHED_BYTES ? had : CACHED_BYTES;

		if (off > p->pos || off < p->pos - cached)
			continue;
		r->last = i;
		return p;
	}
	return NULL;
}

/*
 * Read-ahead of Linux: a read that continues an earlier read, or starts at offset 0, has a window.
 * Any other read is a request by itself. The bytes of a window are queued at the device when they
 * are consumed, but their transfer may start as early as their request. So no byte is transferred
 * twice, and none beyond the end of the file.
 */
static void read_buffered(const struct mlgen_ctx *ctx, struct completion *at,
			  const struct mlgen_io *op)
{
	struct model *m = ctx->priv;
	struct file_readers *r = &m->files[op->file->word - 1];
	struct file_reader *p = find_reader(r, op->off);
	uint64_t had;

	if (p) {
		had = p->pos - op->off;
		if (op->len_bytes > had)
			read_on(ctx, at, p, op->len_bytes - had);
		return;
	}
	/* A new reader replaces the reader that was not used last. */
	r->last = (r->last + 1) % READERS;
	p = &r->readers[r->last];
	*p = (struct file_reader){ .begin = op->off - op->off % PAGE_BYTES, .pos = op->off };
	p->current.end = p->next.end = op->off;
	if (op->off == 0) {
		read_on(ctx, at, p, op->len_bytes);
		return;
	}
	p->pos += op->len_bytes;
	p->current = p->next = request_window(ctx, at, p->pos);
	await_window(ctx, at, &p->current, op->len_bytes);
}

/* Sleep until the operation ends in the model. False: the job ends earlier. */
static bool sleep_for_op(const struct mlgen_ctx *ctx, const struct mlgen_io *op)
{
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;
	struct model *m = ctx->priv;
	uint64_t now = ctx->now_ns(ctx);
	struct completion at = { now > m->late_ns ? now - m->late_ns : 0, now };

	if (op->op == MLGEN_READ && m->files && op->file->word && !(op->file->flags & O_DIRECT)) {
		read_buffered(ctx, &at, op);
	} else {
		const struct readahead w = request_window(ctx, &at, 0);

		await_window(ctx, &at, &w, moves ? op->len_bytes : 0);
	}
	if (at.end_ns > now) {
		if (!ctx->sleep_until(ctx, at.end_ns))
			return false;
		now = ctx->now_ns(ctx);
	}
	m->late_ns = now - at.due_ns < LATE_MAX_NS ? now - at.due_ns : LATE_MAX_NS;
	return true;
}

static void add_file(struct model *m, struct mlgen_file *file)
{
	unsigned at;

	file->word = 0;
	if (!m->unused_count)
		return;
	at = m->unused[--m->unused_count];
	m->files[at] = (struct file_readers){ 0 };
	file->word = at + 1u;
}

static void remove_file(struct model *m, struct mlgen_file *file)
{
	if (file->word)
		m->unused[m->unused_count++] = (unsigned)file->word - 1;
	file->word = 0;
}

/* There are no options if another engine wraps this engine. */
static bool has_model(const struct null_opts *opts)
{
	return opts && (opts->bandwidth || opts->latency.kind != 0 || opts->latency.a > 0);
}

static int null_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	const struct null_opts *opts = job->opts;
	struct device *d = job->beside ? job->beside->priv : NULL;

	if (opts && opts->readahead && opts->readahead != DEFAULT_READAHEAD && !has_model(opts))
		return mlgen_fail(err, -EINVAL,
				  "readahead: needs latency= or bandwidth=; without them no "
				  "operation takes time");
	if (!has_model(opts))
		return 0;
	if (opts->bandwidth && opts->bandwidth < MIN_BANDWIDTH)
		return mlgen_fail(err, -EINVAL,
				  "bandwidth: %" PRIu64 " bytes per second is below the minimum "
				  "1k; for MiB per second write %" PRIu64 "m",
				  opts->bandwidth, opts->bandwidth);
	if (opts->readahead && opts->readahead < MIN_READAHEAD)
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
	free(m->files);
	free(m->unused);
	free(m);
}

static struct model *new_model(const struct mlgen_ctx *ctx)
{
	const struct null_opts *opts = ctx->opts;
	unsigned files = opts->readahead ? ctx->files : 0;
	struct model *m = calloc(1, sizeof(*m));

	if (!m || files == 0)
		return m;
	m->files = calloc(files, sizeof(*m->files));
	m->unused = calloc(files, sizeof(*m->unused));
	if (!m->files || !m->unused) {
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
	m = new_model(ctx);
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
 * Complete at once: a run whose storage costs nothing shows mlgen's own ceiling on this host. A
 * STAT leaves size_bytes as the caller set it.
 */
static int null_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)n; /* always 1: this engine has no reap */
	struct mlgen_io *op = io[0];
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;
	struct model *m = ctx->priv;

	op->result = moves ? (int64_t)op->len_bytes : 0;
	if (m && !sleep_for_op(ctx, op))
		op->result = -ECANCELED;
	if (op->op == MLGEN_OPEN)
		op->file->fd = -1;
	if (m && op->op == MLGEN_OPEN && op->result == 0)
		add_file(m, op->file);
	if (m && op->op == MLGEN_CLOSE)
		remove_file(m, op->file);
	return 1;
}

const struct mlgen_engine mlgen_engine_null = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.help = "no I/O at all; measures the limit of this host, or of storage with a given "
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
