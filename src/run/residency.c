/* SPDX-License-Identifier: Apache-2.0 */
/* residency.c - see residency.h. */
#include "run/residency.h"

#include <limits.h>
#include <math.h>

#include "base/perm.h"
#include "io/pagecache.h"

/* No seed that a job may choose: its first files are those that an interrupted run has read, and
 * that a long one has lost first. */
#define SEED UINT64_C(0x7265736964656e74)

struct sampling {
	const struct dataset *ds;
	const struct clock *clock;
	uint64_t deadline_ns, round;
	bool first_is_enough;
};

static void sample(struct residency *r, const struct sampling *s)
{
	uint64_t files = dataset_all_files(s->ds);
	uint64_t wanted = files < RESIDENCY_FILES ? files : RESIDENCY_FILES;
	double resident = 0, total = 0;
	uint64_t absent = 0;
	struct perm order;

	*r = (struct residency){ .failed_file = UINT64_MAX };
	perm_init(&order, files, SEED, s->round);
	for (uint64_t i = 0; i < wanted; i++) {
		uint64_t file = perm_at(&order, i), found, looked;
		char path[PATH_MAX];

		if (s->deadline_ns != CLOCK_NEVER && clock_now(s->clock) >= s->deadline_ns)
			break;
		if (!dataset_has_file(s->ds, file)) {
			absent++;
			continue;
		}
		if (dataset_path(s->ds, file, path, sizeof(path)) <= 0 ||
		    pagecache_sample(path, file, &found, &looked)) {
			r->failed_file = file;
			continue;
		}
		double bytes = (double)dataset_file_bytes(s->ds, file);
		if (looked)
			resident += bytes * (double)found / (double)looked;
		total += bytes;
		r->files++;
		if (found && s->first_is_enough)
			break;
	}
	r->percent = total > 0 ? 100 * resident / total : (double)NAN;
	r->is_nothing = r->files + absent == wanted && resident <= 0;
}

void residency_sample(struct residency *r, const struct dataset *ds, const struct clock *clock,
		      uint64_t deadline_ns)
{
	const struct sampling s = { ds, clock, deadline_ns, 0, false };

	sample(r, &s);
}

bool residency_is_nothing(const struct dataset *ds, uint64_t round, const struct clock *clock,
			  uint64_t deadline_ns)
{
	const struct sampling s = { ds, clock, deadline_ns, round, true };
	struct residency r;

	sample(&r, &s);
	return r.is_nothing;
}
