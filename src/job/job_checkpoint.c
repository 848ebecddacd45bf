/* SPDX-License-Identifier: Apache-2.0 */
/* job_checkpoint.c - what follows from a job's options of checkpoints. */
#include "job/job_checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/workload.h"

/* ---- how often ---- */

/* Words that units_time does not know; a NULL unit is none of time. */
static const struct word {
	const char *name;
	const char *time_unit;
	int unit;
} words[] = {
	{ "step", NULL, EVERY_STEPS },   { "steps", NULL, EVERY_STEPS },
	{ "epoch", NULL, EVERY_EPOCHS }, { "epochs", NULL, EVERY_EPOCHS },
	{ "second", "s", EVERY_TIME },   { "seconds", "s", EVERY_TIME },
	{ "minute", "m", EVERY_TIME },   { "minutes", "m", EVERY_TIME },
	{ "hour", "h", EVERY_TIME },     { "hours", "h", EVERY_TIME },
	{ "day", "d", EVERY_TIME },      { "days", "d", EVERY_TIME },
};

static const struct word *find_word(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	}
	return NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "500 steps", "90s": the number, the caller's, and the word, in text. */
static char *job_checkpoint_split(const char *text, const char **word)
{
	size_t n = strlen(text);

	while (n && is_letter(text[n - 1]))
		n--;
	*word = text + n;
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	return mem_strndup(text, n);
}

static int fail_every(const struct job *j, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "checkpoint_every: '%.200s' is not understood; write a number and its "
			  "unit: 500 steps, 2 epochs, 90s, 10m",
			  j->checkpoint_every);
}

static int parse_time(const char *number, const char *unit, uint64_t *ns)
{
	struct buf text = { 0 };
	int rc;

	buf_addf(&text, "%s%s", number, unit);
	rc = units_time(buf_str(&text), NULL, ns, NULL);
	buf_fini(&text);
	return rc;
}

/* Only 0 needs no unit. */
static int parse_every(const char *number, const char *word, struct checkpoint_every *e)
{
	const struct word *w = find_word(word);

	if (!*word && strcmp(number, "0") != 0)
		return -EINVAL;
	if (w && !w->time_unit) {
		e->unit = w->unit == EVERY_STEPS ? EVERY_STEPS : EVERY_EPOCHS;
		return units_u64(number, &e->count, NULL);
	}
	e->unit = EVERY_TIME;
	return parse_time(number, w ? w->time_unit : word, &e->count);
}

int job_checkpoint_every(const struct job *j, struct checkpoint_every *e, struct mlgen_err *err)
{
	const char *word;
	char *number;
	int rc;

	*e = (struct checkpoint_every){ 0 };
	if (!j->checkpoint_every)
		return 0;
	number = job_checkpoint_split(j->checkpoint_every, &word);
	rc = parse_every(number, word, e);
	mem_free(number);
	return rc ? fail_every(j, err) : 0;
}

/* One that cannot be read is an error of its own, of a job that wants them. */
bool job_has_checkpoints(const struct job *j)
{
	struct checkpoint_every e;

	switch (job_work(j)->checkpoints) {
	case CHECKPOINTS_ALWAYS:
		return true;
	case CHECKPOINTS_ASKED:
		return job_checkpoint_every(j, &e, NULL) || e.count;
	case CHECKPOINTS_NONE:
		break;
	}
	return false;
}

char *job_checkpoint_directory(const struct job *j)
{
	struct buf path = { 0 };

	if (j->checkpoint_directory)
		buf_add(&path, j->checkpoint_directory);
	else if (job_work(j)->checkpoints == CHECKPOINTS_ASKED)
		buf_addf(&path, "%s/checkpoints", j->directory);
	else
		buf_add(&path, j->directory);
	return buf_take(&path);
}

bool job_is_archive(const char *name)
{
	static const char marks[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(name);

	return length > 0 && length < JOB_ARCHIVE_BYTES && *name != '.' &&
	       strspn(name, marks) == length;
}

/* ---- who ---- */

/*
 * A training says by its accelerators how many ranks there are, but where the parallelism needs
 * more: then the others are on other hosts.
 */
uint64_t job_ranks(const struct job *j)
{
	uint64_t one = j->tensor_parallel * j->pipeline_parallel;

	if (j->ranks)
		return j->ranks;
	if (j->data_parallel)
		return one * j->data_parallel;
	if (job_work(j)->has_accelerators && job_all_accelerators(j) > one)
		return job_all_accelerators(j);
	return one;
}

static int parse_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc = 0;

	if (strcmp(j->checkpoint_ranks, "all") == 0)
		ranges_all(out, job_ranks(j));
	else if (strcmp(j->checkpoint_ranks, "zero") == 0)
		ranges_all(out, 1);
	else
		rc = ranges_parse(out, j->checkpoint_ranks, job_ranks(j), "ranks", &why);
	if (rc)
		mlgen_fail(err, rc, "checkpoint_ranks: %s", why.text);
	return rc;
}

int job_saved_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err)
{
	int rc = parse_ranks(j, out, err);

	if (rc || !job_work(j)->has_accelerators)
		return rc;
	ranges_cut(out, job_all_accelerators(j));
	if (out->numbers)
		return 0;
	ranges_fini(out);
	return mlgen_fail(err, -EINVAL,
			  "checkpoint_ranks: none of %s is among the %" PRIu64
			  " accelerators of this training, which are the ranks from 0 on",
			  j->checkpoint_ranks, job_all_accelerators(j));
}

/* As many to each host, then to each process of it. */
static void job_deal_ranks(const struct job_place *p, struct ranges *r)
{
	uint64_t from = r->numbers * p->host / p->hosts;
	uint64_t n = r->numbers * (p->host + 1) / p->hosts - from;

	ranges_keep(r, from + n * p->process / p->processes,
		    from + n * (p->process + 1) / p->processes);
}

int job_local_ranks(const struct job *j, struct ranges *out, struct mlgen_err *err)
{
	int rc = job_saved_ranks(j, out, err);

	if (rc || !j->place.hosts)
		return rc;
	if (job_work(j)->has_accelerators) {
		ranges_cut(out, j->accelerators_before + j->accelerators);
		ranges_cut_below(out, j->accelerators_before);
	} else {
		job_deal_ranks(&j->place, out);
	}
	return 0;
}
