/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_result.c - any bytes as the JSON document of a run: refused, or reported again. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "ask/combine.h"
#include "ask/figure.h"
#include "ask/result_read.h"
#include "base/mem.h"
#include "io/engines.h"
#include "report/json.h"
#include "report/text.h"
#include "report/verdict.h"

static void look_up(const struct results_file *f)
{
	static const char *const keys[] = {
		"au",          "sample_bytes_per_sec", "stall_ns.p99",
		"epochs.0.au", "storage.source",       "read.iops",
		"accelerators"
	};
	struct mlgen_err err = { 0 };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct figure figure;
		struct figure_value v;

		if (figure_init(&figure, keys[i], &err) < 0)
			continue;
		if (figure_value(&figure, f, 0, &v, &err) == 0)
			figure_value_fini(&v);
	}
}

static void print(struct result_doc *d)
{
	struct jobset set = { .settings.output_format = OUTPUT_JSON,
			      .jobs = d->jobs,
			      .count = d->job_count };
	FILE *to = fopen("/dev/null", "w");

	MUST(to);
	verdict_fill(&d->run);
	text_report(to, &d->run, false);
	MUST(json_report(to, &d->run, &set, NULL) == 0);
	fclose(to);
	for (size_t i = 0; i < d->run.job_count; i++) {
		struct verdict_result *v[] = { &d->run.jobs[i].ml.verdict,
					       &d->run.jobs[i].io.verdict };

		for (size_t k = 0; k < 2; k++) {
			mem_free(v[k]->name);
			mem_free(v[k]->headline);
			mem_free(v[k]->because);
			mem_free(v[k]->try_next);
		}
	}
}

/* The same document twice, as two runs of one job. */
static void check(const struct results_file *f, enum combine_how how)
{
	struct jobset_env env = { .engines = engines_built };
	struct result_doc a, b;
	struct mlgen_err err = { 0 };
	int rc = result_read(&a, f, &env, &err);

	MUST(rc == 0 || (err.code && *err.text));
	if (rc == 0 && result_read(&b, f, &env, &err) == 0) {
		for (size_t i = 0; i < a.run.job_count; i++)
			combine_jobs(&a.store, &a.run.jobs[i], &b.run.jobs[i],
				     how);
		print(&a);
		result_fini(&b);
	}
	result_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlgen_err err = { 0 };
	struct results_file f;
	char path[64];
	int fd = memfd_create("result", MFD_CLOEXEC);
	int rc;

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = results_open(&f, path, &err);
	MUST(rc == 0 || (err.code && *err.text));
	if (rc == 0) {
		look_up(&f);
		check(&f, SIDE_BY_SIDE);
		check(&f, ONE_AFTER_THE_OTHER);
		results_close(&f);
	}
	close(fd);
	return 0;
}
