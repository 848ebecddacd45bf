/* SPDX-License-Identifier: Apache-2.0 */
/* fault.c - engine: wraps another engine, and fails, shortens or delays its operations. */
#include "fault.h"

#include <errno.h>
#include <mlgen/errors.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
static const struct mlgen_field fault_fields[] = {
	{ "engine", MLGEN_F_STR(struct fault_opts, engine),
	  .def = "psync", .group = "fault",
	  .help = "The engine that performs the operations that do not fail. Its options have their defaults." },
	{ "fail_after", MLGEN_F_U64(struct fault_opts, fail_after),
	  .def = "0", .unit = "operations", .group = "fault",
	  .help = "Only the operation with this number fails. The first is 1; with 0 none fails." },
	{ "fail_errno", MLGEN_F_STR(struct fault_opts, fail_errno),
	  .def = "EIO", .group = "fault",
	  .help = "The error of fail_nth, by name or number." },
	{ "short_every", MLGEN_F_U64(struct fault_opts, short_every),
	  .def = "0", .unit = "operations", .group = "fault",
	  .help = "Every Nth read or write moves half of its bytes; 0: none." },
	{ "delay_every", MLGEN_F_U64(struct fault_opts, delay_every),
	  .def = "0", .unit = "operations", .group = "fault",
	  .help = "Every Nth operation is delayed by delay=; 0: none." },
	{ "delay", MLGEN_F_TIME(struct fault_opts, delay_ns),
	  .def = "0", .min = 0, .max = 3600e9, .unit = "s", .group = "fault",
	  .help = "Delay of an operation of delay_every; operations after it do not wait." },
	{ 0 },
};
/* clang-format on */

static int start_inner(struct mlgen_engine_job *job, struct shared *s, struct mlgen_err *err)
{
	const struct fault_opts *opts = job->opts;
	const struct mlgen_engine *e = job->find ? job->find(opts->engine) : NULL;

	if (!e)
		return mlgen_fail(err, -EINVAL,
				  "engine: '%s' is not built in; --enghelp lists the engines",
				  opts->engine);
	if (e == job->engine)
		return mlgen_fail(err, -EINVAL,
				  "engine: '%s' cannot wrap itself; name an engine that does I/O, "
				  "such as engine=psync",
				  opts->engine);
	s->inner = (struct mlgen_engine_job){ .engine = e,
					      .workers = job->workers,
					      .is_preparing = job->is_preparing,
					      .find = job->find };
	if (e->opts_size) {
		s->inner_opts = calloc(1, e->opts_size);
		if (!s->inner_opts)
			return -ENOMEM;
		s->inner.opts = s->inner_opts;
	}
	return e->job_init ? e->job_init(&s->inner, err) : 0;
}

static int fault_job_init(struct mlgen_engine_job *job, struct mlgen_err *err)
{
	const struct fault_opts *opts = job->opts;
	struct shared *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return mlgen_fail(err, -ENOMEM, "ioengine=fault: no memory");
	s->error = -mlgen_error_code(opts->fail_errno, strlen(opts->fail_errno));
	rc = s->error ? start_inner(job, s, err)
		      : mlgen_fail(err, -EINVAL,
				   "fail_errno: '%s' is neither the name of a storage error, such "
				   "as EIO or ENOSPC, nor a number from 1 to %d",
				   opts->fail_errno, MLGEN_ERROR_MAX);
	if (rc < 0) {
		free(s->inner_opts);
		free(s);
		return rc;
	}
	job->shares_fds = s->inner.shares_fds || !(s->inner.engine->caps & MLGEN_CAP_PRIVATE_FDS);
	job->priv = s;
	return 0;
}

static void fault_job_fini(struct mlgen_engine_job *job)
{
	struct shared *s = job->priv;

	if (!s)
		return;
	if (s->inner.engine->job_fini)
		s->inner.engine->job_fini(&s->inner);
	free(s->inner_opts);
	free(s);
	job->priv = NULL;
}

static int fault_init(struct mlgen_ctx *ctx, struct mlgen_err *err)
{
	struct fault *f = calloc(1, sizeof(*f));
	unsigned depth = ctx->iodepth;
	int rc;

	if (!f)
		return -ENOMEM;
	ctx->priv = f;
	f->opts = ctx->opts;
	f->shared = ctx->job->priv;
	f->engine = f->shared->inner.engine;
	f->inner = *ctx;
	f->inner.job = &f->shared->inner;
	f->inner.opts = f->shared->inner.opts;
	f->inner.priv = NULL;
	f->shadows = calloc(depth, sizeof(*f->shadows));
	f->unused = calloc(depth, sizeof(*f->unused));
	f->done = calloc(depth, sizeof(*f->done));
	f->reaped = calloc(depth, sizeof(*f->reaped));
	if (!f->shadows || !f->unused || !f->done || !f->reaped)
		return -ENOMEM;
	for (unsigned i = 0; i < depth; i++)
		f->unused[f->unused_count++] = &f->shadows[i];
	f->is_init = true;
	rc = f->engine->init ? f->engine->init(&f->inner, err) : 0;
	/* The facts that the wrapped engine reports about itself hold for this engine, too. */
	ctx->can_link = f->inner.can_link;
	memcpy(ctx->in_use, f->inner.in_use, sizeof(ctx->in_use));
	memcpy(ctx->note, f->inner.note, sizeof(ctx->note));
	return rc;
}

static void fault_fini(struct mlgen_ctx *ctx)
{
	struct fault *f = ctx->priv;

	if (!f)
		return;
	if (f->is_init && f->engine->fini)
		f->engine->fini(&f->inner);
	free(f->reaped);
	free(f->done);
	free(f->unused);
	free(f->shadows);
	free(f);
	ctx->priv = NULL;
}

const struct mlgen_engine mlgen_engine_fault = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "fault",
	.help = "wraps another engine, and fails, shortens or delays its operations",
	.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT | MLGEN_CAP_PRIVATE_FDS,
	.opts = fault_fields,
	.opts_size = sizeof(struct fault_opts),
	.job_init = fault_job_init,
	.job_fini = fault_job_fini,
	.init = fault_init,
	.fini = fault_fini,
	.submit = fault_submit,
	.reap = fault_reap,
};
