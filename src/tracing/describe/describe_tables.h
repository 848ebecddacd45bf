/* SPDX-License-Identifier: Apache-2.0 */
/* describe_tables.h - the tables of a description's text: latencies, sizes, tasks, epochs. */
#pragma once

#include "base/buf.h"
#include "tracing/describe/describe.h"

/* Each under a header and with an empty line behind it; of long ones the lines that say most. */
void describe_tables(struct buf *out, const struct description *d,
		     const struct f64_list *percentiles);
