/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_mlperf.c - how many accelerators MLPerf Storage lets this dataset be used for. */
#include "ask/find_max.h"

#include <inttypes.h>
#include <math.h>

#include "ask/mlperf_rules.h"
#include "base/units.h"
#include "report/verdict.h"

/* Samples from which on an epoch has enough steps for n accelerators. */
static struct mlperf_need need_of(const struct find_max *f, uint64_t n)
{
	struct mlperf_need need;
	struct job j = *f->job;

	j.accelerators = n;
	mlperf_need(&need, &j, (double)f->samples_per_file, dist_mean(&j.sample_size), 1, 0);
	return need;
}

static uint64_t most_valid(const struct find_max *f)
{
	double samples = (double)f->files * (double)f->samples_per_file;
	double of_one = need_of(f, 1).steps_samples;
	/* Their tools round down, so that it may be one more. */
	uint64_t n = (uint64_t)floor(samples / of_one) + 1;

	while (n > 0 && need_of(f, n).steps_passes > samples)
		n--;
	return n;
}

void find_text_mlperf(struct buf *out, const struct find_max *f)
{
	char files[UNITS_TEXT_BYTES];

	if (!mlperf_find_any(f->job) || !find_counts_accelerators(f) || !f->files ||
	    verdict_without_storage(f->job))
		return;
	uint64_t n = most_valid(f);
	uint64_t found = f->answer.value ? f->answer.value : 1;
	units_human_count(files, f->files);
	if (n)
		buf_addf(out,
			 "valid for MLPerf Storage up to %" PRIu64
			 " accelerator%s with these %s files (%d steps each)\n",
			 n, n == 1 ? "" : "s", files, MLPERF_STEPS);
	else
		buf_addf(out,
			 "not valid for MLPerf Storage with these %s files: an epoch needs %d "
			 "steps\n",
			 files, MLPERF_STEPS);
	if (found > n)
		buf_addf(out, "  %" PRIu64 " accelerator%s %s files\n", found,
			 found == 1 ? " takes" : "s take",
			 units_human_count(files, (uint64_t)need_of(f, found).files));
}
