/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - engine: completes everything at once, or as a model of storage would, and touches no file. */

#include <errno.h>
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
 * A thread wakes later than it asked, and so its next request comes late. The
 * transfers behind it make up for that, or a device with few requests in its
 * queue would be slower than it is said to be; but not for a host that stood
 * still.
 */
#define LATE_MAX_NS UINT64_C(10000000)

struct null_opts {
	struct mlgen_dist latency;
	uint64_t bandwidth; /* bytes per second; 0 = no limit */
};

/* clang-format off */
static const struct mlgen_field null_fields[] = {
	{ "latency", MLGEN_F_TIME_DIST(struct null_opts, latency),
	  .def = "0", .min = 0, .max = 3600e9, .unit = "s", .group = "null",
	  .help = "How long every operation takes, metadata too; one at a time per worker." },
	{ "bandwidth", MLGEN_F_SIZE(struct null_opts, bandwidth),
	  .def = "0", .unit = "bytes/s", .group = "null",
	  .help = "Bytes per second that all workers of the job share, one request after the other, with latency= on top; 0 is no limit, else 1k or more." },
	{ 0 },
};
/* clang-format on */

/* What all workers of a job queue up for. */
struct device {
	_Atomic uint64_t free_ns; /* when all that was asked for has passed */
	unsigned users;           /* set up and taken down on one thread */
};

/* A worker of a job that has a model. */
struct model {
	struct device *device;
	uint64_t drawn;
	uint64_t late_ns;
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
 * Behind all that is in the queue: with one request each, every worker has its
 * turn. When it has passed. Only the number itself is shared, so that nothing
 * has to be ordered with it.
 */
static uint64_t pass(struct device *d, uint64_t asked_ns, uint64_t ns)
{
	uint64_t free_ns =
		atomic_load_explicit(&d->free_ns, memory_order_relaxed);
	uint64_t end_ns;

	do {
		end_ns = add_ns(later(free_ns, asked_ns), ns);
	} while (!atomic_compare_exchange_weak_explicit(
		&d->free_ns, &free_ns, end_ns, memory_order_relaxed,
		memory_order_relaxed));
	return end_ns;
}

static uint64_t next_latency(const struct mlgen_ctx *ctx, struct model *m)
{
	const struct null_opts *opts = ctx->opts;

	if (opts->latency.kind == 0)
		return (uint64_t)opts->latency.a;
	return ctx->draw(ctx, &opts->latency, m->drawn++);
}

/* No operation takes less than its latency, however late its thread is. */
static void take_time(const struct mlgen_ctx *ctx, uint64_t bytes)
{
	const struct null_opts *opts = ctx->opts;
	struct model *m = ctx->priv;
	uint64_t now = ctx->now_ns(ctx), latency = next_latency(ctx, m);
	uint64_t due = now > m->late_ns ? now - m->late_ns : 0, end;

	if (opts->bandwidth && bytes)
		due = pass(m->device, due, transfer_ns(bytes, opts->bandwidth));
	due = add_ns(due, latency);
	end = later(due, add_ns(now, latency));
	if (end > now) {
		ctx->sleep_until(ctx, end);
		now = ctx->now_ns(ctx);
	}
	m->late_ns = now - due < LATE_MAX_NS ? now - due : LATE_MAX_NS;
}

/* Options may be absent where another engine wraps this one. */
static bool has_model(const struct null_opts *opts)
{
	return opts && (opts->bandwidth || opts->latency.kind != 0 ||
			opts->latency.a > 0);
}

static int null_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	const struct null_opts *opts = job->opts;
	struct device *d = job->beside ? job->beside->priv : NULL;

	if (!has_model(opts))
		return 0;
	if (opts->bandwidth && opts->bandwidth < LEAST_BANDWIDTH)
		return mlgen_fail(err, -EINVAL,
				  "bandwidth: %" PRIu64 " bytes per second is "
				  "below the minimum 1k; for MiB per second "
				  "write %" PRIu64 "m",
				  opts->bandwidth, opts->bandwidth);
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

static int null_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct model *m;

	if (!has_model(ctx->opts))
		return 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return mlgen_fail(err, -ENOMEM, "ioengine=null: no memory");
	m->device = ctx->job->priv;
	ctx->priv = m;
	return 0;
}

static void null_fini(struct mlgen_ctx *ctx)
{
	free(ctx->priv);
	ctx->priv = NULL;
}

/*
 * What is left of a run when storage costs nothing: mlgen's own ceiling on
 * this host. A STAT leaves size_bytes as the caller set it.
 */
static int null_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)n; /* always 1: this engine has no reap */
	struct mlgen_io *op = io[0];
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;

	if (ctx->priv)
		take_time(ctx, moves ? op->len_bytes : 0);
	op->result = moves ? (int64_t)op->len_bytes : 0;
	if (op->op == MLGEN_OPEN)
		op->file->fd = -1;
	return 1;
}

const struct mlgen_engine mlgen_engine_null = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.help = "no I/O at all; what this host could do at best, or with "
		"storage of a given latency and bandwidth",
	.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT |
		MLGEN_CAP_NO_FILES,
	.opts = null_fields,
	.opts_size = sizeof(struct null_opts),
	.job_init = null_job_init,
	.job_fini = null_job_fini,
	.init = null_init,
	.fini = null_fini,
	.submit = null_submit, /* no reap: done when submit returns */
};
