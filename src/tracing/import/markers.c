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

/* ---- times: a number since 1970, or a date ---- */

enum { FRACTION_DIGITS = 9, MINUTE_S = 60, HOUR_S = 3600 };
/* Years whose ns since 1970 fit an int64_t. */
enum { YEAR_MIN = 1970, YEAR_MAX = 2261 };

/* The value of exactly this many digits, or -1. */
static int parse_digits(const char **s, size_t digits)
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

/* The fraction after a decimal point, in billionths; further digits are ignored. */
static uint64_t parse_fraction(const char **s)
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

/* Parse a zone into seconds east of Greenwich; false: no zone. */
static bool parse_zone(const char **s, int *east_s)
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
	hours = parse_digits(&at, 2);
	at += *at == ':';
	minutes = hours < 0 ? -1 : parse_digits(&at, 2);
	if (minutes < 0)
		return false;
	*east_s = sign * (hours * HOUR_S + minutes * MINUTE_S);
	*s = at;
	return true;
}

/* Parse YYYY-MM-DDTHH:MM:SS, or with a space in the middle. */
static bool parse_date_parts(const char **s, struct tm *t)
{
	static const struct {
		const char *separators; /* characters that may precede the digits */
		int min, max;
	} parts[] = {
		{ "", YEAR_MIN, YEAR_MAX },
		{ "-", 1, 12 },
		{ "-", 1, 31 },
		{ "T ", 0, 23 },
		{ ":", 0, 59 },
		{ ":", 0, 60 },
	};
	int value[ARRAY_LEN(parts)];

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (i && (!**s || !strchr(parts[i].separators, *(*s)++)))
			return false;
		value[i] = parse_digits(s, i ? 2 : 4);
		if (value[i] < parts[i].min || value[i] > parts[i].max)
			return false;
	}
	*t = (struct tm){ .tm_year = value[0] - 1900,
			  .tm_mon = value[1] - 1,
			  .tm_mday = value[2],
			  .tm_hour = value[3],
			  .tm_min = value[4],
			  .tm_sec = value[5],
			  .tm_isdst = -1 };
	return true;
}

static size_t parse_date(const char *s, uint64_t *ns, bool *is_local)
{
	const char *at = s;
	struct tm t;
	uint64_t fraction;
	int east_s;
	time_t seconds;

	if (!parse_date_parts(&at, &t))
		return 0;
	fraction = parse_fraction(&at);
	*is_local = !parse_zone(&at, &east_s);
	seconds = *is_local ? mktime(&t) : timegm(&t) - east_s;
	if (seconds < 0)
		return 0;
	*ns = (uint64_t)seconds * NS_PER_S + fraction;
	return (size_t)(at - s);
}

size_t marker_time(const char *s, uint64_t *ns, bool *is_local)
{
	size_t bytes = parse_date(s, ns, is_local);
	const char *at = s;
	uint64_t v = 0, fraction, unit;

	if (bytes)
		return bytes;
	*is_local = false;
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*at - '0'), &v))
			return 0;
	if (at == s)
		return 0;
	fraction = parse_fraction(&at);
	/* The magnitude of a present-day time tells its unit: s, ms, us or ns. */
	unit = v < UINT64_C(100000000000)         ? NS_PER_S
	       : v < UINT64_C(100000000000000)    ? 1000000
	       : v < UINT64_C(100000000000000000) ? 1000
						  : 1;
	if (__builtin_mul_overflow(v, unit, &v) ||
	    __builtin_add_overflow(v, fraction * unit / NS_PER_S, &v) || v > INT64_MAX)
		return 0;
	*ns = v;
	return (size_t)(at - s);
}

/* A longer text is truncated: a marker is a short label. */
enum { TEXT_BYTES_MAX = 1024 };

/* A sequence of words, not zero-terminated. */
struct marker_words {
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

static bool is_separator(char c)
{
	return c == ' ' || c == '_' || c == '\t';
}

static bool word_is(const struct marker_words *w, const char *word)
{
	return w->bytes == strlen(word) && strncasecmp(w->s, word, w->bytes) == 0;
}

static bool word_has(const struct marker_words *w, const char *part)
{
	size_t n = strlen(part);

	for (size_t i = 0; i + n <= w->bytes; i++)
		if (strncasecmp(w->s + i, part, n) == 0)
			return true;
	return false;
}

static void trim(struct marker_words *w)
{
	while (w->bytes && is_separator(w->s[w->bytes - 1]))
		w->bytes--;
	while (w->bytes && is_separator(*w->s)) {
		w->s++;
		w->bytes--;
	}
}

/* Remove the last word and return it. */
static struct marker_words pop_word(struct marker_words *w)
{
	size_t at = w->bytes;
	struct marker_words last;

	while (at && !is_separator(w->s[at - 1]))
		at--;
	last = (struct marker_words){ w->s + at, w->bytes - at };
	w->bytes = at;
	trim(w);
	return last;
}

static bool number_of(const struct marker_words *w, uint64_t *out)
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

/* Are the words "epoch" or "epoch 3"? */
static bool is_epoch(const struct marker_words *w, uint64_t *number)
{
	struct marker_words first = *w, last = pop_word(&first);

	if (!first.bytes)
		return word_is(&last, "epoch");
	return word_is(&first, "epoch") && number_of(&last, number);
}

void marker_line_words(struct marker_line *m, const char *text, size_t bytes)
{
	struct marker_words all = { text, bytes }, subject, last;
	uint64_t number = TRACE_UNKNOWN;

	trim(&all);
	subject = all;
	last = pop_word(&subject);
	m->edge = MARKER_POINT;
	if (subject.bytes && (word_is(&last, "start") || word_is(&last, "begin")))
		m->edge = MARKER_BEGINS;
	else if (subject.bytes && (word_is(&last, "stop") || word_is(&last, "end")))
		m->edge = MARKER_ENDS;
	if (m->edge == MARKER_POINT)
		subject = all;
	if (is_epoch(&subject, &number)) {
		m->op = TRACE_EPOCH;
		m->number = number;
		/* An epoch without a start or end mark lasts until the next epoch. */
		if (m->edge == MARKER_POINT)
			m->edge = MARKER_BEGINS;
	} else if (m->edge != MARKER_POINT &&
		   (word_has(&subject, "checkpoint") || word_has(&subject, "ckpt"))) {
		bool is_restore = word_has(&subject, "load") || word_has(&subject, "restor");

		m->op = TRACE_CHECKPOINT;
		buf_add(&m->name, is_restore ? "restore" : "save");
	} else {
		m->op = m->edge == MARKER_POINT ? TRACE_TEXT : TRACE_STAGE;
		buf_addn(&m->name, subject.s, u64_min(subject.bytes, TEXT_BYTES_MAX));
	}
}

/* ---- MLPerf ---- */

/* The rank before the mark: "3: :::MLLOG" or "[3] :::MLLOG"; -1 = none. */
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

/* A sink for json_dump_callback that limits the length. */
static int append_part(const char *text, size_t bytes, void *to)
{
	struct buf *name = to;

	if (name->len < 2 * TEXT_BYTES_MAX)
		buf_addn(name, text, u64_min(bytes, TEXT_BYTES_MAX));
	return 0;
}

static int parse_mllog(struct marker_line *m, const json_t *all)
{
	const json_t *key = json_object_get(all, "key");
	const json_t *value = json_object_get(all, "value");
	const json_t *time = json_object_get(all, "time_ms");
	const json_t *epoch = json_object_get(json_object_get(all, "metadata"), "epoch_num");
	double ms = json_is_number(time) ? json_number_value(time) : -1;
	double number = json_is_number(epoch) ? json_number_value(epoch) : -1;

	/* 2^63 ns are 9.2e12 ms. The negation also refuses NaN. */
	if (!json_is_string(key) || !(ms >= 0 && ms < 9.2e12)) {
		snprintf(m->wrong, sizeof(m->wrong),
			 "a line of MLPerf needs a text 'key' and a number 'time_ms'");
		return -1;
	}
	m->time_ns = json_is_integer(time) ? (uint64_t)json_integer_value(time) * 1000000
					   : (uint64_t)llround(ms * 1e6);
	marker_line_words(m, json_string_value(key), json_string_length(key));
	if (m->op == TRACE_EPOCH && number >= 0 && number < 9e15)
		m->number = (uint64_t)number;
	if (m->op == TRACE_TEXT && value && !json_is_null(value)) {
		buf_add(&m->name, ": ");
		json_dump_callback(value, append_part, &m->name,
				   JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
	}
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
		snprintf(m->wrong, sizeof(m->wrong), "no JSON object follows :::MLLOG: %.120s",
			 error.text);
		return -1;
	}
	rc = parse_mllog(m, all);
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
	/* DLIO 2; earlier versions write the last two. */
	{ "Starting saving checkpoint ", MARKER_BEGINS, TRACE_CHECKPOINT, "save" },
	{ "Finished saving checkpoint ", MARKER_ENDS, TRACE_CHECKPOINT, "save" },
	{ "Starting loading checkpoint ", MARKER_BEGINS, TRACE_CHECKPOINT, "restore" },
	{ "Finished loading checkpoint ", MARKER_ENDS, TRACE_CHECKPOINT, "restore" },
	{ "Starting checkpoint ", MARKER_BEGINS, TRACE_CHECKPOINT, "save" },
	{ "Ending checkpoint ", MARKER_ENDS, TRACE_CHECKPOINT, "save" },
};

/* Parse "[OUTPUT] 2026-02-28T12:00:00.000000 Starting epoch 1: ...". */
static int marker_line_dlio(struct marker_line *m, const char *line)
{
	const struct dlio_line *l = NULL;
	const char *at = line;
	size_t bytes;

	marker_reset(m);
	if (*at == '[' && strchr(at, ']'))
		at = strchr(at, ']') + 1;
	while (*at == ' ')
		at++;
	bytes = strchr("0123456789", *at) ? marker_time(at, &m->time_ns, &m->is_local) : 0;
	if (!bytes || at[bytes] != ' ')
		return 0;
	at += bytes + 1;
	for (size_t i = 0; !l && i < ARRAY_LEN(dlio_lines); i++)
		if (strncmp(at, dlio_lines[i].text, strlen(dlio_lines[i].text)) == 0)
			l = &dlio_lines[i];
	if (!l)
		return 0;
	m->op = l->op;
	m->edge = l->edge;
	buf_add(&m->name, l->name);
	if (l->op == TRACE_EPOCH) {
		const char *digits = at + strlen(l->text);
		struct marker_words w = { digits, strspn(digits, "0123456789") };

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
	/* Python's logging puts a comma between a date and its milliseconds. */
	line += bytes + 1;
	return strspn(line, "0123456789") != 3 || line[3] != ' ';
}

/* Parse "time,text"; the text may be in quotes, and the first line may be a header. */
static int marker_line_csv(struct marker_line *m, const char *line, bool is_first)
{
	struct buf text = { 0 };
	const char *cell;
	size_t bytes;

	marker_reset(m);
	if (!*line || (is_first && is_header(line)))
		return 0;
	bytes = marker_time(line, &m->time_ns, &m->is_local);
	if (!bytes || line[bytes] != ',') {
		snprintf(m->wrong, sizeof(m->wrong),
			 "'%.40s' is not a time and text separated by a comma; a time is seconds "
			 "since 1970, or 2026-02-28T12:00:00Z",
			 line);
		return -1;
	}
	cell = line + bytes + 1;
	bytes = strlen(cell);
	if (bytes < 2 || *cell != '"' || cell[bytes - 1] != '"') {
		buf_addn(&text, cell, bytes);
	} else {
		for (size_t i = 1; i + 1 < bytes; i++) {
			buf_addc(&text, cell[i]);
			i += cell[i] == '"' && cell[i + 1] == '"';
		}
	}
	marker_line_words(m, buf_str(&text), text.len);
	buf_fini(&text);
	return 1;
}

/* Kinds of markers, over all ranks; markers of further kinds are left out. */
enum { KINDS_MAX = 4096 };
#define NS_PER_DAY (UINT64_C(86400) * NS_PER_S)

/* A kind of marker, such as the epochs of a rank. At most one marker of a kind is open at a time.
 */
struct marker_kind {
	uint16_t op;
	int64_t rank;
	char *name;
	bool is_open;
	uint64_t start_ns, number;
	uint64_t count; /* markers started so far */
};

struct marker_reader {
	struct importing *m;
	struct mlgen_err *err;
	struct trace_input in;
	struct marker_line line;
	struct marker_kind *kinds;
	size_t count, at;           /* `at`: the kind used last */
	uint64_t first_ns, last_ns; /* span of the trace */
	bool has_span;
	uint64_t offset_ns; /* subtracted from a time of day */
	bool has_offset, has_epochs;
	uint64_t min_ns, max_ns; /* times of day of the markers */
	uint64_t epoch_base;     /* number of the log's first epoch: 0 or 1 */
	uint64_t near, wrong, without_end, without_begin, too_many;
	bool is_local;
};

/* ---- clocks ---- */

/* The clock offset. If the day is unknown, use the day on which the first marker is nearest to the
 * start of the trace. */
static uint64_t find_offset(const struct marker_reader *k, uint64_t time_ns)
{
	uint64_t offset = k->m->clock_offset_ns, at, zone_ns;
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	long day_s = (long)(NS_PER_DAY / NS_PER_S);
	struct tm t = { 0 };

	if (!k->m->is_day_unknown)
		return offset;
	localtime_r(&seconds, &t);
	zone_ns = (uint64_t)((t.tm_gmtoff + day_s) % day_s) * NS_PER_S;
	offset = (offset + NS_PER_DAY - zone_ns) % NS_PER_DAY;
	at = time_ns - k->first_ns - offset + NS_PER_DAY / 2;
	return offset + at / NS_PER_DAY * NS_PER_DAY;
}

/* ---- markers of the trace ---- */

static int add_marker(struct marker_reader *k, const struct marker_kind *kind, const char *text,
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
	return trace_fill_add(k->m->fill, &to, k->err);
}

static int end_kind(struct marker_reader *k, struct marker_kind *kind, uint64_t duration_ns)
{
	kind->is_open = false;
	k->without_end += duration_ns == TRACE_UNKNOWN;
	return add_marker(k, kind, kind->name, strlen(kind->name), kind->start_ns, duration_ns);
}

static struct marker_kind *kind_of(struct marker_reader *k)
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
	if (k->count == KINDS_MAX)
		return NULL;
	struct marker_kind *kind = &k->kinds[k->count++];

	kind->op = l->op;
	kind->rank = l->rank;
	kind->name = mem_strdup(name);
	return kind;
}

/* The number of a marker, starting at 0; a log may count epochs from 1. Checkpoints are numbered in
 * order, because a log often counts them anew in each epoch. */
static uint64_t number_in_trace(struct marker_reader *k, const struct marker_kind *kind)
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

static int apply_marker(struct marker_reader *k)
{
	const struct marker_line *l = &k->line;
	struct marker_kind text = { .op = TRACE_TEXT, .rank = l->rank, .number = TRACE_UNKNOWN };
	struct marker_kind *kind;
	uint64_t now_ns;
	int rc = 0;

	k->is_local |= l->is_local;
	if (!k->has_offset)
		k->offset_ns = find_offset(k, l->time_ns);
	k->has_offset = true;
	k->min_ns = u64_min(k->min_ns, l->time_ns);
	k->max_ns = u64_max(k->max_ns, l->time_ns);
	if (l->time_ns < k->offset_ns)
		return 0;
	now_ns = l->time_ns - k->offset_ns;
	k->near += !k->has_span ||
		   (now_ns + NS_PER_DAY >= k->first_ns && now_ns <= k->last_ns + NS_PER_DAY);

	if (l->op == TRACE_TEXT)
		return l->name.len ? add_marker(k, &text, l->name.s, l->name.len, now_ns, 0) : 0;
	kind = kind_of(k);
	if (!kind) {
		k->too_many++;
		return 0;
	}
	if (l->edge == MARKER_ENDS) {
		if (kind->is_open)
			return end_kind(k, kind, now_ns - u64_min(kind->start_ns, now_ns));
		k->without_begin++;
		return 0;
	}
	if (kind->is_open)
		rc = end_kind(k, kind, TRACE_UNKNOWN);
	kind->is_open = true;
	kind->start_ns = now_ns;
	kind->number = number_in_trace(k, kind);
	kind->count++;
	return rc;
}

/* ---- the file ---- */

static int read_lines(struct marker_reader *k)
{
	struct buf line = { 0 };
	bool is_cut, is_table = false, is_first = true;
	uint64_t number;
	int rc, status;

	while ((rc = trace_input_line(&k->in, &line, &is_cut, k->err)) > 0) {
		if (!line.len)
			continue;
		if (is_first)
			is_table = marker_line_is_csv(buf_str(&line));
		if (is_table)
			status = marker_line_csv(&k->line, buf_str(&line), is_first);
		else
			status = marker_line_mllog(&k->line, buf_str(&line), line.len);
		if (!status && !is_table)
			status = marker_line_dlio(&k->line, buf_str(&line));
		is_first = false;
		number = k->in.line - !is_cut;
		if (status > 0)
			rc = apply_marker(k);
		else if (status < 0 && !k->m->is_lenient)
			rc = trace_input_fail(&k->in, number, k->err, "%s", k->line.wrong);
		else if (status < 0 && !k->wrong++)
			import_note(k->m, "%s:%" PRIu64 ": %s", k->in.name, number, k->line.wrong);
		if (rc < 0)
			break;
	}
	buf_fini(&line);
	return rc;
}

static void add_notes(struct marker_reader *k)
{
	if (k->wrong)
		import_note(k->m, "%s: %" PRIu64 " line%s could not be read", k->in.name, k->wrong,
			    plural(k->wrong));
	if (k->without_end)
		import_note(k->m,
			    "%s: %" PRIu64
			    " marker%s without an end; the next marker of the same kind ends them",
			    k->in.name, k->without_end, plural(k->without_end));
	if (k->without_begin)
		import_note(k->m, "%s: %" PRIu64 " end%s without a begin, left out", k->in.name,
			    k->without_begin, plural(k->without_begin));
	if (k->too_many)
		import_note(k->m, "%s: %" PRIu64 " marker%s beyond %d kinds left out", k->in.name,
			    k->too_many, plural(k->too_many), KINDS_MAX);
	if (k->m->is_day_unknown)
		import_note(k->m,
			    "%s: the log's times of day have neither zone nor date; this host's "
			    "zone (TZ) and the day of the first marker are assumed",
			    k->in.name);
	if (k->is_local)
		import_note(k->m,
			    "%s: dates without a zone are in this host's zone; set TZ=UTC or "
			    "another zone to change this",
			    k->in.name);
}

int import_markers(struct importing *m, const char *file, struct mlgen_err *err)
{
	struct marker_reader k = { .m = m, .err = err, .min_ns = UINT64_MAX };
	uint64_t marker_ms, trace_ms;
	int rc;

	if (m->no_clock)
		return mlgen_fail(err, -EINVAL, "markers=%s: cannot be placed in the trace: %s",
				  file, m->no_clock);
	k.has_span = trace_fill_span(m->fill, &k.first_ns, &k.last_ns);
	rc = trace_input_open(&k.in, file, err);
	k.kinds = mem_array(KINDS_MAX, sizeof(*k.kinds));
	if (rc == 0)
		rc = read_lines(&k);
	marker_ms = k.min_ns / 1000000;
	trace_ms = k.first_ns / 1000000;
	if (rc == 0 && k.min_ns > k.max_ns)
		rc = mlgen_fail(err, -EINVAL,
				"markers=%s: contains no markers: neither lines of :::MLLOG nor of "
				"DLIO's output, and its first line is not time,text",
				k.in.name);
	else if (rc == 0 && !k.near)
		rc = mlgen_fail(err, -EINVAL,
				"markers=%s: no marker is within a day of the trace: the first "
				"marker is at %" PRIu64 ".%03" PRIu64
				" s since 1970, and the trace begins at %" PRIu64 ".%03" PRIu64
				" s%s; are both from the same run?",
				k.in.name, marker_ms / 1000, marker_ms % 1000, trace_ms / 1000,
				trace_ms % 1000, k.offset_ns ? " of its own clock" : "");
	for (size_t i = 0; rc == 0 && i < k.count; i++)
		if (k.kinds[i].is_open)
			rc = end_kind(&k, &k.kinds[i], TRACE_UNKNOWN);
	if (rc == 0)
		add_notes(&k);
	for (size_t i = 0; i < k.count; i++)
		mem_free(k.kinds[i].name);
	mem_free(k.kinds);
	marker_line_fini(&k.line);
	trace_input_close(&k.in);
	return rc;
}
