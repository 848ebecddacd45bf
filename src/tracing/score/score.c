/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - how alike a trace and others are: M1 to M12, phase by phase, and the worst of each. */
#include "tracing/score/score.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "report/metrics/metrics.h"

/* A distance between real traces is exceeded by chance: by so many times. */
#define FLOOR_TIMES 1.5

/* Of all calls of a trace, those between its phases, to be compared. */
#define BETWEEN_PART 100

/* All of one question; the candidate is the last. */
struct scoring {
	struct scored *to;
	const char *const *files, *const *names;
	struct profile *of;
	size_t count;
};

static const struct profile_phase none; /* of a trace that has not this one */

static const struct profile_phase *phase_or_none(const struct profile *p, const char *name)
{
	const struct profile_phase *found = profile_find(p, name);

	return found ? found : &none;
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

	/* It gives back numbers, and text that is constant. */
	/* cppcheck-suppress returnDanglingLifetime */
	return part->distance(&pair);
}

/* The candidate from the real one that it is farthest from. */
static struct score_distance worst_of(const struct scoring *s, const struct score_part *part,
				      const char *phase)
{
	struct score_distance worst = { .value = (double)NAN };

	for (size_t i = 0; i + 1 < s->count; i++) {
		struct score_distance d = distance_of(s, part, phase, i, s->count - 1);

		if (i == 0 || isnan(worst.value) || d.value > worst.value)
			worst = d;
	}
	return worst;
}

/* How far the real ones are apart, either way round; NaN: it is only one. */
static double floor_of(const struct scoring *s, const struct score_part *part, const char *phase)
{
	double most = (double)NAN;

	for (size_t i = 0; i + 1 < s->count; i++)
		for (size_t j = 0; j + 1 < s->count; j++)
			if (i != j)
				most = fmax(most, distance_of(s, part, phase, i, j).value);
	return FLOOR_TIMES * most;
}

static int verdict_of(const struct scored *to, const struct scored_part *p)
{
	if (isnan(p->distance))
		return SCORE_UNKNOWN;
	if (score_is_timed(p->number) && !to->same_place)
		return SCORE_SHOWN;
	return p->distance <= p->limit ? SCORE_PASS : SCORE_FAIL;
}

static void score_part(const struct scoring *s, const struct score_part *part, const char *phase,
		       struct scored_part *to)
{
	struct score_distance d = worst_of(s, part, phase);
	char metric[8];

	snprintf(metric, sizeof(metric), "m%u", part->metric);
	*to = (struct scored_part){
		.metric = json_store_text(&s->to->store, metric),
		.number = part->metric,
		.name = part->name,
		.distance = d.value,
		.why = d.why,
		.threshold = part->distilled,
		.preset = part->preset,
		.floor = floor_of(s, part, phase),
		.chance = d.at_least > 0 ? d.at_least : (double)NAN,
	};
	to->limit = fmax(fmax(to->threshold, to->chance), to->floor);
	to->verdict = verdict_of(s->to, to);
}

/* ---- a phase, and all ---- */

static size_t part_count(void)
{
	size_t n = 0;

	while (score_parts[n].name)
		n++;
	return n;
}

static void note_worst(struct scored *to, const struct scored_part *p)
{
	double *worst = &to->worst[p->number - 1];

	if (p->verdict == SCORE_PASS || p->verdict == SCORE_FAIL)
		*worst = fmax(*worst, p->distance / p->limit);
}

static void score_phase(const struct scoring *s, const char *name, struct scored_phase *to)
{
	size_t count = part_count();
	struct scored_part *parts = json_store_alloc(&s->to->store, count * sizeof(*parts));

	*to = (struct scored_phase){
		.name = json_store_text(&s->to->store, name),
		.verdict = SCORE_UNKNOWN,
		.parts = { parts, count },
	};
	for (size_t i = 0; i < count; i++) {
		score_part(s, &score_parts[i], name, &parts[i]);
		note_worst(s->to, &parts[i]);
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

/* What lies between phases counts where it is more than odds and ends. */
static bool counts(const struct profile *of, const struct profile_phase *p)
{
	uint64_t calls = 0;

	if (strcmp(p->name, PROFILE_BETWEEN) != 0)
		return p->calls > 0;
	for (size_t i = 0; i < of->count; i++)
		calls += of->phases[i].calls;
	return p->calls && p->calls * BETWEEN_PART >= calls;
}

static bool is_counted(const struct profile *of, const char *name)
{
	const struct profile_phase *p = profile_find(of, name);

	return p && counts(of, p);
}

/* Has one of those before trace i this phase, too? */
static bool was_met(const struct scoring *s, size_t i, const char *name)
{
	while (i-- > 0)
		if (is_counted(&s->of[i], name))
			return true;
	return false;
}

static void score_phases(const struct scoring *s)
{
	struct scored_phase *phases =
		json_store_alloc(&s->to->store, s->count * PROFILE_PHASES * sizeof(*phases));
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->of[i].count; k++) {
			const struct profile_phase *p = &s->of[i].phases[k];

			if (counts(&s->of[i], p) && !was_met(s, i, p->name))
				score_phase(s, p->name, &phases[n++]);
		}
	s->to->phases = (struct metric_list){ phases, n };
}

/* ---- what they are ---- */

static const char *unlike_of(const struct scoring *s)
{
	const struct profile *first = &s->of[0];

	for (size_t i = 0; i < s->count; i++) {
		const struct profile *p = &s->of[i];

		if (!p->host || !p->storage)
			return "a trace does not say of which host and storage it is";
		if (strcmp(p->host, first->host) != 0)
			return "they are of several hosts";
		if (strcmp(p->storage, first->storage) != 0)
			return "they are of several filesystems";
	}
	return NULL;
}

static bool is_complete(const struct profile *p)
{
	return !p->read.lost && !p->read.truncated && !p->read.damaged_bytes &&
	       !p->read.damaged_chunks;
}

static void say_what(const struct scoring *s)
{
	struct scored *to = s->to;
	struct scored_trace *t = json_store_alloc(&to->store, s->count * sizeof(*t));

	for (size_t i = 0; i < s->count; i++)
		t[i] = (struct scored_trace){
			.file = json_store_text(&to->store, s->names[i]),
			.records = s->of[i].records,
			.other_calls = s->of[i].other_calls,
			.failed_calls = s->of[i].failed_calls,
			.is_complete = is_complete(&s->of[i]),
		};
	to->candidate = t[s->count - 1].file;
	to->traces = (struct metric_list){ t, s->count };
	to->unlike = unlike_of(s);
	to->same_place = !to->unlike;
	to->verdict = SCORE_UNKNOWN;
	for (size_t i = 0; i < SCORE_METRICS; i++)
		to->worst[i] = (double)NAN;
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
		return mlgen_fail(err, -EINVAL, "%s: has no records, so that nothing can be scored",
				  name);
	return mlgen_fail(err, -EINVAL,
			  "%s: has no call on a file of a data set or checkpoint (%" PRIu64
			  " on others, %" PRIu64 " failed), so that nothing can be scored",
			  name, p->other_calls, p->failed_calls);
}

static void score_forget(struct scoring *s)
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

/* Is there a phase that all have? What lies between phases is none. */
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

int score_traces(struct score_document *to, const char *const *files, const char *const *names,
		 size_t count, struct mlgen_err *err)
{
	struct scoring s = { .to = &to->score, .files = files, .names = names, .count = count };
	int rc;

	*to = (struct score_document){
		.version = metrics_version(),
		.schema_version = METRICS_SCHEMA_VERSION,
	};
	s.of = mem_array(count, sizeof(*s.of));
	rc = read_all(&s, false, err);
	if (rc == 0 && !have_phase(&s)) {
		/* One of them has no markers, or others: all as one. */
		s.to->whole = true;
		score_forget(&s);
		rc = read_all(&s, true, err);
	}
	if (rc == 0) {
		say_what(&s);
		score_phases(&s);
	}
	score_forget(&s);
	mem_free(s.of);
	return rc;
}

void score_fini(struct score_document *d)
{
	json_store_fini(&d->score.store);
	*d = (struct score_document){ 0 };
}
