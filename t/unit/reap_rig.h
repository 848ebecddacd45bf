/* SPDX-License-Identifier: Apache-2.0 */
/* reap_rig.h - of an engine that has requests in flight: what says so, and reaps none. */
#pragma once

#include "mlgen/engine.h"

static inline int no_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
			  uint64_t timeout_ns)
{
	(void)ctx;
	(void)io;
	(void)min;
	(void)max;
	(void)timeout_ns;
	return 0;
}
