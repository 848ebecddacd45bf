/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_entries.c - see tracer_entries.h. */
#include "trace/tracer_entries.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"

struct trace_entry tracer_entries_make(enum trace_entry_kind kind, const uint64_t *number,
				       size_t count, const char *text)
{
	struct trace_entry e = { .kind = kind, .text = text, .text_bytes = strlen(text) };

	for (size_t i = 0; i < TRACE_NUMBERS; i++)
		e.number[i] = i < count ? number[i] : TRACE_UNKNOWN;
	return e;
}

void tracer_entries_add(struct tracer_entries *e, enum trace_entry_kind kind,
			const uint64_t *number, size_t count, const char *text)
{
	char *own = mem_strdup(text);

	vec_push(e, (struct tracer_kept){
			    .entry = tracer_entries_make(kind, number, count, own),
			    .text = own,
		    });
}

void tracer_entries_add_fact(struct tracer_entries *e, const char *key, const char *value)
{
	struct buf text = { 0 };

	if (value && *value) {
		buf_addf(&text, "%s=%s", key, value);
		tracer_entries_add(e, TRACE_FACT, NULL, 0, buf_str(&text));
	}
	buf_fini(&text);
}

void tracer_entries_write(const struct tracer_entries *e, struct trace_writer *w)
{
	for (size_t i = 0; i < e->count; i++)
		trace_writer_entry(w, &e->at[i].entry);
}

void tracer_entries_write_end(const struct tracer_entries *e, struct trace_writer *w,
			      uint64_t now_ns)
{
	for (size_t i = 0; i < e->count; i++) {
		struct trace_entry one = e->at[i].entry;

		if (one.kind != TRACE_PROCESS)
			continue;
		one.number[3] = now_ns;
		trace_writer_entry(w, &one);
	}
}

void tracer_entries_fini(struct tracer_entries *e)
{
	for (size_t i = 0; i < e->count; i++)
		mem_free(e->at[i].text);
	vec_fini(e);
	*e = (struct tracer_entries){ 0 };
}
