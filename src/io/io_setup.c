/* SPDX-License-Identifier: Apache-2.0 */
/* io_setup.c - an io begins and ends: its engine, its buffer, its queue. */
#include "io/io_inside.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/dist.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/units.h"

static uint64_t ctx_now(const struct mlgen_ctx *ctx)
{
	const struct io *io = ctx->clock;

	return clock_now(io->clock);
}

static bool ctx_sleep_until(const struct mlgen_ctx *ctx, uint64_t ns)
{
	const struct io *io = ctx->clock;

	return stop_sleep_until(io->stop, io->clock, ns);
}

/* An engine's option is parsed into the one and read as the other. */
_Static_assert(sizeof(struct dist) == sizeof(struct mlgen_dist) &&
		       offsetof(struct dist, a) == offsetof(struct mlgen_dist, a) &&
		       offsetof(struct dist, b) == offsetof(struct mlgen_dist, b) &&
		       DIST_CONST == 0,
	       "mlgen/field.h and base/dist.h differ");

static uint64_t ctx_draw(const struct mlgen_ctx *ctx, const struct mlgen_dist *dist, uint64_t index)
{
	const struct io *io = ctx->clock;
	struct dist own;

	/* Also where `b` is no number for this program. */
	memcpy(&own, dist, sizeof(own));
	return dist_draw(&own, io->seed, RNG_ENGINE, index);
}

static void make_queue(struct io *io, const struct io_config *cfg)
{
	unsigned depth = io->is_sync ? 0 : cfg->iodepth;
	unsigned transfers = depth;

	if (cfg->transfers && cfg->transfers < depth)
		transfers = cfg->transfers;
	iobuf_init(&io->buf, cfg->buf_bytes, depth, transfers);
	io->buf.stamp = cfg->stamp;
	io->place = depth;
	seen_init(&io->seen, depth + 1);
	io->queue = mem_array(depth, sizeof(*io->queue));
	io->reaped = mem_array(depth, sizeof(*io->reaped));
}

static int make_buffer(struct io *io, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	size_t bytes = io->ctx.buf_bytes;

	if (io->engine->buf_alloc)
		io->ctx.buf = io->engine->buf_alloc(&io->ctx, bytes);
	else if (io->engine->caps & MLGEN_CAP_NO_FILES)
		io->ctx.buf = mem_reserve(bytes, io->mem);
	else
		io->ctx.buf = mem_buffer(bytes, io->mem);
	io->buf.base = io->ctx.buf;
	if (io->ctx.buf)
		return 0;
	if (io->mem == MEM_HUGEPAGE && !io->engine->buf_alloc)
		return mlgen_fail(err, -ENOMEM,
				  "mem=hugepage: no huge pages for a buffer of %s, one of %u; "
				  "reserve them (sysctl -w vm.nr_hugepages=N) or use mem=malloc",
				  units_human_bytes(text, (double)bytes), io->ctx.job->workers);
	return mlgen_fail(err, -ENOMEM,
			  "no memory for a buffer of %s, one of %u; lower the request size, the "
			  "iodepth or the number of threads",
			  units_human_bytes(text, (double)bytes), io->ctx.job->workers);
}

static void free_buffer(struct io *io)
{
	if (!io->ctx.buf)
		return;
	if (io->engine->buf_free)
		io->engine->buf_free(&io->ctx, io->ctx.buf, io->ctx.buf_bytes);
	else if (!io->engine->buf_alloc)
		mem_buffer_free(io->ctx.buf, io->ctx.buf_bytes, io->mem);
}

static int start_engine(struct io *io, struct mlgen_err *err)
{
	int rc;

	io->is_init = true; /* fini takes a failed init */
	rc = io->engine->init ? io->engine->init(&io->ctx, err) : 0;
	if (rc < 0)
		/* The first sentence wins: the engine's, if it gave one. */
		return mlgen_fail(err, rc, "ioengine=%s: cannot start: %s", io->engine->name,
				  strerror(-rc));
	return 0;
}

int io_new(struct io **out, const struct io_config *cfg, struct mlgen_err *err)
{
	struct io *io = mem_zalloc(sizeof(*io));
	int rc;

	assert(cfg->iodepth > 0 && cfg->buf_bytes > 0);
	io->engine = cfg->job->engine;
	io->is_sync = !io->engine->reap;
	io->clock = cfg->clock;
	io->stat = cfg->stat;
	io->trace = cfg->trace;
	io->iodepth = cfg->iodepth;
	io->mem = cfg->mem;
	io->seed = cfg->seed;
	io->may_meet_fifos = cfg->may_meet_fifos && !(io->engine->caps & MLGEN_CAP_NO_FILES);
	io->stop = cfg->stop;
	io->ends_in_time = cfg->ends_in_time || io->engine->caps & MLGEN_CAP_NO_FILES;
	io->last = &io->first;
	io->ctx = (struct mlgen_ctx){
		.job = cfg->job,
		.opts = cfg->job->opts,
		.iodepth = cfg->iodepth,
		.files = cfg->files ? cfg->files : cfg->iodepth,
		.buf_bytes = cfg->buf_bytes,
		.buf_is_given_back = cfg->gives_back,
		.now_ns = ctx_now,
		.sleep_until = ctx_sleep_until,
		.draw = ctx_draw,
		.clock = io,
	};
	make_queue(io, cfg);
	rc = make_buffer(io, err);
	if (rc == 0)
		rc = start_engine(io, err);
	if (rc < 0) {
		io_free(io);
		io = NULL;
	}
	*out = io;
	return rc;
}

void io_stop(struct io *io)
{
	if (io->is_init && io->engine->fini)
		io->engine->fini(&io->ctx);
	io->is_init = false;
	free_buffer(io);
	io->ctx.buf = NULL;
}

void io_free(struct io *io)
{
	if (!io)
		return;
	io_stop(io);
	mem_free(io->reaped);
	mem_free(io->queue);
	seen_fini(&io->seen);
	iobuf_fini(&io->buf);
	mem_free(io);
}
