/* SPDX-License-Identifier: Apache-2.0 */
/* markers.c - epochs, stages and checkpoints from the log of the application itself. */
#include "tracing/import/import_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/trace.h"

/* ---- a time of day as logs have it: a number since 1970, or a date ---- */

enum { FRACTION_DIGITS = 9, MINUTE_S = 60, HOUR_S = 3600 };
/* A year that fits 64 bits of ns. */
enum { YEAR_LEAST = 1970, YEAR_MOST = 2261 };

/* Exactly so many digits: their value, or -1. */
static int take_digits(const char **s, size_t digits)
{
	int v = 0;

	for (size_t i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*s)[i]))
			return -1;
		v = v * 10 + ((*s)[i] - '0');
	}
	*s += digits;
	return v;
}

/* What stands behind a point, in billionths. */
static uint64_t take_fraction(const char **s)
{
	uint64_t v = 0;
	unsigned digits = 0;

	if (**s != '.' || !isdigit((unsigned char)(*s)[1]))
		return 0;
	for (++*s; isdigit((unsigned char)**s); ++*s)
		if (digits < FRACTION_DIGITS) {
			v = v * 10 + (uint64_t)(**s - '0');
			digits++;
		}
	for (; digits < FRACTION_DIGITS; digits++)
		v *= 10;
	return v;
}

/* Seconds east of Greenwich; false: there is no zone. */
static bool take_zone(const char **s, int *east_s)
{
	const char *at = *s;
	int sign = *at == '-' ? -1 : 1, hours, minutes;

	*east_s = 0;
	if (*at == 'Z') {
		++*s;
		return true;
	}
	if (*at++ != '+' && sign > 0)
		return false;
	hours = take_digits(&at, 2);
	at += *at == ':';
	minutes = hours < 0 ? -1 : take_digits(&at, 2);
	if (minutes < 0)
		return false;
	*east_s = sign * (hours * HOUR_S + minutes * MINUTE_S);
	*s = at;
	return true;
}

static bool is_date(const struct tm *t)
{
	return t->tm_year >= YEAR_LEAST - 1900 && t->tm_year <= YEAR_MOST - 1900 &&
	       t->tm_mon >= 0 && t->tm_mon < 12 && t->tm_mday >= 1 && t->tm_mday <= 31 &&
	       t->tm_hour >= 0 && t->tm_hour < 24 && t->tm_min >= 0 && t->tm_min < 60 &&
	       t->tm_sec >= 0 && t->tm_sec <= 60;
}

/* Digits with one of `between` behind each but the last. */
static bool take_parts(const char **s, struct tm *t)
{
	int *const part[] = { &t->tm_year, &t->tm_mon, &t->tm_mday,
			      &t->tm_hour, &t->tm_min, &t->tm_sec };
	static const char *const before[] = { "", "-", "-", "T ", ":", ":" };

	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		if (i && (!**s || !strchr(before[i], *(*s)++)))
			return false;
		*part[i] = take_digits(s, i ? 2 : 4);
		if (*part[i] < 0)
			return false;
	}
	t->tm_year -= 1900;
	t->tm_mon -= 1;
	return is_date(t);
}

static size_t take_date(const char *s, uint64_t *ns, bool *is_local)
{
	const char *at = s;
	struct tm t = { .tm_isdst = -1 };
	uint64_t fraction;
	int east_s;
	time_t seconds;

	if (!take_parts(&at, &t))
		return 0;
	fraction = take_fraction(&at);
	*is_local = !take_zone(&at, &east_s);
	seconds = *is_local ? mktime(&t) : timegm(&t) - east_s;
	if (seconds < 0)
		return 0;
	*ns = (uint64_t)seconds * NS_PER_S + fraction;
	return (size_t)(at - s);
}

/* Of a time in our lives, its size tells the unit. */
static uint64_t unit_ns(uint64_t v)
{
	return v < UINT64_C(100000000000)         ? NS_PER_S
	       : v < UINT64_C(100000000000000)    ? 1000000
	       : v < UINT64_C(100000000000000000) ? 1000
						  : 1;
}

static size_t take_since_1970(const char *s, uint64_t *ns)
{
	const char *at = s;
	uint64_t v = 0, fraction, unit;

	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return 0;
	if (at == s)
		return 0;
	fraction = take_fraction(&at);
	unit = unit_ns(v);
	if (__builtin_mul_overflow(v, unit, &v) ||
	    __builtin_add_overflow(v, fraction * unit / NS_PER_S, &v) || v > INT64_MAX)
		return 0;
	*ns = v;
	return (size_t)(at - s);
}

size_t marker_time(const char *s, uint64_t *ns, bool *is_local)
{
	size_t bytes = take_date(s, ns, is_local);

	if (bytes)
		return bytes;
	*is_local = false;
	return take_since_1970(s, ns);
}

/* Of a text; more says nothing that a marker is for. */
enum { TEXT_MOST = 1024 };

/* A word, not zero-terminated. */
struct words {
	const char *s;
	size_t bytes;
};

static void marker_reset(struct marker_line *m)
{
	buf_reset(&m->name);
	m->is_local = false;
	m->edge = MARKER_POINT;
	m->op = TRACE_TEXT;
	m->number = TRACE_UNKNOWN;
	m->rank = -1;
	*m->wrong = '\0';
}

void marker_line_fini(struct marker_line *m)
{
	buf_fini(&m->name);
}

/* ---- words ---- */

static bool is_between(char c)
{
	return c == ' ' || c == '_' || c == '\t';
}

static bool word_is(const struct words *w, const char *word)
{
	return w->bytes == strlen(word) && strncasecmp(w->s, word, w->bytes) == 0;
}

static bool word_has(const struct words *w, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= w->bytes; i++)
		if (strncasecmp(w->s + i, part, n) == 0)
			return true;
	return false;
}

static void trim(struct words *w)
{
	while (w->bytes && is_between(w->s[w->bytes - 1]))
		w->bytes--;
	while (w->bytes && is_between(*w->s)) {
		w->s++;
		w->bytes--;
	}
}

/* Takes the last one off. */
static struct words last_word(struct words *w)
{
	size_t at = w->bytes;
	struct words last;

	while (at && !is_between(w->s[at - 1]))
		at--;
	last = (struct words){ w->s + at, w->bytes - at };
	w->bytes = at;
	trim(w);
	return last;
}

static enum marker_edge edge_of(const struct words *w)
{
	if (word_is(w, "start") || word_is(w, "begin"))
		return MARKER_BEGINS;
	if (word_is(w, "stop") || word_is(w, "end"))
		return MARKER_ENDS;
	return MARKER_POINT;
}

static bool number_of(const struct words *w, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < w->bytes; i++)
		if (!isdigit((unsigned char)w->s[i]) ||
		    __builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(w->s[i] - '0'), &v))
			return false;
	*out = v;
	return w->bytes;
}

/* "epoch", "epoch 3". */
static bool is_epoch(const struct words *w, uint64_t *number)
{
	struct words first = *w, last = last_word(&first);

	if (!first.bytes)
		return word_is(&last, "epoch");
	return word_is(&first, "epoch") && number_of(&last, number);
}

static const char *checkpoint_kind(const struct words *w)
{
	if (!word_has(w, "checkpoint") && !word_has(w, "ckpt"))
		return NULL;
	return word_has(w, "load") || word_has(w, "restor") ? "restore" : "save";
}

void marker_line_words(struct marker_line *m, const char *text, size_t bytes)
{
	struct words all = { text, bytes }, what, last;
	uint64_t number = TRACE_UNKNOWN;
	const char *kind;

	trim(&all);
	what = all;
	last = last_word(&what);
	m->edge = what.bytes ? edge_of(&last) : MARKER_POINT;
	if (m->edge == MARKER_POINT)
		what = all;
	kind = m->edge == MARKER_POINT ? NULL : checkpoint_kind(&what);
	if (is_epoch(&what, &number)) {
		m->op = TRACE_EPOCH;
		m->number = number;
		/* Until the next one, where it is only named. */
		if (m->edge == MARKER_POINT)
			m->edge = MARKER_BEGINS;
	} else if (kind) {
		m->op = TRACE_CHECKPOINT;
		buf_add(&m->name, kind);
	} else {
		m->op = m->edge == MARKER_POINT ? TRACE_TEXT : TRACE_STAGE;
		buf_addn(&m->name, what.s, u64_min(what.bytes, TEXT_MOST));
	}
}

/* ---- MLPerf ---- */

/* "3: :::MLLOG", "[3] :::MLLOG": its rank. */
static int64_t rank_before(const char *line, const char *mark)
{
	const char *at = mark;
	int64_t v = 0, place = 1;

	while (at > line && strchr(" :]", at[-1]))
		at--;
	if (at == line || !isdigit((unsigned char)at[-1]))
		return -1;
	for (; at > line && isdigit((unsigned char)at[-1]); at--) {
		if (place > INT32_MAX)
			return -1;
		v += place * (at[-1] - '0');
		place *= 10;
	}
	return at == line || at[-1] == '[' || isspace((unsigned char)at[-1]) ? v : -1;
}

static bool mllog_time(const json_t *j, uint64_t *ns)
{
	double v = json_is_number(j) ? json_number_value(j) : -1;

	/* 2^63 ns are 9.2e12 ms; NaN is none of them. */
	if (!(v >= 0 && v < 9.2e12))
		return false;
	*ns = json_is_integer(j) ? (uint64_t)json_integer_value(j) * 1000000
				 : (uint64_t)llround(v * 1e6);
	return true;
}

static void take_number(struct marker_line *m, const json_t *metadata)
{
	const json_t *n = json_object_get(metadata, "epoch_num");
	double v = json_is_number(n) ? json_number_value(n) : -1;

	if (v >= 0 && v < 9e15)
		m->number = (uint64_t)v;
}

/* Only so much of it. */
static int add_part(const char *text, size_t bytes, void *to)
{
	struct buf *name = to;

	if (name->len < 2 * TEXT_MOST)
		buf_addn(name, text, u64_min(bytes, TEXT_MOST));
	return 0;
}

static void add_value(struct marker_line *m, const json_t *value)
{
	if (!value || json_is_null(value))
		return;
	buf_add(&m->name, ": ");
	json_dump_callback(value, add_part, &m->name,
			   JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
}

static int take_mllog(struct marker_line *m, const json_t *all)
{
	const json_t *key = json_object_get(all, "key");

	if (!json_is_string(key) || !mllog_time(json_object_get(all, "time_ms"), &m->time_ns)) {
		snprintf(m->wrong, sizeof(m->wrong),
			 "a line of MLPerf has a text 'key' and a number 'time_ms'");
		return -1;
	}
	marker_line_words(m, json_string_value(key), json_string_length(key));
	if (m->op == TRACE_EPOCH)
		take_number(m, json_object_get(all, "metadata"));
	else if (m->op == TRACE_TEXT)
		add_value(m, json_object_get(all, "value"));
	return 1;
}

int marker_line_mllog(struct marker_line *m, const char *line, size_t bytes)
{
	static const char mark[] = ":::MLLOG";
	const char *at = memmem(line, bytes, mark, strlen(mark));
	json_error_t error;
	json_t *all;
	int rc;

	marker_reset(m);
	if (!at)
		return 0;
	m->rank = rank_before(line, at);
	at += strlen(mark);
	all = json_loadb(at, bytes - (size_t)(at - line), JSON_DISABLE_EOF_CHECK, &error);
	if (!json_is_object(all)) {
		json_decref(all);
		snprintf(m->wrong, sizeof(m->wrong),
			 "behind :::MLLOG stands no object of JSON: %.120s", error.text);
		return -1;
	}
	rc = take_mllog(m, all);
	json_decref(all);
	return rc;
}

/* ---- DLIO ---- */

static const struct dlio_line {
	const char *text;
	enum marker_edge edge;
	uint16_t op;
	const char *name;
} dlio_lines[] = {
	{ "Starting epoch ", MARKER_BEGINS, TRACE_EPOCH, "" },
	{ "Ending epoch ", MARKER_ENDS, TRACE_EPOCH, "" },
	{ "Starting block ", MARKER_BEGINS, TRACE_STAGE, "block" },
	{ "Ending block ", MARKER_ENDS, TRACE_STAGE, "block" },
	{ "Starting eval", MARKER_BEGINS, TRACE_STAGE, "eval" },
	{ "Ending eval", MARKER_ENDS, TRACE_STAGE, "eval" },
	{ "Starting data generation", MARKER_BEGINS, TRACE_STAGE, "generate" },
	{ "Generation done", MARKER_ENDS, TRACE_STAGE, "generate" },
	/* Version 2, and before it. */
	{ "Starting saving checkpoint ", MARKER_BEGINS, TRACE_CHECKPOINT, "save" },
	{ "Finished saving checkpoint ", MARKER_ENDS, TRACE_CHECKPOINT, "save" },
	{ "Starting loading checkpoint ", MARKER_BEGINS, TRACE_CHECKPOINT, "restore" },
	{ "Finished loading checkpoint ", MARKER_ENDS, TRACE_CHECKPOINT, "restore" },
	{ "Starting checkpoint ", MARKER_BEGINS, TRACE_CHECKPOINT, "save" },
	{ "Ending checkpoint ", MARKER_ENDS, TRACE_CHECKPOINT, "save" },
};

static const struct dlio_line *dlio_line_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(dlio_lines); i++)
		if (strncmp(text, dlio_lines[i].text, strlen(dlio_lines[i].text)) == 0)
			return &dlio_lines[i];
	return NULL;
}

/* "[OUTPUT] 2026-02-28T12:00:00.000000 Starting epoch 1: ..." of DLIO. */
static int marker_line_dlio(struct marker_line *m, const char *line)
{
	const struct dlio_line *l;
	const char *at = line;
	size_t bytes;

	marker_reset(m);
	/* "[OUTPUT] ". */
	if (*at == '[' && strchr(at, ']'))
		at = strchr(at, ']') + 1;
	while (*at == ' ')
		at++;
	bytes = strchr("0123456789", *at) ? marker_time(at, &m->time_ns, &m->is_local) : 0;
	if (!bytes || at[bytes] != ' ')
		return 0;
	l = dlio_line_of(at + bytes + 1);
	if (!l)
		return 0;
	m->op = l->op;
	m->edge = l->edge;
	buf_add(&m->name, l->name);
	if (l->op == TRACE_EPOCH) {
		const char *digits = at + bytes + 1 + strlen(l->text);
		struct words w = { digits, strspn(digits, "0123456789") };

		number_of(&w, &m->number);
	}
	return 1;
}

/* ---- time,text ---- */

static bool is_header(const char *line)
{
	return strncasecmp(line, "time,text", strlen("time,text")) == 0 ||
	       strncasecmp(line, "time_ns,text", strlen("time_ns,text")) == 0;
}

bool marker_line_is_csv(const char *line)
{
	uint64_t ns;
	bool is_local;
	size_t bytes = marker_time(line, &ns, &is_local);

	if (is_header(line))
		return true;
	if (!bytes || line[bytes] != ',')
		return false;
	/* Python's logging has a comma before the milliseconds of its dates. */
	line += bytes + 1;
	return strspn(line, "0123456789") != 3 || line[3] != ' ';
}

/* Without its quotes, where it has them. */
static void unquote(struct buf *to, const char *text)
{
	size_t bytes = strlen(text);

	if (bytes < 2 || *text != '"' || text[bytes - 1] != '"') {
		buf_addn(to, text, bytes);
		return;
	}
	for (size_t i = 1; i + 1 < bytes; i++) {
		buf_addc(to, text[i]);
		i += text[i] == '"' && text[i + 1] == '"';
	}
}

/* "time,text"; the first line may say just that. */
static int marker_line_csv(struct marker_line *m, const char *line, bool is_first)
{
	struct buf text = { 0 };
	size_t bytes;

	marker_reset(m);
	if (!*line || (is_first && is_header(line)))
		return 0;
	bytes = marker_time(line, &m->time_ns, &m->is_local);
	if (!bytes || line[bytes] != ',') {
		snprintf(m->wrong, sizeof(m->wrong),
			 "'%.40s' is no time and text with a comma between them; a time is seconds "
			 "since 1970, or 2026-02-28T12:00:00Z",
			 line);
		return -1;
	}
	unquote(&text, line + bytes + 1);
	marker_line_words(m, buf_str(&text), text.len);
	buf_fini(&text);
	return 1;
}

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
static uint64_t mark_number(struct marking *k, const struct marker_kind *kind)
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
	kind->number = mark_number(k, kind);
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
