/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - engine: completes everything at once, or after a while, and touches no file. */

#include <mlgen/engine.h>

struct null_opts {
	uint64_t latency_ns;
};

/* clang-format off */
static const struct mlgen_field null_fields[] = {
	{ "latency", MLGEN_F_TIME(struct null_opts, latency_ns),
	  .def = "0", .min = 0, .max = 3600e9, .unit = "s", .group = "null",
	  .help = "How long every operation takes; one at a time per worker." },
	{ 0 },
};
/* clang-format on */

/* Options may be absent where another engine wraps this one. */
static void take_time(const struct mlgen_ctx *ctx)
{
	const struct null_opts *opts = ctx->opts;

	if (opts && opts->latency_ns)
		ctx->sleep_until(ctx, ctx->now_ns(ctx) + opts->latency_ns);
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

	take_time(ctx);
	op->result = moves ? (int64_t)op->len_bytes : 0;
	if (op->op == MLGEN_OPEN)
		op->file->fd = -1;
	return 1;
}

const struct mlgen_engine mlgen_engine_null = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.help = "no I/O at all; shows what this host could do at best",
	.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT |
		MLGEN_CAP_NO_FILES,
	.opts = null_fields,
	.opts_size = sizeof(struct null_opts),
	.submit = null_submit, /* no reap: done when submit returns */
};
