/* SPDX-License-Identifier: Apache-2.0 */
/* access_found.c - by which calls a training reads its samples. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "describe/touchrun.h"
#include "distil/calls_found.h"
#include "distil/distil_inside.h"
#include "distil/samplevisits.h"
#include "distil/side_file.h"

static void say_framework(const struct explained *x, struct jobsection *to)
{
	if (x->equal == x->of)
		jobsection_say(
			to, DISTIL_SURE, "access", "framework",
			"%u visits were looked at, and each of them has the very calls of %s",
			x->of, x->reader);
	else
		jobsection_say(to, DISTIL_LIKELY, "access", "framework",
			       "of %u visits that were looked at %u have the very calls of %s; of "
			       "all their calls %.1f %% are alike",
			       x->of, x->equal, x->reader, 100 * x->calls);
}

static void say_plain(const struct explained *x, struct jobsection *to)
{
	char text[UNITS_TEXT_BYTES];

	jobsection_say(to, x->equal == x->of ? DISTIL_SURE : DISTIL_LIKELY, "access", "plain",
		       "open, reads in order and close: %.1f %% of the calls of %u visits that "
		       "were looked at",
		       100 * x->calls, x->of);
	units_put_size(text, x->bs_bytes);
	jobsection_say(to, DISTIL_SURE, "bs", text,
		       "no read is larger, and all but the last are as large");
}

/* Nobody's calls: as they are. */
struct recording {
	const struct calls_found *calls;
};

static void write_calls(FILE *to, const void *arg)
{
	const struct recording *r = arg;

	recorded_write(to, &r->calls->recorded, (const char *const *)r->calls->why);
}

static void note_calls(const struct calls_found *c, struct jobsection *to)
{
	if (c->kinds > c->recorded.count)
		jobsection_note(to,
				"Visits are of %u kinds; the rare ones among them are in the "
				"template next to them.",
				c->kinds);
	if (c->is_cut)
		jobsection_note(to,
				"Of long visits only the first %d calls were looked at; the last "
				"of these goes on to the file's end.",
				SPECIMEN_CALLS_MOST);
	if (c->without)
		jobsection_note(to,
				"%u visits that were looked at have calls that no template can "
				"have, such as mmap(2).",
				c->without);
}

static int say_recorded(struct distil *d, const struct explained *x, const struct calls_found *c,
			struct jobsection *to, struct mlgen_err *err)
{
	const struct recording r = { c };
	char name[SIDE_FILE_BYTES];
	int rc = side_file(name, d->side_folder, d->side_name, "calls", write_calls, &r, err);

	if (rc < 0)
		return rc;
	if (x->reader && x->calls > 0)
		jobsection_say(to, DISTIL_SURE, "access", "recorded",
			       "no plan of mlgen makes these calls; those of %s are the nearest, "
			       "with %.1f %% of them",
			       x->reader, 100 * x->calls);
	else
		jobsection_say(to, DISTIL_SURE, "access", "recorded",
			       "no plan of mlgen makes these calls");
	jobsection_say(to, c->kinds == 1 ? DISTIL_SURE : DISTIL_LIKELY, "recorded_calls", name,
		       "of %u visits that were looked at, as %" PRIu32 " template%s of calls",
		       c->visits, c->recorded.count, plural(c->recorded.count));
	note_calls(c, to);
	return 0;
}

/* There are no reads to go by: pages of a mapping, or sizes alone. */
static void say_nothing(struct jobsection *to)
{
	jobsection_say(to, DISTIL_GUESS, "access", "plain",
		       "the trace has no reads of samples, as of files that are mapped; they are "
		       "read whole here");
}

static int record(struct distil *d, uint32_t party, const struct explained *x,
		  struct jobsection *to, struct mlgen_err *err)
{
	struct explain_visit *visits;
	struct samplebook book;
	struct calls_found calls = { 0 };
	unsigned count;
	int rc = samplebook_init(&book, d, party, err);

	if (rc < 0)
		return rc;
	visits = samplevisits_all(d, party, &book, &count);
	if (calls_found(&calls, visits, count))
		rc = say_recorded(d, x, &calls, to, err);
	else
		say_nothing(to);
	calls_found_fini(&calls);
	mem_free(visits);
	samplebook_fini(&book);
	return rc;
}

/* Faults bring as much as they do: whatever is read in less is told apart by it. */
static void say_mapped(const struct distil_found *f, struct jobsection *to)
{
	char text[UNITS_TEXT_BYTES];
	bool reads = f->read_beside_bytes > 0;
	bool apart = reads && f->read_beside_bytes < TOUCHRUN_BYTES;

	units_put_size(text, TOUCHRUN_BYTES);
	jobsection_say(to, DISTIL_LIKELY, "ioengine", "mmap",
		       "samples are pages of mapped files, of which each fault brings 64 KiB%s",
		       reads && !apart ? "; whatever else is read of them is mapped here, too"
				       : "");
	if (apart)
		jobsection_say(to, DISTIL_SURE, "mmap_from", text,
			       "no call reads more than %" PRIu64 " bytes", f->read_beside_bytes);
}

int distil_access(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	const struct distil_found *f = &d->found[party];
	const struct explained *x = &f->access;
	int rc = 0;

	if (f->num_files == 0)
		return 0;
	if (!x->is_explained)
		rc = record(d, party, x, to, err);
	else if (x->access == ACCESS_FRAMEWORK)
		say_framework(x, to);
	else
		say_plain(x, to);
	if (rc == 0 && f->is_mapped)
		say_mapped(f, to);
	if (rc == 0 && f->is_direct)
		jobsection_say(to, DISTIL_SURE, "direct", "1", "files are opened with O_DIRECT");
	return rc;
}
