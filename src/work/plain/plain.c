/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c - phase=io: a plain job, as fio has them. */
#include "work/plain/plain.h"

#include "work/plain/plain_check.h"

static const char *const groups[] = { "Plain I/O", NULL };

static const struct workload_default defaults[] = {
	{ "directory", "." },
	{ "bs", "4k" },
	{ "percentile_list", "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99" },
	{ 0 },
};

const struct workload work_io = {
	.groups = groups,
	.option_of = "an option of plain I/O jobs (phase=io, rw=...)",
	.defaults = defaults,
	.check = plain_check,
	.more_at_once = "numjobs",
	.is_plain = true,
	.said_by = "rw",
	.is_open_ended = true,
	.is_grouped = true,
	.counts_errors = true,
	.run = &plain_activity,
	.page = &plain_page,
	.asked = &plain_asked,
};
