/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer_marks.c - events of the application, such as epochs and steps of DLIO, as markers of a
 * trace. */
#include "import/trace/dftracer_marks.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/util.h"
#include "import/trace/json_objects.h"

/* By the last part of an event's name: that of DLIO is DLIOBenchmark._train. Loaders' and readers'
 * own events (fetch, preprocess, ...) are no markers. */
static const struct mark {
	const char *name;
	uint16_t op;
	const char *text; /* of a stage or a checkpoint */
} marks[] = {
	{ "epoch", TRACE_EPOCH, NULL },
	{ "step", TRACE_STEP, NULL },
	{ "compute", TRACE_COMPUTE, NULL },
	{ "_train", TRACE_STAGE, "train" },
	{ "train", TRACE_STAGE, "train" },
	{ "_eval", TRACE_STAGE, "eval" },
	{ "eval", TRACE_STAGE, "eval" },
	{ "evaluate", TRACE_STAGE, "eval" },
	{ "test", TRACE_STAGE, "eval" },
	{ "block", TRACE_STAGE, "block" },
	{ "checkpoint", TRACE_CHECKPOINT, "save" },
	{ "save_checkpoint", TRACE_CHECKPOINT, "save" },
	{ "load_checkpoint", TRACE_CHECKPOINT, "restore" },
	{ "restart", TRACE_CHECKPOINT, "restore" },
};

/* Beyond it, it is no number of an epoch. */
#define EPOCH_MOST 1000000

static const struct mark *mark_of(const struct dftracer_event *e)
{
	const char *point = strrchr(e->name, '.');
	const char *name = point ? point + 1 : e->name;

	/* There it is the optimizer's. */
	if (strcasecmp(e->cat, "compute") == 0 && strcmp(name, "step") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strcmp(marks[i].name, name) == 0)
			return &marks[i];
	return NULL;
}

static bool number_in(const json_t *args, const char *key, uint64_t most, uint64_t *out)
{
	int64_t v;

	if (!args || !json_whole(json_object_get(args, key), &v) || v < 0 || (uint64_t)v > most)
		return false;
	*out = (uint64_t)v;
	return true;
}

/* A trace counts from 0; an application may from 1. */
static uint64_t from_0(struct dftracer_count *c, uint64_t number)
{
	if (!c->is_begun)
		c->first = number == 1;
	c->is_begun = true;
	return number - u64_min(number, c->first);
}

static void dftracer_marks_widen(struct dftracer_marks *k, const struct dftracer_event *e,
				 uint64_t epoch)
{
	uint64_t end_ns = e->start_ns + e->duration_ns;
	bool is_new;
	uint32_t number = keyed_number(&k->numbers, epoch, &is_new);
	struct dftracer_span *s;

	if (is_new)
		vec_push(&k->spans, (struct dftracer_span){ epoch, e->start_ns, end_ns });
	s = &k->spans.at[number];
	s->start_ns = u64_min(s->start_ns, e->start_ns);
	s->end_ns = u64_max(s->end_ns, end_ns);
}

static struct trace_record marker(const struct importing *m, uint16_t op, uint64_t start_ns,
				  uint64_t duration_ns)
{
	uint64_t clock = m->clock_offset_ns;

	return (struct trace_record){
		.start_ns = start_ns > clock ? start_ns - clock : 0,
		.duration_ns = duration_ns,
		.off = TRACE_UNKNOWN,
		.len_bytes = TRACE_UNKNOWN,
		.result = -1,
		.cpu_ns = TRACE_UNKNOWN,
		.op = op,
	};
}

static int add_mark(struct dftracer_marks *k, struct importing *m, const struct dftracer_event *e,
		    const struct mark *mark, struct mlgen_err *err)
{
	struct trace_record r = marker(m, mark->op, e->start_ns, e->duration_ns);
	uint64_t n;

	r.pid = e->pid;
	r.tid = e->tid;
	if (mark->text)
		r.file = trace_fill_name(m->fill, mark->text, strlen(mark->text));
	if (mark->op == TRACE_EPOCH) {
		k->has_epochs = true;
		if (number_in(e->args, "epoch", EPOCH_MOST, &n))
			r.off = from_0(&k->epochs, n);
	} else if (mark->op == TRACE_STEP || mark->op == TRACE_COMPUTE) {
		if (number_in(e->args, "step", INT64_MAX, &n))
			r.off = from_0(&k->steps, n);
	}
	return trace_fill_add(m->fill, &r, err);
}

int dftracer_marks_take(struct dftracer_marks *k, struct importing *m,
			const struct dftracer_event *e, struct mlgen_err *err)
{
	const struct mark *mark = mark_of(e);
	uint64_t epoch;

	if (number_in(e->args, "epoch", EPOCH_MOST, &epoch))
		dftracer_marks_widen(k, e, from_0(&k->epochs, epoch));
	if (mark)
		return add_mark(k, m, e, mark, err);
	k->left++;
	return 0;
}

int dftracer_marks_end(struct dftracer_marks *k, struct importing *m, struct mlgen_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < k->numbers.count; i++) {
		const struct dftracer_span *s = &k->spans.at[i];
		struct trace_record r =
			marker(m, TRACE_EPOCH, s->start_ns, s->end_ns - s->start_ns);

		if (k->has_epochs)
			break;
		r.off = s->number;
		rc = trace_fill_add(m->fill, &r, err);
	}
	if (!k->has_epochs && k->numbers.count)
		import_note(m, "an epoch is from the first event to the last that has its number, "
			       "since none of them is the epoch itself");
	if (k->left)
		import_note(
			m,
			"%" PRIu64
			" event%s of the application, for which a trace has no marker, %s left out",
			k->left, plural(k->left), k->left == 1 ? "is" : "are");
	return rc;
}

void dftracer_marks_fini(struct dftracer_marks *k)
{
	keyed_fini(&k->numbers);
	vec_fini(&k->spans);
}
