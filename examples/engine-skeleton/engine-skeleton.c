/* SPDX-License-Identifier: Apache-2.0 */
/* engine-skeleton.c - an engine as a shared object: where to start from. */

/*
 * Compile it and run it, here; an installed mlgen needs no -I:
 *
 *	cc -shared -fPIC -I../../include -o skeleton.so engine-skeleton.c
 *	mlgen --enghelp=./skeleton.so
 *	mlgen skeleton.job --split=64k
 *
 * It reads as psync does, in pieces of at most split= bytes. What each function
 * may do and has to give back is in mlgen-engine(7).
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <mlgen/engine.h>

/* The options: a struct, and a row for each member. mlgen parses, checks and documents them. */
struct skeleton_opts {
	uint64_t split_bytes;
};

static const struct mlgen_field skeleton_fields[] = {
	{ "split", MLGEN_F_SIZE(struct skeleton_opts, split_bytes), .def = "0", .max = 1 << 30,
	  .unit = "bytes", .group = "skeleton",
	  .help = "Most bytes of one system call; 0 is no limit." },
	{ 0 },
};

/* What one worker keeps. Nobody else sees it, so it needs no lock. */
struct skeleton {
	size_t most;
};

/* On the worker's own thread. Memory, connections, rings: all of it is set up here, so that submit
 * only moves bytes. */
static int skeleton_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	const struct skeleton_opts *opts = ctx->opts;
	struct skeleton *s = calloc(1, sizeof(*s));

	if (!s)
		return mlgen_fail(err, -ENOMEM, "skeleton: out of memory");
	s->most = opts->split_bytes ? (size_t)opts->split_bytes : SIZE_MAX;
	ctx->priv = s;
	return 0;
}

/* Also called when init has failed. */
static void skeleton_fini(struct mlgen_ctx *ctx)
{
	free(ctx->priv);
	ctx->priv = NULL;
}

/*
 * One operation, complete on return, since there is no reap. Only READ comes here: caps names
 * nothing else, and mlgen opens and closes the files itself. Fewer bytes than asked for are no
 * error: mlgen asks for the rest, and reports such reads as short. No time is taken here and
 * nothing is printed.
 */
static int skeleton_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	const struct skeleton *s = ctx->priv;
	struct mlgen_io *op = io[0];
	size_t bytes = op->iov->iov_len < s->most ? op->iov->iov_len : s->most;
	ssize_t done = pread(op->file->fd, op->iov->iov_base, bytes, (off_t)op->off);

	(void)n; /* always 1 */
	op->result = done < 0 ? -errno : done;
	return 1;
}

/* The one symbol that mlgen looks for. */
const struct mlgen_engine mlgen_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "skeleton",
	.help = "pread, in pieces of split=; an example",
	/* No thread of its own opens files, so workers need not share them. */
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP_PRIVATE_FDS,
	.opts = skeleton_fields,
	.opts_size = sizeof(struct skeleton_opts),
	.init = skeleton_init,
	.fini = skeleton_fini,
	.submit = skeleton_submit,
};
