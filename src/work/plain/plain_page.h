/* SPDX-License-Identifier: Apache-2.0 */
/* plain_page.h - what a plain job and a replay show alike in reports and plans. */
#pragma once

#include "report/metrics/metrics.h"
#include "report/plan/plan.h"
#include "work/plain/plan_io.h"
#include "work/plain/text_io.h"

/* Members of a struct page. */
#define PLAIN_PAGE                                                                                 \
	.directory = plan_io_directory, .verdict = verdict_fill_io, .seconds = text_io_seconds,    \
	.workers = "workers", .looked_at = "time", .key = "io", .fields = metrics_io_fields,       \
	.has_row = metrics_io_has
