/* SPDX-License-Identifier: Apache-2.0 */
/* score_text.c - a score for people: the answer first, then figure by figure. */
#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/util.h"
#include "report/text/text.h"
#include "tracing/score/score.h"

static const char *verdict_word(int verdict)
{
	const struct mlgen_choice *c = score_verdicts;

	while (c->name && c->value != verdict)
		c++;
	return c->name;
}

/* ---- the answer ---- */

static bool metric_fails(const struct scored_phase *p, unsigned metric)
{
	const struct scored_part *parts = p->parts.items;

	for (size_t i = 0; i < p->parts.count; i++)
		if (parts[i].number == metric && parts[i].verdict == SCORE_FAIL)
			return true;
	return false;
}

/* "M5, M6 of train" */
static void put_failed(struct buf *out, const struct scored *s)
{
	const struct scored_phase *p = s->phases.items;
	const char *between = "";

	for (size_t i = 0; i < s->phases.count; i++) {
		if (p[i].verdict != SCORE_FAIL)
			continue;
		for (unsigned m = 1; m <= SCORE_METRICS; m++)
			if (metric_fails(&p[i], m)) {
				buf_addf(out, "%sM%u", between, m);
				between = ", ";
			}
		buf_addf(out, " of %s", p[i].name);
		between = "; ";
	}
}

static unsigned count_known(const struct scored *s)
{
	unsigned n = 0;

	for (unsigned m = 0; m < SCORE_METRICS; m++)
		n += isnan(s->worst[m]) ? 0 : 1;
	return n;
}

static void put_answer(struct buf *out, const struct scored *s)
{
	struct buf text = { 0 };

	if (s->verdict == SCORE_FAIL) {
		put_failed(&text, s);
		text_end(out, "score: NOT ALIKE", TEXT_ANSWER_INDENT, &text);
	} else {
		buf_addf(out,
			 s->verdict == SCORE_PASS
				 ? "score: alike in all of %u metrics that are known\n"
				 : "score: unknown, with %u metrics known\n",
			 count_known(s));
	}
}

/* ---- what it is of ---- */

static void put_traces(struct buf *out, const struct scored *s)
{
	const struct scored_trace *t = s->traces.items;

	for (size_t i = 0; i < s->traces.count; i++) {
		struct buf text = { 0 };

		buf_addf(&text, "%s: %" PRIu64 " record%s", t[i].file, t[i].records,
			 plural(t[i].records));
		if (t[i].other_calls)
			buf_addf(&text,
				 "; left out: %" PRIu64
				 " call%s on files that are no data set or checkpoint",
				 t[i].other_calls, plural(t[i].other_calls));
		if (t[i].failed_calls)
			buf_addf(&text, "; %" PRIu64 " failed", t[i].failed_calls);
		if (!t[i].is_complete)
			buf_add(&text, "; INCOMPLETE");
		text_end(out, i + 1 < s->traces.count ? "real" : "candidate",
			 TEXT_SETTING_INDENT + 2, &text);
	}
	if (s->unlike) {
		struct buf text = { 0 };

		buf_addf(&text, "M8 to M12 are shown and decide nothing: %s", s->unlike);
		text_end(out, "times", TEXT_SETTING_INDENT + 2, &text);
	}
	if (s->whole)
		text_put(out, "phases", TEXT_SETTING_INDENT + 2,
			 "no marked one in common; all of each is compared");
}

/* ---- figures ---- */

static void put_number(struct buf *out, double value, int width)
{
	if (isnan(value))
		buf_addf(out, "%*s", width, "-");
	else
		buf_addf(out, value >= 100 ? "%*.0f" : "%*.3f", width, value);
}

static void put_part(struct buf *out, const struct scored_part *p, bool is_first)
{
	char metric[8] = "";

	if (is_first)
		snprintf(metric, sizeof(metric), "M%u", p->number);
	buf_addf(out, "%-4s%-22s", metric, p->name);
	put_number(out, p->distance, 9);
	put_number(out, p->limit, 8);
	put_number(out, p->threshold, 10);
	put_number(out, p->preset, 8);
	put_number(out, p->floor, 8);
	buf_addf(out, "  %s\n", p->verdict == SCORE_FAIL ? "FAIL" : verdict_word(p->verdict));
}

static bool is_known(const struct scored_phase *p, unsigned metric)
{
	const struct scored_part *parts = p->parts.items;

	for (size_t i = 0; i < p->parts.count; i++)
		if (parts[i].number == metric && parts[i].verdict != SCORE_UNKNOWN)
			return true;
	return false;
}

/* Metrics of which nothing is known, and why. Of others the document has it. */
static void put_unknown(struct buf *out, const struct scored_phase *p)
{
	const struct scored_part *parts = p->parts.items;
	struct buf text = { 0 };
	unsigned last = 0;

	for (size_t i = 0; i < p->parts.count; i++) {
		if (parts[i].number == last || is_known(p, parts[i].number))
			continue;
		buf_addf(&text, "%sM%u (%s)", last ? ", " : "", parts[i].number,
			 parts[i].why ? parts[i].why : "not known");
		last = parts[i].number;
	}
	text_end(out, "unknown", TEXT_SETTING_INDENT, &text);
}

static void put_phase(struct buf *out, const struct scored_phase *p)
{
	const struct scored_part *parts = p->parts.items;
	unsigned last = 0;

	buf_addf(out, "\n%-26s distance   limit threshold  preset   floor\n", p->name);
	for (size_t i = 0; i < p->parts.count; i++) {
		if (parts[i].verdict == SCORE_UNKNOWN)
			continue;
		put_part(out, &parts[i], parts[i].number != last);
		last = parts[i].number;
	}
	put_unknown(out, p);
}

void score_text(FILE *to, const struct scored *s)
{
	const struct scored_phase *phases = s->phases.items;
	struct buf out = { 0 };

	put_answer(&out, s);
	buf_addc(&out, '\n');
	put_traces(&out, s);
	for (size_t i = 0; i < s->phases.count; i++)
		put_phase(&out, &phases[i]);
	text_print(to, &out);
	buf_fini(&out);
}
