/* SPDX-License-Identifier: Apache-2.0 */
/* find_max_files.c - for how many of an option the files of the dataset are enough. */
#include "ask/find_max.h"

#include <math.h>
#include <string.h>

#include "data/order/order.h"
#include "job/job.h"

uint64_t find_steps_needed(const struct find_max *f)
{
	return isnan(find_au_limit(f)) ? 1 : 2;
}

/* The job with another value; it shares all it owns. */
static struct job job_with(const struct find_max *f, uint64_t value)
{
	struct job j = *f->job;

	memcpy((char *)&j + f->option->off, &value, sizeof(value));
	j.scaled_as = f->job;
	return j;
}

double find_files_needed(const struct find_max *f, uint64_t value)
{
	const struct job j = job_with(f, value);

	return ceil((double)find_steps_needed(f) * (double)j.batch_size * (double)j.accelerators /
		    (double)f->samples_per_file);
}

static bool is_enough(const struct find_max *f, const struct dataset *ds, uint64_t value)
{
	const struct job j = job_with(f, value);
	const struct sampler_config cfg = sampler_config(&j, j.accelerators);
	struct mlgen_err err = { 0 };
	struct sampler s;

	return dataset_check_ranks(ds, &j, j.accelerators, &err) == 0 &&
	       sampler_init(&s, &cfg, ds, &err) == 0 && s.steps >= find_steps_needed(f);
}

/* Up to `most`; all of it where the files have nothing to do with it. */
static uint64_t most_of(const struct find_max *f, const struct dataset *ds, uint64_t least,
			uint64_t most)
{
	uint64_t high = dataset_samples(ds) + 1;

	if (most < high && is_enough(f, ds, most))
		return most;
	while (high - least > 1) {
		uint64_t middle = least + (high - least) / 2;

		if (is_enough(f, ds, middle))
			least = middle;
		else
			high = middle;
	}
	return least;
}

bool find_makes_files(const struct find_max *f)
{
	return advice_makes_files(f->job) && !f->has_found_files;
}

uint64_t find_most_by_files(struct find_max *f, uint64_t least, uint64_t most)
{
	static const char *const takers[] = { "accelerators", "batch_size", NULL };
	const char *const *taker = takers;
	const struct job j = job_with(f, least);
	struct mlgen_err err = { 0 };
	struct dataset ds;

	while (*taker && strcmp(*taker, f->option->name) != 0)
		taker++;
	if (!*taker || !job_work(&j)->has_dataset ||
	    dataset_init(&ds, &j, host_all_memory(f->ask->host), &err) < 0)
		return most;
	if (dataset_take_there(&ds, &j, &err) < 0) {
		dataset_fini(&ds);
		return most;
	}
	f->files = ds.files;
	f->has_found_files = ds.is_found;
	f->samples_per_file = ds.samples_per_file;
	if (is_enough(f, &ds, least)) {
		uint64_t by_files = most_of(f, &ds, least, most);

		f->is_of_files = by_files < most;
		most = by_files;
	}
	dataset_fini(&ds);
	return most;
}
