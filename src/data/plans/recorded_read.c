/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_read.c - a text of recorded calls, line by line. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/wordlines.h"
#include "data/plans/plans.h"

/* As many lines as there can be, and their comments. */
#define BYTES_MAX (UINT64_C(64) << 20)
#define OFFSET_MAX (UINT64_C(1) << 60)

/* What is read, and how far. */
struct reading {
	struct wordlines in;
	struct recorded *r;
	unsigned kb_base;
	struct recorded_template *template; /* NULL before the first */
	unsigned begun;                     /* its line */
	bool is_open, has_read;             /* of it */
};

#define FAIL(r, code, ...) wordlines_fail(&(r)->in, (code), __VA_ARGS__)

/* ---- a read ---- */

static int read_bytes(const struct reading *r, const char *text, uint64_t *out)
{
	struct mlgen_err why = { 0 };
	int rc = units_size(text, r->kb_base, out, &why);

	return rc ? FAIL(r, rc, "%s", why.text) : 0;
}

/* "end-65557": its sign is '-' for the end, and '+' for all others. */
static int read_anchor(const struct reading *r, const char *text, struct recorded_call *c)
{
	size_t len = strcspn(text, "+-");
	unsigned i = 0;
	int rc = 0;

	while (i <= RECORDED_ANY &&
	       (strlen(recorded_anchor_word((enum recorded_anchor)i)) != len ||
		strncmp(recorded_anchor_word((enum recorded_anchor)i), text, len) != 0))
		i++;
	if (i > RECORDED_ANY)
		return FAIL(r, -EINVAL,
			    "'%s': is no place; write start+N, end-N, here, sample+N or any", text);
	c->anchor = (enum recorded_anchor)i;
	if (!text[len])
		return 0;
	if (i == RECORDED_ANY || (text[len] == '-') != (i == RECORDED_END))
		return FAIL(r, -EINVAL, "'%s': is no place; %s", text,
			    i == RECORDED_ANY   ? "any has no distance"
			    : i == RECORDED_END ? "write end-N"
						: "only end has a - behind it");
	rc = read_bytes(r, text + len + 1, &c->off);
	if (rc == 0 && c->off > OFFSET_MAX)
		return FAIL(r, -ERANGE, "'%s': is too far", text);
	return rc;
}

static int read_length(const struct reading *r, const char *text, struct recorded_length *l)
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
				    "'%s': write a part of the file, above 0 and up to 100%%",
				    text);
	} else if (l->kind == RECORDED_BYTES) {
		rc = read_bytes(r, text, &l->bytes);
		if (rc)
			return rc;
		if (l->bytes == 0 || l->bytes > RECORDED_BYTES_MAX)
			return FAIL(r, -ERANGE, "'%s': a call reads 1 to %u bytes", text,
				    RECORDED_BYTES_MAX);
	}
	return 0;
}

static int read_lengths(const struct reading *r, char *text, struct recorded_call *c)
{
	char *at = text;
	int rc = 0;

	while (at && rc == 0) {
		char *comma = strchr(at, ',');

		if (comma)
			*comma++ = '\0';
		if (c->lengths == RECORDED_LENGTHS_MAX)
			return FAIL(r, -E2BIG, "more than %u lengths", RECORDED_LENGTHS_MAX);
		rc = read_length(r, at, &c->length[c->lengths++]);
		at = comma;
	}
	return rc;
}

static bool has_rest(const struct recorded_call *c)
{
	for (unsigned i = 0; i < c->lengths; i++)
		if (c->length[i].kind == RECORDED_REST ||
		    c->length[i].kind == RECORDED_REST_OF_SAMPLE)
			return true;
	return false;
}

static int read_count(const struct reading *r, const char *text, struct recorded_call *c)
{
	bool is_to_end = text && *text == '*';

	c->times = c->lengths;
	if (!text)
		return 0;
	if (is_to_end && (c->anchor == RECORDED_ANY || has_rest(c)))
		return FAIL(r, -EINVAL, "'%s': %s; write xN", text,
			    has_rest(c) ? "the first call reads to the end"
					: "random places have no end");
	if (strcmp(text, "*") == 0)
		c->until = RECORDED_TO_END;
	else if (strcmp(text, "*sample") == 0)
		c->until = RECORDED_TO_END_OF_SAMPLE;
	else if (*text != 'x' || units_u64(text + 1, &c->times, NULL) || c->times < 1 ||
		 c->times > RECORDED_COUNT_MAX)
		return FAIL(r, -EINVAL,
			    "'%s': is no count; write xN for 1 to %u calls, * to the end of the "
			    "file or *sample",
			    text, RECORDED_COUNT_MAX);
	return 0;
}

static int take_read(struct reading *r, struct recorded_call *c, char **at)
{
	const char *anchor = wordlines_word(at);
	char *lengths = wordlines_word(at);
	int rc;

	if (!lengths)
		return FAIL(r, -EINVAL,
			    "half a read; write read PLACE LENGTH, such as read start 4096 or read "
			    "here 64k *");
	rc = read_anchor(r, anchor, c);
	if (rc == 0)
		rc = read_lengths(r, lengths, c);
	if (rc == 0)
		rc = read_count(r, wordlines_word(at), c);
	return rc;
}

/* ---- lines ---- */

/* Is the call possible behind those before it? */
static int check_order(struct reading *r, const struct recorded_call *c)
{
	const char *wrong = NULL;

	if (c->op == MLGEN_OPEN && r->is_open)
		wrong = "open: the file is open already";
	else if (c->op == MLGEN_CLOSE && !r->is_open)
		wrong = "close: the file is not open";
	else if (c->op == MLGEN_READ && !r->is_open)
		wrong = "read: the file is not open; write open before it";
	if (wrong)
		return FAIL(r, -EINVAL, "%s", wrong);
	if (c->op == MLGEN_READ)
		r->has_read = true;
	else if (c->op != MLGEN_STAT)
		r->is_open = c->op == MLGEN_OPEN;
	return 0;
}

static void add_call(struct recorded_template *t, const struct recorded_call *c)
{
	/* Powers of two: room doubles when it is used up. */
	if ((t->count & (t->count - 1)) == 0)
		t->calls = mem_realloc(t->calls, (t->count ? t->count * 2 : 1) * sizeof(*t->calls));
	t->calls[t->count++] = *c;
}

static int take_call(struct reading *r, const char *word, char **at)
{
	static const struct {
		const char *word;
		enum mlgen_op op;
	} ops[] = { { "open", MLGEN_OPEN },
		    { "stat", MLGEN_STAT },
		    { "read", MLGEN_READ },
		    { "close", MLGEN_CLOSE } };
	struct recorded_call c = { 0 };
	size_t i = 0;
	int rc = 0;

	while (i < 4 && strcmp(ops[i].word, word) != 0)
		i++;
	if (i == 4)
		return FAIL(r, -EINVAL,
			    "'%s': is no call; a line is template, open, stat, read or close",
			    word);
	if (!r->template)
		return FAIL(r, -EINVAL, "%s: before any template; the first line is template 100%%",
			    word);
	if (r->template->count == RECORDED_CALLS_MAX)
		return FAIL(r, -E2BIG, "more than %u lines in a template", RECORDED_CALLS_MAX);
	c.op = ops[i].op;
	if (c.op == MLGEN_READ)
		rc = take_read(r, &c, at);
	if (rc == 0)
		rc = check_order(r, &c);
	if (rc == 0)
		add_call(r->template, &c);
	return rc;
}

/* What the template that ends here has left undone. */
static int end_template(struct reading *r)
{
	if (!r->template)
		return 0;
	r->in.line = r->begun;
	if (r->is_open)
		return FAIL(r, -EINVAL,
			    "the template does not close what it opens; write close at its end");
	if (!r->has_read)
		return FAIL(r, -EINVAL, "a template without a read");
	return 0;
}

static int take_template(struct reading *r, const char *share)
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
			    "write the share of samples behind template, above 0 and up to 100%%, "
			    "such as template 93%%");
	r->template = &r->r->templates[r->r->count++];
	r->template->percent = percent;
	r->r->percent += percent;
	r->begun = line;
	r->is_open = r->has_read = false;
	return 0;
}

static int take_line(void *arg, char *line)
{
	struct reading *r = arg;
	const char *word = wordlines_word(&line);
	int rc = strcmp(word, "template") == 0 ? take_template(r, wordlines_word(&line))
					       : take_call(r, word, &line);

	word = rc == 0 ? wordlines_word(&line) : NULL;
	return word ? FAIL(r, -EINVAL, "'%s': more words than such a line has", word) : rc;
}

static int check_shares(const struct reading *r)
{
	const struct recorded *x = r->r;

	if (x->count == 0)
		return mlgen_fail(r->in.err, -EINVAL,
				  "%s: no template stands in it; write template 100%%, and the "
				  "calls below it, one a line",
				  r->in.path);
	if (x->percent < 99 || x->percent > 101)
		return mlgen_fail(
			r->in.err, -EINVAL,
			"%s: the shares of its %u template%s are %.4g%% together, and not 100%%",
			r->in.path, x->count, x->count > 1 ? "s" : "", x->percent);
	return 0;
}

static int read_calls(struct reading *r)
{
	static const struct wordlines_sort calls = {
		.option = "recorded_calls: ",
		.noun = "a file of calls",
		.most_bytes = BYTES_MAX,
		.take = take_line,
	};
	int rc = wordlines_read(&r->in, &calls, r);

	if (rc == 0)
		rc = end_template(r);
	return rc ? rc : check_shares(r);
}

int recorded_read(struct recorded **out, const char *path, unsigned kb_base, struct mlgen_err *err)
{
	struct reading r = { .in = { .path = path, .err = err },
			     .r = mem_zalloc(sizeof(*r.r)),
			     .kb_base = kb_base };
	int rc;

	r.r->holders = 1;
	r.r->templates = mem_array(RECORDED_TEMPLATES_MAX, sizeof(*r.r->templates));
	rc = read_calls(&r);
	*out = rc ? NULL : r.r;
	if (rc)
		recorded_free(r.r);
	return rc;
}
