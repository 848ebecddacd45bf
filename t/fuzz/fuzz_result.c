/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_result.c - any bytes as the JSON document of a run: refused, or reported again. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ask/results/results.h"
#include "io/engines.h"
#include "report/document/document.h"
#include "report/text/text.h"
#include "run/result/result.h"

static void look_up(const struct results_file *f)
{
	static const char *const keys[] = { "au",          "sample_bytes_per_sec", "stall_ns.p99",
					    "epochs.0.au", "storage.source",       "read.iops",
					    "accelerators" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct figure figure;
		struct figure_value v;

		if (figure_init(&figure, keys[i], NULL) < 0)
			continue;
		figure_value(&figure, &f->records[0], &v);
		figure_value_fini(&v);
	}
}

static void print(struct results_file *d)
{
	struct jobset set = { .settings.output_format = OUTPUT_JSON,
			      .jobs = d->jobs.at,
			      .count = d->jobs.count };
	FILE *to = fopen("/dev/null", "w");

	MUST(to);
	verdict_fill(&d->run);
	text_report(to, &d->run, DETAIL_ALL);
	MUST(json_report(to, &d->run, &set, NULL) == 0);
	fclose(to);
}

static int read_whole(struct results_file *f, const char *path)
{
	const struct jobset_env env = { .engines = engines_built };
	struct mlgen_err err = { 0 };
	int rc = results_open(f, path, &err);

	MUST(rc == 0 || (err.code && *err.text));
	if (rc < 0)
		return rc;
	look_up(f);
	rc = result_read(f, &env, &err);
	MUST(rc == 0 || (err.code && *err.text));
	return rc;
}

/* The same document twice, as two runs of one job. */
static void check(const char *path, enum merge_how how)
{
	struct results_file a, b = { 0 };

	if (read_whole(&a, path) == 0 && read_whole(&b, path) == 0) {
		for (size_t i = 0; i < a.run.job_count; i++)
			merge_jobs(&a.run.jobs[i], &b.run.jobs[i], how, &json_store_memory,
				   &a.store);
		print(&a);
	}
	results_close(&b);
	results_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("result", MFD_CLOEXEC);

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check(path, MERGE_CLIENTS);
	check(path, MERGE_TURNS);
	close(fd);
	return 0;
}
