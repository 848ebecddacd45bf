/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - access=recorded: templates of calls in a text file, and the calls of a sample. */
#include "data/plans/plans_internal.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/log.h"
#include "base/dist.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"

#define RECORDED_BYTES_MAX 2147479552u /* limit of one read(2) in the kernel */

#define RECORDED_COUNT_MAX 1000000000u

/* Number of templates in a file. */
#define RECORDED_TEMPLATES_MAX 256u

/* ---- templates ---- */

static const char *const anchor_words[] = {
	[RECORDED_START] = "start",   [RECORDED_END] = "end", [RECORDED_HERE] = "here",
	[RECORDED_SAMPLE] = "sample", [RECORDED_ANY] = "any",
};

struct recorded *recorded_ref(struct recorded *r)
{
	if (r)
		r->holders++;
	return r;
}

void recorded_free(struct recorded *r)
{
	if (!r || --r->holders)
		return;
	for (uint32_t i = 0; i < r->count; i++)
		mem_free(r->templates[i].calls);
	mem_free(r->templates);
	mem_free(r);
}

/* ---- writing ---- */

static void write_read(FILE *to, const struct recorded_call *c)
{
	fprintf(to, "read %s", anchor_words[c->anchor]);
	if (c->off)
		fprintf(to, "%c%llu", c->anchor == RECORDED_END ? '-' : '+',
			(unsigned long long)c->off);
	for (unsigned i = 0; i < c->lengths; i++) {
		const struct recorded_length *l = &c->length[i];
		char text[UNITS_TEXT_BYTES];

		fputc(i ? ',' : ' ', to);
		switch (l->kind) {
		case RECORDED_BYTES:
			fprintf(to, "%llu", (unsigned long long)l->bytes);
			break;
		case RECORDED_PERCENT:
			fprintf(to, "%s%%", units_format_f64(text, l->percent));
			break;
		case RECORDED_REST:
			fputs("rest", to);
			break;
		case RECORDED_REST_OF_SAMPLE:
			fputs("sample", to);
			break;
		}
	}
	if (c->until == RECORDED_TO_END)
		fputs(" *", to);
	else if (c->until == RECORDED_TO_END_OF_SAMPLE)
		fputs(" *sample", to);
	else if (c->times != c->lengths)
		fprintf(to, " x%llu", (unsigned long long)c->times);
	fputc('\n', to);
}

void recorded_write(FILE *to, const struct recorded *r, const char *const *why)
{
	char share[UNITS_TEXT_BYTES];

	for (uint32_t i = 0; i < r->count; i++) {
		const struct recorded_template *t = &r->templates[i];

		if (i)
			fputc('\n', to);
		if (why && why[i])
			fprintf(to, "# %s\n", why[i]);
		fprintf(to, "template %s%%\n", units_format_f64(share, t->percent));
		for (uint32_t k = 0; k < t->count; k++) {
			const struct recorded_call *c = &t->calls[k];

			if (c->op == MLGEN_READ)
				write_read(to, c);
			else
				fprintf(to, "%s\n",
					c->op == MLGEN_OPEN   ? "open"
					: c->op == MLGEN_STAT ? "stat"
							      : "close");
		}
	}
}

/* ---- queries ---- */

const struct recorded_template *recorded_of(const struct recorded *r, uint64_t extent)
{
	double at = rng_f64(r->seed, RNG_RECORDED, extent) * r->percent;
	uint32_t i = 0;

	while (i + 1 < r->count && at >= r->templates[i].percent)
		at -= r->templates[i++].percent;
	return &r->templates[i];
}

uint64_t recorded_largest_read(const struct recorded *r)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < r->count; i++) {
		const struct recorded_template *t = &r->templates[i];

		for (uint32_t k = 0; k < t->count; k++) {
			const struct recorded_call *c = &t->calls[k];

			for (unsigned n = 0; n < c->lengths; n++) {
				if (c->length[n].kind != RECORDED_BYTES)
					return UINT64_MAX;
				if (c->length[n].bytes > most)
					most = c->length[n].bytes;
			}
		}
	}
	return most;
}

/* ---- parser of the text, line by line ---- */

/* Limit of the file, enough for the maximum number of lines with comments. */
#define BYTES_MAX (UINT64_C(64) << 20)
#define OFFSET_MAX (UINT64_C(1) << 60)

/* State of the parser. */
struct recorded_parser {
	struct wordlines in;
	struct recorded *r;
	unsigned kb_base;
	struct recorded_template *template; /* the current one; NULL before the first */
	unsigned template_line;             /* line that begins it */
	bool is_open, has_read;             /* calls of the template so far */
};

#define FAIL(r, code, ...) wordlines_fail(&(r)->in, (code), __VA_ARGS__)

static int parse_bytes(const struct recorded_parser *r, const char *text, uint64_t *out)
{
	struct mlgen_err why = { 0 };
	int rc = units_size(text, r->kb_base, out, &why);

	return rc ? FAIL(r, rc, "%s", why.text) : 0;
}

/* Parse an anchor such as "end-65557". The sign is '-' for the end and '+' for all others. */
static int parse_anchor(const struct recorded_parser *r, const char *text, struct recorded_call *c)
{
	size_t len = strcspn(text, "+-");
	unsigned i = 0;
	int rc = 0;

	while (i <= RECORDED_ANY &&
	       (strlen(anchor_words[i]) != len || strncmp(anchor_words[i], text, len) != 0))
		i++;
	if (i > RECORDED_ANY)
		return FAIL(r, -EINVAL,
			    "'%s': is not a place; write start+N, end-N, here, sample+N or any",
			    text);
	c->anchor = (enum recorded_anchor)i;
	if (!text[len])
		return 0;
	if (i == RECORDED_ANY || (text[len] == '-') != (i == RECORDED_END))
		return FAIL(r, -EINVAL, "'%s': is not a place; %s", text,
			    i == RECORDED_ANY   ? "any takes no distance"
			    : i == RECORDED_END ? "write end-N"
						: "only end allows a - after it");
	rc = parse_bytes(r, text + len + 1, &c->off);
	if (rc == 0 && c->off > OFFSET_MAX)
		return FAIL(r, -ERANGE, "'%s': this offset is too large", text);
	return rc;
}

static int parse_length(const struct recorded_parser *r, const char *text,
			struct recorded_length *l)
{
	struct mlgen_err why = { 0 };
	size_t n = strlen(text);
	int rc;

	l->kind = strcmp(text, "rest") == 0     ? RECORDED_REST
		  : strcmp(text, "sample") == 0 ? RECORDED_REST_OF_SAMPLE
		  : n && text[n - 1] == '%'     ? RECORDED_PERCENT
						: RECORDED_BYTES;
	if (l->kind == RECORDED_PERCENT) {
		if (units_percent(text, &l->percent, &why) ||
		    !(l->percent > 0 && l->percent <= 100))
			return FAIL(r, -EINVAL,
				    "'%s': write a percentage of the file, above 0 and up to 100%%",
				    text);
	} else if (l->kind == RECORDED_BYTES) {
		rc = parse_bytes(r, text, &l->bytes);
		if (rc)
			return rc;
		if (l->bytes == 0 || l->bytes > RECORDED_BYTES_MAX)
			return FAIL(r, -ERANGE, "'%s': a call reads 1 to %u bytes", text,
				    RECORDED_BYTES_MAX);
	}
	return 0;
}

static bool has_rest(const struct recorded_call *c)
{
	for (unsigned i = 0; i < c->lengths; i++)
		if (c->length[i].kind == RECORDED_REST ||
		    c->length[i].kind == RECORDED_REST_OF_SAMPLE)
			return true;
	return false;
}

static int parse_read(struct recorded_parser *r, struct recorded_call *c, char **at)
{
	const char *anchor = wordlines_word(at);
	char *lengths = wordlines_word(at);

	if (!lengths)
		return FAIL(r, -EINVAL,
			    "a read needs a place and a length; write read PLACE LENGTH, such as "
			    "read start 4096 or read here 64k *");
	int rc = parse_anchor(r, anchor, c);
	while (lengths && rc == 0) {
		char *comma = strchr(lengths, ',');

		if (comma)
			*comma++ = '\0';
		if (c->lengths == RECORDED_LENGTHS_MAX)
			return FAIL(r, -E2BIG, "more than %u lengths", RECORDED_LENGTHS_MAX);
		rc = parse_length(r, lengths, &c->length[c->lengths++]);
		lengths = comma;
	}
	if (rc)
		return rc;

	const char *text = wordlines_word(at);
	bool is_to_end = text && *text == '*';

	c->times = c->lengths;
	if (!text)
		return 0;
	if (is_to_end && (c->anchor == RECORDED_ANY || has_rest(c)))
		return FAIL(r, -EINVAL, "'%s': %s; write xN", text,
			    has_rest(c) ? "the first call reads to the end"
					: "calls at random places never reach the end");
	if (strcmp(text, "*") == 0)
		c->until = RECORDED_TO_END;
	else if (strcmp(text, "*sample") == 0)
		c->until = RECORDED_TO_END_OF_SAMPLE;
	else if (*text != 'x' || units_u64(text + 1, &c->times, NULL) || c->times < 1 ||
		 c->times > RECORDED_COUNT_MAX)
		return FAIL(r, -EINVAL,
			    "'%s': is not a count; write xN for 1 to %u calls, * to the end of the "
			    "file or *sample",
			    text, RECORDED_COUNT_MAX);
	return 0;
}

static int parse_call(struct recorded_parser *r, const char *word, char **at)
{
	static const struct {
		const char *word;
		enum mlgen_op op;
	} ops[] = { { "open", MLGEN_OPEN },
		    { "stat", MLGEN_STAT },
		    { "read", MLGEN_READ },
		    { "close", MLGEN_CLOSE } };
	struct recorded_template *t = r->template;
	struct recorded_call c = { 0 };
	size_t i = 0;
	int rc = 0;

	while (i < 4 && strcmp(ops[i].word, word) != 0)
		i++;
	if (i == 4)
		return FAIL(r, -EINVAL,
			    "'%s': is not a call; a line begins with template, open, stat, read or "
			    "close",
			    word);
	if (!t)
		return FAIL(r, -EINVAL,
			    "%s: a template must come first; begin with the line template 100%%",
			    word);
	if (t->count == RECORDED_CALLS_MAX)
		return FAIL(r, -E2BIG, "more than %u lines in a template", RECORDED_CALLS_MAX);
	c.op = ops[i].op;
	if (c.op == MLGEN_READ)
		rc = parse_read(r, &c, at);
	if (rc)
		return rc;

	const char *wrong = NULL;

	if (c.op == MLGEN_OPEN && r->is_open)
		wrong = "open: the file is open already";
	else if (c.op == MLGEN_CLOSE && !r->is_open)
		wrong = "close: the file is not open";
	else if (c.op == MLGEN_READ && !r->is_open)
		wrong = "read: the file is not open; write open before it";
	if (wrong)
		return FAIL(r, -EINVAL, "%s", wrong);
	if (c.op == MLGEN_READ)
		r->has_read = true;
	else if (c.op != MLGEN_STAT)
		r->is_open = c.op == MLGEN_OPEN;

	t->calls = mem_grow(t->calls, &t->room, t->count + 1, sizeof(*t->calls));
	t->calls[t->count++] = c;
	return 0;
}

/* Check that the template that ends here is complete. */
static int end_template(struct recorded_parser *r)
{
	if (!r->template)
		return 0;
	r->in.line = r->template_line;
	if (r->is_open)
		return FAIL(r, -EINVAL,
			    "the template does not close what it opens; write close at its end");
	if (!r->has_read)
		return FAIL(r, -EINVAL, "the template has no read");
	return 0;
}

static int begin_template(struct recorded_parser *r, const char *share)
{
	unsigned line = r->in.line;
	struct mlgen_err why = { 0 };
	double percent;
	int rc = end_template(r);

	r->in.line = line;
	if (rc)
		return rc;
	if (r->r->count == RECORDED_TEMPLATES_MAX)
		return FAIL(r, -E2BIG, "more than %u templates", RECORDED_TEMPLATES_MAX);
	if (!share || units_percent(share, &percent, &why) || !(percent > 0 && percent <= 100))
		return FAIL(r, -EINVAL,
			    "write the share of samples after template, above 0 and up to 100%%, "
			    "such as template 93%%");
	r->template = &r->r->templates[r->r->count++];
	r->template->percent = percent;
	r->r->percent += percent;
	r->template_line = line;
	r->is_open = r->has_read = false;
	return 0;
}

static int parse_line(void *arg, char *line)
{
	struct recorded_parser *r = arg;
	const char *word = wordlines_word(&line);
	int rc = strcmp(word, "template") == 0 ? begin_template(r, wordlines_word(&line))
					       : parse_call(r, word, &line);

	word = rc == 0 ? wordlines_word(&line) : NULL;
	return word ? FAIL(r, -EINVAL, "'%s': this word is too many for such a line", word) : rc;
}

int recorded_read(struct recorded **out, const char *path, unsigned kb_base, struct mlgen_err *err)
{
	static const struct wordlines_format calls = {
		.option = "recorded_calls: ",
		.noun = "a file of calls",
		.most_bytes = BYTES_MAX,
		.take = parse_line,
	};
	struct recorded_parser r = { .in = { .path = path, .err = err },
				     .r = mem_zalloc(sizeof(*r.r)),
				     .kb_base = kb_base };

	r.r->holders = 1;
	r.r->templates = mem_array(RECORDED_TEMPLATES_MAX, sizeof(*r.r->templates));
	int rc = wordlines_read(&r.in, &calls, &r);
	if (rc == 0)
		rc = end_template(&r);
	if (rc == 0 && r.r->count == 0)
		rc = mlgen_fail(err, -EINVAL,
				"%s: contains no template; write template 100%%, and the calls "
				"below it, one per line",
				path);
	else if (rc == 0 && (r.r->percent < 99 || r.r->percent > 101))
		rc = mlgen_fail(
			err, -EINVAL,
			"%s: the shares of its %u template%s add up to %.4g%%, not to 100%%", path,
			r.r->count, r.r->count > 1 ? "s" : "", r.r->percent);
	*out = rc ? NULL : r.r;
	if (rc)
		recorded_free(r.r);
	return rc;
}

/* ---- the calls of a sample ---- */

/*
 * Every call waits for the previous one, as in the recorded program. With direct=1 a read is
 * widened to whole blocks, and the next one continues after them. If a sample is a pair of files,
 * the template applies to each.
 */

/* Range of the extent in the open file. */
static void find_sample(const struct plan *p, uint64_t *begin, uint64_t *end)
{
	const struct format *f = p->config->dataset->format;
	uint64_t len = p->file_bytes;

	*begin = 0;
	if (format_has_parts(f, &p->shape))
		format_sample_range(f, &p->shape, p->extent.first_sample, p->extent.samples, begin,
				    &len);
	*end = *begin + len;
}

static uint64_t bytes_until(uint64_t off, uint64_t end)
{
	return off < end ? end - off : 0;
}

static uint64_t end_of_sample(const struct plan *p)
{
	uint64_t begin, end;

	find_sample(p, &begin, &end);
	return end;
}

/* Bytes of a length that is not a rest. */
static uint64_t plain_length(const struct plan *p, const struct recorded_length *l)
{
	if (l->kind == RECORDED_BYTES)
		return l->bytes;
	double part = (double)p->file_bytes * l->percent / 100 + 0.5;
	return part < 1 ? 1 : part < RECORDED_BYTES_MAX ? (uint64_t)part : RECORDED_BYTES_MAX;
}

static uint64_t place_of(const struct plan *p, const struct recorded_call *c, uint64_t len)
{
	uint64_t begin, end, places, seed;

	if (c->anchor == RECORDED_ANY) {
		seed = rng_u64(p->config->dataset->recorded->seed, RNG_RECORDED, p->extent.id);
		places = len ? p->file_bytes / len : 0;
		return places ? rng_u64(seed, p->step, p->recorded.done) % places * len : 0;
	}
	if (p->recorded.done || p->recorded.goes_on)
		return p->recorded.here;
	switch (c->anchor) {
	case RECORDED_END:
		return bytes_until(c->off, p->file_bytes);
	case RECORDED_HERE:
		return p->recorded.here + c->off;
	case RECORDED_SAMPLE:
		find_sample(p, &begin, &end);
		return begin + c->off;
	default:
		return c->off;
	}
}

/* ---- runs of reads that are counted at once ---- */

/* Bytes of a cycle, in which each length is used once; 0 = cycles are not all alike. */
static uint64_t cycle_bytes(const struct plan *p, const struct recorded_call *c)
{
	uint64_t align = p->config->align_bytes, sum = 0;

	for (unsigned i = 0; i < c->lengths; i++) {
		const struct recorded_length *l = &c->length[i];
		uint64_t len = plain_length(p, l);

		if (l->kind == RECORDED_REST || l->kind == RECORDED_REST_OF_SAMPLE ||
		    (align && len % align) || len > p->file_bytes)
			return 0;
		sum += len;
	}
	return sum;
}

/* Number of cycles that can be skipped; at least one is left. */
static uint64_t cycles_alike(const struct plan *p, const struct recorded_call *c, uint64_t bytes)
{
	uint64_t off = place_of(p, c, 0), end = p->file_bytes, n, fit;

	if (c->until == RECORDED_TO_END_OF_SAMPLE)
		end = u64_min(end, end_of_sample(p));
	if (p->config->align_bytes && off % p->config->align_bytes)
		return 0;
	n = fit = bytes_until(off, end) / bytes;
	if (c->until == RECORDED_TIMES)
		n = c->times / c->lengths;
	if (c->anchor != RECORDED_ANY)
		n = u64_min(n, fit);
	return n ? n - 1 : 0;
}

/* Skip most of a run at its beginning; count it in `to` unless that is NULL. */
static void skip_run(struct plan *p, const struct recorded_call *c, struct plan_counts *to)
{
	uint64_t bytes = cycle_bytes(p, c), n;

	if (bytes == 0)
		return;
	n = cycles_alike(p, c, bytes);
	if (n == 0)
		return;
	p->recorded.here = place_of(p, c, 0) + n * bytes;
	p->recorded.done = n * c->lengths;
	if (!to)
		return;
	for (unsigned i = 0; i < c->lengths; i++)
		sizes_add(&to->reads, plain_length(p, &c->length[i]), n);
	to->ops[MLGEN_READ] += n * c->lengths;
	to->io_bytes += n * bytes;
}

/* ---- calls in order ---- */

static bool next_read(struct plan *p, const struct recorded_call *c, struct plan_op *op)
{
	uint64_t done = p->recorded.done, align = p->config->align_bytes, off, len;

	if (c->until == RECORDED_TIMES && done >= c->times)
		return false;
	const struct recorded_length *l = &c->length[done % c->lengths];
	len = l->kind <= RECORDED_PERCENT ? plain_length(p, l) : 0;
	off = place_of(p, c, len);

	uint64_t left = UINT64_MAX;

	if (l->kind == RECORDED_REST || c->until == RECORDED_TO_END)
		left = bytes_until(off, p->file_bytes);
	else if (l->kind == RECORDED_REST_OF_SAMPLE || c->until == RECORDED_TO_END_OF_SAMPLE)
		left = bytes_until(off, end_of_sample(p));
	if (l->kind == RECORDED_REST || l->kind == RECORDED_REST_OF_SAMPLE)
		len = u64_min(left, RECORDED_BYTES_MAX);
	else if (c->until == RECORDED_TO_END_OF_SAMPLE)
		len = u64_min(left, len);
	if (left == 0)
		return false;

	/* The rest of the file may be more than one call moves; the next call then continues. */
	p->recorded.goes_on = l->kind > RECORDED_PERCENT && len >= RECORDED_BYTES_MAX;
	p->recorded.done += !p->recorded.goes_on;
	/* Widen the read to whole blocks. After the end of the file has been read, a further read
	 * begins in the block after it, not in the block that contains it. */
	if (align) {
		uint64_t end = off + len;

		off = off >= p->file_bytes ? round_up(off, align) : off - off % align;
		len = round_up(end > off ? end - off : 1, align);
	}
	op->op = MLGEN_READ;
	op->off = off;
	op->len_bytes = len;
	p->recorded.here = off + u64_min(len, bytes_until(off, p->file_bytes));
	return true;
}

static bool recorded_next(struct plan *p, struct plan_op *op)
{
	const struct recorded_template *t = p->recorded.of;

	op->after = true;
	for (;;) {
		if (p->step == t->count) {
			const struct dataset *ds = p->config->dataset;

			if (ds->labels || p->has + 1 >= dataset_sample_parts(ds))
				return false;
			p->has++;
			p->step = 0;
		}

		const struct recorded_call *c = &t->calls[p->step];

		if (c->op != MLGEN_READ) {
			op->op = c->op;
			op->part = p->has;
			if (c->op == MLGEN_OPEN)
				p->recorded.here = 0;
			p->step++;
			return true;
		}
		if (p->recorded.is_counted && p->recorded.done == 0)
			skip_run(p, c, p->recorded.counts);
		if (next_read(p, c, op))
			return true;
		p->recorded.done = 0;
		p->recorded.goes_on = false;
		p->step++;
	}
}

static void recorded_init(struct plan *p, const struct file_shape *shape, const struct extent *x)
{
	(void)shape;
	p->recorded.of = recorded_of(p->config->dataset->recorded, x->id);
}

/* A run's beginning is known only after the calls before it. All calls are therefore walked on a
 * copy of the plan; the plan itself then leaves out the reads that were counted. */
static void recorded_skip(struct plan *p, struct plan_counts *c)
{
	struct plan_op op;

	p->recorded.is_counted = true;
	struct plan ahead = *p;
	ahead.recorded.counts = c;
	while (plan_next(&ahead, &op))
		;
}

static uint64_t recorded_largest(const struct plan_config *config)
{
	uint64_t most = recorded_largest_read(config->dataset->recorded);

	return config->align_bytes && most < UINT64_MAX
		       ? round_up(most, config->align_bytes) + config->align_bytes
		       : most;
}

const struct plan_kind plan_recorded = {
	.init = recorded_init,
	.next = recorded_next,
	.skip = recorded_skip,
	.largest_read = recorded_largest,
};
