/* SPDX-License-Identifier: Apache-2.0 */
/* null.c - engine: completes everything at once and touches no file. */

#include <mlgen/engine.h>

/*
 * What is left of a run when storage costs nothing: mlgen's own ceiling on
 * this host. A STAT leaves size_bytes as the caller set it.
 */
static int null_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)ctx;
	(void)n; /* always 1: this engine has no reap */
	struct mlgen_io *op = io[0];
	bool moves = op->op == MLGEN_READ || op->op == MLGEN_WRITE;

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
	.submit = null_submit, /* no reap: done when submit returns */
};
