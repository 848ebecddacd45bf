/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - compare traces phase by phase, and print the result for people. */
#include "tracing/score/score_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "report/metrics/metrics.h"
#include "report/text/text.h"

/* By chance, a candidate can exceed the distance between real traces by up to this factor. */
#define FLOOR_TIMES 1.5

/* Calls between phases are compared if they are at least 1 / BETWEEN_PART of all calls. */
#define BETWEEN_PART 100

struct scoring {
	struct scored *to;
	struct json_store *store;
	const char *const *files, *const *names;
	struct profile *of; /* profiles of the traces, the candidate last */
	size_t count;
};

static const struct profile_phase none; /* stands for a phase that a trace does not have */

static const struct profile_phase *phase_or_none(const struct profile *p, const char *name)
{
	const struct profile_phase *phase = profile_find(p, name);

	return phase ? phase : &none;
}

/* ---- one figure ---- */

static struct score_distance distance_of(const struct scoring *s, const struct score_part *part,
					 const char *phase, size_t real, size_t other)
{
	const struct score_pair pair = {
		.real = &s->of[real],
		.candidate = &s->of[other],
		.a = phase_or_none(&s->of[real], phase),
		.b = phase_or_none(&s->of[other], phase),
	};

	/* The result has numbers, and text that is constant. */
	/* cppcheck-suppress returnDanglingLifetime */
	return part->distance(&pair, part);
}

static void score_part(const struct scoring *s, const struct score_part *part, const char *phase,
		       struct scored_part *to)
{
	struct score_distance d = { .value = (double)NAN };
	char metric[8];

	/* The distance of the candidate from the real trace that it is farthest from. */
	for (size_t i = 0; i + 1 < s->count; i++) {
		struct score_distance apart = distance_of(s, part, phase, i, s->count - 1);

		if (i == 0 || isnan(d.value) || apart.value > d.value)
			d = apart;
	}
	/* The largest distance between real traces; NaN if there is only one. */
	double most = (double)NAN;
	for (size_t i = 0; i + 1 < s->count; i++)
		for (size_t j = 0; j + 1 < s->count; j++)
			if (i != j)
				most = fmax(most, distance_of(s, part, phase, i, j).value);

	snprintf(metric, sizeof(metric), "m%u", part->metric);
	*to = (struct scored_part){
		.metric = json_store_text(s->store, metric),
		.number = part->metric,
		.name = part->name,
		.distance = d.value,
		.why = d.why,
		.threshold = part->distilled,
		.preset = part->preset,
		.floor = FLOOR_TIMES * most,
		.chance = d.at_least > 0 ? d.at_least : (double)NAN,
	};
	to->limit = fmax(fmax(to->threshold, to->chance), to->floor);
	to->verdict = isnan(to->distance)                                ? SCORE_UNKNOWN
		      : score_is_timed(to->number) && !s->to->same_place ? SCORE_SHOWN
		      : to->distance <= to->limit                        ? SCORE_PASS
									 : SCORE_FAIL;
}

/* ---- phases ---- */

static void score_phase(const struct scoring *s, const char *name, struct scored_phase *to)
{
	struct scored_part *parts;
	size_t count = 0;

	while (score_parts[count].name)
		count++;
	parts = json_store_alloc(s->store, count * sizeof(*parts));
	*to = (struct scored_phase){
		.name = json_store_text(s->store, name),
		.verdict = SCORE_UNKNOWN,
		.parts = { parts, count },
	};
	for (size_t i = 0; i < count; i++) {
		score_part(s, &score_parts[i], name, &parts[i]);
		if (parts[i].verdict == SCORE_PASS || parts[i].verdict == SCORE_FAIL) {
			double *worst = &s->to->worst[parts[i].number - 1];

			*worst = fmax(*worst, parts[i].distance / parts[i].limit);
		}
		if (parts[i].verdict == SCORE_FAIL)
			to->verdict = SCORE_FAIL;
		else if (parts[i].verdict == SCORE_PASS && to->verdict == SCORE_UNKNOWN)
			to->verdict = SCORE_PASS;
	}
	if (to->verdict == SCORE_FAIL)
		s->to->verdict = SCORE_FAIL;
	else if (to->verdict == SCORE_PASS && s->to->verdict == SCORE_UNKNOWN)
		s->to->verdict = SCORE_PASS;
}

/* Is the phase compared? */
static bool is_compared(const struct profile *of, const struct profile_phase *p)
{
	uint64_t calls = 0;

	if (strcmp(p->name, PROFILE_BETWEEN) != 0)
		return p->calls > 0;
	for (size_t i = 0; i < of->count; i++)
		calls += of->phases[i].calls;
	return p->calls && p->calls * BETWEEN_PART >= calls;
}

/* Does any trace before trace i have this phase? */
static bool is_in_earlier_trace(const struct scoring *s, size_t i, const char *name)
{
	while (i-- > 0) {
		const struct profile_phase *p = profile_find(&s->of[i], name);

		if (p && is_compared(&s->of[i], p))
			return true;
	}
	return false;
}

static void score_phases(const struct scoring *s)
{
	struct scored_phase *phases =
		json_store_alloc(s->store, s->count * PROFILE_PHASES * sizeof(*phases));
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->of[i].count; k++) {
			const struct profile_phase *p = &s->of[i].phases[k];

			if (is_compared(&s->of[i], p) && !is_in_earlier_trace(s, i, p->name))
				score_phase(s, p->name, &phases[n++]);
		}
	s->to->phases = (struct metric_list){ phases, n };
}

/* ---- the traces ---- */

static const char *unlike_of(const struct scoring *s)
{
	const struct profile *first = &s->of[0];

	for (size_t i = 0; i < s->count; i++) {
		const struct profile *p = &s->of[i];

		if (!p->host || !p->storage)
			return "a trace does not name its host and storage";
		if (strcmp(p->host, first->host) != 0)
			return "the traces come from different hosts";
		if (strcmp(p->storage, first->storage) != 0)
			return "the traces come from different filesystems";
	}
	return NULL;
}

/* ---- reading ---- */

static int read_one(struct scoring *s, size_t i, bool whole, struct mlgen_err *err)
{
	struct profile *p = &s->of[i];
	const char *name = s->names[i];
	int rc = profile_trace(p, s->files[i], whole, err);

	if (rc < 0)
		return rc;
	for (size_t k = 0; k < p->count; k++)
		if (p->phases[k].calls)
			return 0;
	if (!p->records)
		return mlgen_fail(err, -EINVAL, "%s: has no records, so it cannot be scored", name);
	return mlgen_fail(err, -EINVAL,
			  "%s: has no call on a file of a data set or checkpoint (%" PRIu64
			  " on other files, %" PRIu64 " failed), so it cannot be scored",
			  name, p->other_calls, p->failed_calls);
}

static void free_profiles(struct scoring *s)
{
	for (size_t i = 0; i < s->count; i++)
		profile_fini(&s->of[i]);
}

static int read_all(struct scoring *s, bool whole, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < s->count && rc == 0; i++)
		rc = read_one(s, i, whole, err);
	return rc;
}

/* Do all traces have a phase in common? Calls between phases do not count as a phase. */
static bool have_phase(const struct scoring *s)
{
	for (size_t k = 0; k < s->of[0].count; k++) {
		const char *name = s->of[0].phases[k].name;
		size_t i = 0;

		while (i < s->count && profile_find(&s->of[i], name))
			i++;
		if (i == s->count && strcmp(name, PROFILE_BETWEEN) != 0)
			return true;
	}
	return false;
}

int score_traces(struct score *to, const char *const *files, const char *const *names, size_t count,
		 struct mlgen_err *err)
{
	struct scoring s = { .to = &to->document.score,
			     .store = &to->store,
			     .files = files,
			     .names = names,
			     .count = count };

	*to = (struct score){
		.document = { .version = metrics_version(),
			      .schema_version = METRICS_SCHEMA_VERSION },
	};
	s.of = mem_array(count, sizeof(*s.of));
	int rc = read_all(&s, false, err);
	if (rc == 0 && !have_phase(&s)) {
		/* The markers of the traces differ: compare each trace as one phase. */
		s.to->whole = true;
		free_profiles(&s);
		rc = read_all(&s, true, err);
	}
	if (rc == 0) {
		struct scored_trace *t = json_store_alloc(s.store, s.count * sizeof(*t));

		for (size_t i = 0; i < s.count; i++) {
			const struct trace_read *read = &s.of[i].read;

			t[i] = (struct scored_trace){
				.file = json_store_text(s.store, s.names[i]),
				.records = s.of[i].records,
				.other_calls = s.of[i].other_calls,
				.failed_calls = s.of[i].failed_calls,
				.is_complete = !read->lost && !read->truncated &&
					       !read->damaged_bytes && !read->damaged_chunks,
			};
		}
		s.to->candidate = t[s.count - 1].file;
		s.to->traces = (struct metric_list){ t, s.count };
		s.to->unlike = unlike_of(&s);
		s.to->same_place = !s.to->unlike;
		s.to->verdict = SCORE_UNKNOWN;
		for (size_t i = 0; i < SCORE_METRICS; i++)
			s.to->worst[i] = (double)NAN;

		score_phases(&s);
	}
	free_profiles(&s);
	mem_free(s.of);
	return rc;
}

void score_fini(struct score *s)
{
	json_store_fini(&s->store);
	*s = (struct score){ 0 };
}

/* ---- text: the answer ---- */

/* Does a figure of the metric have one of these verdicts, bits by enum score_verdict? */
static bool has_verdict(const struct scored_phase *p, unsigned metric, unsigned verdicts)
{
	const struct scored_part *parts = p->parts.items;

	for (size_t i = 0; i < p->parts.count; i++)
		if (parts[i].number == metric && verdicts >> parts[i].verdict & 1)
			return true;
	return false;
}

/* "M5, M6 of train" */
static void append_failed(struct buf *out, const struct scored *s)
{
	const struct scored_phase *p = s->phases.items;
	const char *between = "";

	for (size_t i = 0; i < s->phases.count; i++) {
		if (p[i].verdict != SCORE_FAIL)
			continue;
		for (unsigned m = 1; m <= SCORE_METRICS; m++)
			if (has_verdict(&p[i], m, 1u << SCORE_FAIL)) {
				buf_addf(out, "%sM%u", between, m);
				between = ", ";
			}
		buf_addf(out, " of %s", p[i].name);
		between = "; ";
	}
}

/* ---- text: the traces ---- */

static void append_traces(struct buf *out, const struct scored *s)
{
	const struct scored_trace *t = s->traces.items;

	for (size_t i = 0; i < s->traces.count; i++) {
		struct buf text = { 0 };

		buf_addf(&text, "%s: %" PRIu64 " record%s", t[i].file, t[i].records,
			 plural(t[i].records));
		if (t[i].other_calls)
			buf_addf(&text,
				 "; left out: %" PRIu64
				 " call%s on files that are neither data set nor checkpoint",
				 t[i].other_calls, plural(t[i].other_calls));
		if (t[i].failed_calls)
			buf_addf(&text, "; %" PRIu64 " failed", t[i].failed_calls);
		if (!t[i].is_complete)
			buf_add(&text, "; INCOMPLETE");
		text_append_buf(out, i + 1 < s->traces.count ? "real" : "candidate",
				TEXT_SETTING_INDENT + 2, &text);
	}
	if (s->unlike) {
		struct buf text = { 0 };

		buf_addf(&text, "M8 to M12 are shown but do not affect the score: %s", s->unlike);
		text_append_buf(out, "times", TEXT_SETTING_INDENT + 2, &text);
	}
	if (s->whole)
		text_append(out, "phases", TEXT_SETTING_INDENT + 2,
			    "no marked phase in common; the traces are compared as a whole");
}

/* ---- text: the figures ---- */

static void append_number(struct buf *out, double value, int width)
{
	if (isnan(value))
		buf_addf(out, "%*s", width, "-");
	else
		buf_addf(out, value >= 100 ? "%*.0f" : "%*.3f", width, value);
}

static const char *verdict_word(int verdict)
{
	const struct mlgen_choice *c = score_verdicts;

	while (c->name && c->value != verdict)
		c++;
	return c->name;
}

static void append_phase(struct buf *out, const struct scored_phase *p)
{
	const struct scored_part *parts = p->parts.items;
	unsigned last = 0;

	buf_addf(out, "\n%-26s distance   limit threshold  preset   floor\n", p->name);
	for (size_t i = 0; i < p->parts.count; i++) {
		const struct scored_part *part = &parts[i];
		char metric[8] = "";

		if (part->verdict == SCORE_UNKNOWN)
			continue;
		if (part->number != last)
			snprintf(metric, sizeof(metric), "M%u", part->number);
		last = part->number;
		buf_addf(out, "%-4s%-22s", metric, part->name);
		append_number(out, part->distance, 9);
		append_number(out, part->limit, 8);
		append_number(out, part->threshold, 10);
		append_number(out, part->preset, 8);
		append_number(out, part->floor, 8);
		buf_addf(out, "  %s\n",
			 part->verdict == SCORE_FAIL ? "FAIL" : verdict_word(part->verdict));
	}

	struct buf text = { 0 };
	unsigned before = 0;
	for (size_t i = 0; i < p->parts.count; i++) {
		if (parts[i].number == before ||
		    has_verdict(p, parts[i].number, ~(1u << SCORE_UNKNOWN)))
			continue;
		buf_addf(&text, "%sM%u (%s)", before ? ", " : "", parts[i].number,
			 parts[i].why ? parts[i].why : "not known");
		before = parts[i].number;
	}
	text_append_buf(out, "unknown", TEXT_SETTING_INDENT, &text);
}

void score_text(FILE *to, const struct scored *s)
{
	const struct scored_phase *phases = s->phases.items;
	struct buf out = { 0 };
	struct buf text = { 0 };
	unsigned known = 0;

	for (unsigned m = 0; m < SCORE_METRICS; m++)
		known += isnan(s->worst[m]) ? 0 : 1;
	if (s->verdict == SCORE_FAIL) {
		append_failed(&text, s);
		text_append_buf(&out, "score: NOT ALIKE", TEXT_ANSWER_INDENT, &text);
	} else {
		buf_addf(&out,
			 s->verdict == SCORE_PASS ? "score: alike in all %u known metrics\n"
						  : "score: unknown, %u metrics are known\n",
			 known);
	}

	buf_addc(&out, '\n');
	append_traces(&out, s);
	for (size_t i = 0; i < s->phases.count; i++)
		append_phase(&out, &phases[i]);
	text_print(to, &out);
	buf_fini(&out);
}
