/* SPDX-License-Identifier: Apache-2.0 */
/* text_trace.c - see text_trace.h. */
#include "report/text_trace.h"

#include "base/units.h"
#include "report/text_block.h"

void text_trace(FILE *to, const struct trace_result *r)
{
	struct buf out = { 0 }, text = { 0 };
	char size[UNITS_TEXT_BYTES], count[UNITS_TEXT_BYTES];

	if (!r->file)
		return;
	buf_addf(&text, "%s: %s records, %s", r->file, units_human_count(count, r->records),
		 units_human_bytes(size, (double)r->bytes));
	if (r->lost)
		buf_addf(&text, "; INCOMPLETE, %s more are lost",
			 units_human_count(count, r->lost));
	else if (!r->complete)
		buf_add(&text, "; INCOMPLETE");
	buf_addf(&text, "; its writer took %s of CPU time", units_human_time(count, r->cpu_ns));
	buf_addc(&out, '\n');
	text_end(&out, "trace", TEXT_SETTING_INDENT, &text);
	text_print(to, &out);
	buf_fini(&out);
}
