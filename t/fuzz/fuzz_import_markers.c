/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_import_markers.c - any text as an application's log beside a trace: refused with its line,
 * or markers. */
#include "import_rig.h"

#define NOON_NS UINT64_C(1772280000000000000)

/* A day around noon of the time of day; or of a clock that knows only that. */
static bool is_of_day;

static int take(struct importing *m, struct mlgen_err *err)
{
	struct trace_record r = { .start_ns = is_of_day ? NOON_NS : 5, .op = TRACE_READ };

	m->clock_offset_ns = is_of_day ? 0 : UINT64_C(43200000000000);
	m->is_day_unknown = !is_of_day;
	MUST(trace_fill_add(m->fill, &r, err) == 0);
	return import_markers(m, m->files[0], err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	is_of_day = true;
	rig_log_and_back(take, data, size);
	is_of_day = false;
	rig_log_and_back(take, data, size);
	return 0;
}
