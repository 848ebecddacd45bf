/* SPDX-License-Identifier: Apache-2.0 */
/* markers.c - --markers: epochs, stages and checkpoints from the log of the application itself. */
#include "tracing/import/importer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/import/marker_line.h"
#include "trace/trace.h"

/* Kinds of what may be under way, of all ranks; more are taken as text. */
enum { KINDS_MOST = 4096 };
#define NS_PER_DAY (UINT64_C(86400) * NS_PER_S)

/* Epochs of a rank, say, of which one may be under way. */
struct marker_kind {
	uint16_t op;
	int64_t rank;
	char *name;
	bool is_open;
	uint64_t start_ns, number;
	uint64_t count; /* that have begun */
};

struct marking {
	struct importing *m;
	struct mlgen_err *err;
	struct trace_input in;
	struct marker_line line;
	struct marker_kind *kinds;
	size_t count, at;           /* the last that was found */
	uint64_t first_ns, last_ns; /* of the trace */
	bool has_span;
	uint64_t offset_ns; /* to be taken off a time of day */
	bool has_offset, has_epochs;
	uint64_t least_ns, most_ns; /* of day, of the markers */
	uint64_t epoch_base;        /* number of the log's first epoch: 0, or else 1 */
	uint64_t taken, near, wrong, endless, startless, crowded;
	bool is_local;
};

/* ---- clocks ---- */

/* East of Greenwich at that time, within a day. */
static uint64_t zone_ns(uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	struct tm t = { 0 };
	long day_s = (long)(NS_PER_DAY / NS_PER_S);

	localtime_r(&seconds, &t);
	return (uint64_t)((t.tm_gmtoff + day_s) % day_s) * NS_PER_S;
}

/* A day on which the first marker is nearest to the trace's begin. */
static uint64_t offset_of(const struct marking *k, uint64_t time_ns)
{
	uint64_t offset = k->m->clock_offset_ns, at;

	if (!k->m->is_day_unknown)
		return offset;
	offset = (offset + NS_PER_DAY - zone_ns(time_ns)) % NS_PER_DAY;
	at = time_ns - k->first_ns - offset + NS_PER_DAY / 2;
	return offset + at / NS_PER_DAY * NS_PER_DAY;
}

/* On the trace's clock; false: before it began to count. */
static bool trace_time(struct marking *k, uint64_t time_ns, uint64_t *out)
{
	if (!k->has_offset)
		k->offset_ns = offset_of(k, time_ns);
	k->has_offset = true;
	k->least_ns = u64_min(k->least_ns, time_ns);
	k->most_ns = u64_max(k->most_ns, time_ns);
	if (time_ns < k->offset_ns)
		return false;
	*out = time_ns - k->offset_ns;
	k->near += !k->has_span ||
		   (*out + NS_PER_DAY >= k->first_ns && *out <= k->last_ns + NS_PER_DAY);
	return true;
}

static int refuse_clocks(struct marking *k)
{
	uint64_t marker_ms = k->least_ns / 1000000, trace_ms = k->first_ns / 1000000;

	return mlgen_fail(k->err, -EINVAL,
			  "markers=%s: none is within a day of the trace: the first is at %" PRIu64
			  ".%03" PRIu64 " s since 1970, and the trace begins at %" PRIu64
			  ".%03" PRIu64 " s%s; are both of the same run?",
			  k->in.name, marker_ms / 1000, marker_ms % 1000, trace_ms / 1000,
			  trace_ms % 1000, k->offset_ns ? " of its own clock" : "");
}

/* ---- what becomes of a marker ---- */

static int markers_put(struct marking *k, const struct marker_kind *kind, const char *text,
		       size_t bytes, uint64_t start_ns, uint64_t duration_ns)
{
	struct trace_record to = {
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.off = kind->number,
		.len_bytes = TRACE_UNKNOWN,
		.result = kind->rank,
		.cpu_ns = TRACE_UNKNOWN,
		.op = kind->op,
		.flags = duration_ns == TRACE_UNKNOWN ? TRACE_BEGINS : 0,
	};

	if (bytes)
		to.file = trace_fill_name(k->m->fill, text, bytes);
	k->taken++;
	return trace_fill_add(k->m->fill, &to, k->err);
}

static int end_kind(struct marking *k, struct marker_kind *kind, uint64_t duration_ns)
{
	kind->is_open = false;
	k->endless += duration_ns == TRACE_UNKNOWN;
	return markers_put(k, kind, kind->name, strlen(kind->name), kind->start_ns, duration_ns);
}

static struct marker_kind *kind_of(struct marking *k)
{
	const struct marker_line *l = &k->line;
	const char *name = buf_str(&l->name);

	for (size_t i = 0; i < k->count; i++) {
		size_t n = (k->at + i) % k->count;
		struct marker_kind *kind = &k->kinds[n];

		if (kind->op == l->op && kind->rank == l->rank && strcmp(kind->name, name) == 0) {
			k->at = n;
			return kind;
		}
	}
	if (k->count == KINDS_MOST)
		return NULL;
	struct marker_kind *kind = &k->kinds[k->count++];

	kind->op = l->op;
	kind->rank = l->rank;
	kind->name = mem_strdup(name);
	return kind;
}

/* From 0, as a trace has them; a log may count from 1. Checkpoints have none (a log often counts
 * those of an epoch), but their order. */
static uint64_t number_of(struct marking *k, const struct marker_kind *kind)
{
	uint64_t n = k->line.number;

	if (kind->op == TRACE_STAGE)
		return TRACE_UNKNOWN;
	if (n == TRACE_UNKNOWN)
		return kind->count;
	if (!k->has_epochs)
		k->epoch_base = n > 0;
	k->has_epochs = true;
	return n < k->epoch_base ? n : n - k->epoch_base;
}

static int take_edge(struct marking *k, struct marker_kind *kind, uint64_t now_ns)
{
	int rc = 0;

	if (k->line.edge == MARKER_ENDS) {
		if (kind->is_open)
			return end_kind(k, kind, now_ns - u64_min(kind->start_ns, now_ns));
		k->startless++;
		return 0;
	}
	if (kind->is_open)
		rc = end_kind(k, kind, TRACE_UNKNOWN);
	kind->is_open = true;
	kind->start_ns = now_ns;
	kind->number = number_of(k, kind);
	kind->count++;
	return rc;
}

static int take_marker(struct marking *k)
{
	const struct marker_line *l = &k->line;
	struct marker_kind text = { .op = TRACE_TEXT, .rank = l->rank, .number = TRACE_UNKNOWN };
	struct marker_kind *kind;
	uint64_t now_ns;

	k->is_local |= l->is_local;
	if (!trace_time(k, l->time_ns, &now_ns))
		return 0;
	if (l->op == TRACE_TEXT)
		return l->name.len ? markers_put(k, &text, l->name.s, l->name.len, now_ns, 0) : 0;
	kind = kind_of(k);
	k->crowded += !kind;
	return kind ? take_edge(k, kind, now_ns) : 0;
}

/* ---- the file ---- */

static int take_wrong(struct marking *k, uint64_t line)
{
	if (!k->m->is_lenient)
		return trace_input_refuse(&k->in, line, k->err, "%s", k->line.wrong);
	if (!k->wrong++)
		import_note(k->m, "%s:%" PRIu64 ": %s", k->in.name, line, k->line.wrong);
	return 0;
}

static int read_lines(struct marking *k)
{
	struct buf line = { 0 };
	bool is_cut, is_table = false, is_first = true;
	int rc, found;

	while ((rc = trace_input_line(&k->in, &line, &is_cut, k->err)) > 0) {
		if (!line.len)
			continue;
		if (is_first)
			is_table = marker_line_is_csv(buf_str(&line));
		if (is_table)
			found = marker_line_csv(&k->line, buf_str(&line), is_first);
		else
			found = marker_line_mllog(&k->line, buf_str(&line), line.len);
		if (!found && !is_table)
			found = marker_line_dlio(&k->line, buf_str(&line));
		is_first = false;
		rc = found > 0 ? take_marker(k) : found ? take_wrong(k, k->in.line - !is_cut) : 0;
		if (rc < 0)
			break;
	}
	buf_fini(&line);
	return rc;
}

static void markers_tell(struct marking *k)
{
	if (k->wrong)
		import_note(k->m, "%s: %" PRIu64 " line%s could not be read", k->in.name, k->wrong,
			    plural(k->wrong));
	if (k->endless)
		import_note(k->m,
			    "%s: %" PRIu64
			    " marker%s without an end, and end where the next of the kind begins",
			    k->in.name, k->endless, plural(k->endless));
	if (k->startless)
		import_note(k->m, "%s: %" PRIu64 " end%s of what never began, left out", k->in.name,
			    k->startless, plural(k->startless));
	if (k->crowded)
		import_note(k->m, "%s: %" PRIu64 " marker%s of more than %d kinds left out",
			    k->in.name, k->crowded, plural(k->crowded), KINDS_MOST);
	if (k->m->is_day_unknown)
		import_note(k->m,
			    "%s: the log's times of day have neither zone nor date; they are taken "
			    "as this host's (TZ), on the day of the first marker",
			    k->in.name);
	if (k->is_local)
		import_note(k->m,
			    "%s: dates without a zone are taken as this host's; TZ=UTC or another "
			    "has them elsewhere",
			    k->in.name);
}

static int take_file(struct marking *k)
{
	int rc = read_lines(k);

	if (rc == 0 && k->least_ns > k->most_ns)
		rc = mlgen_fail(k->err, -EINVAL,
				"markers=%s: has no marker: no line of :::MLLOG, none of DLIO's "
				"output, and its first line is no time,text",
				k->in.name);
	else if (rc == 0 && !k->near)
		rc = refuse_clocks(k);
	for (size_t i = 0; rc == 0 && i < k->count; i++)
		if (k->kinds[i].is_open)
			rc = end_kind(k, &k->kinds[i], TRACE_UNKNOWN);
	if (rc == 0)
		markers_tell(k);
	return rc;
}

int import_markers(struct importing *m, const char *file, struct mlgen_err *err)
{
	struct marking k = { .m = m, .err = err, .least_ns = UINT64_MAX };
	int rc;

	if (m->no_clock)
		return mlgen_fail(err, -EINVAL, "markers=%s: have no place in the trace: %s", file,
				  m->no_clock);
	k.has_span = trace_fill_span(m->fill, &k.first_ns, &k.last_ns);
	rc = trace_input_open(&k.in, file, err);
	k.kinds = mem_array(KINDS_MOST, sizeof(*k.kinds));
	if (rc == 0)
		rc = take_file(&k);
	for (size_t i = 0; i < k.count; i++)
		mem_free(k.kinds[i].name);
	mem_free(k.kinds);
	marker_line_fini(&k.line);
	trace_input_close(&k.in);
	return rc;
}
