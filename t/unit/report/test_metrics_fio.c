/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_fio.c - a job has the keys of fio, and they mean what they do there. */
#include <check.h>
#include <errno.h>

#include "metrics_rig.h"
#include "suites.h"
#include "work/workloads.h"

START_TEST(errors_have_fios_sign_and_a_text)
{
	struct job *job = job_new("train");
	struct job_result r = { .job = job, .members = 1 };
	struct job_result m;

	fill(&m, &r);
	ck_assert_uint_eq(m.doc.error, 0);
	ck_assert_ptr_null(m.doc.error_text);
	metrics_job_fini(&m);
	mlgen_fail(&r.err, -EIO, "read /data/f17");
	fill(&m, &r);
	ck_assert_uint_eq(m.doc.error, EIO);
	ck_assert_str_eq(m.doc.error_text, "read /data/f17");
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

/* What fio 3.33 prints of a job, and its readers (fio-plot, the converter of bins, pbench,
 * lkp-tests) look for. */
static const char *const fio_keys[] = {
	"jobname",
	"groupid",
	"error",
	"elapsed",
	"job options",
	"job_runtime",
	"usr_cpu",
	"sys_cpu",
	"ctx",
	"majf",
	"minf",
	"read.io_bytes",
	"read.io_kbytes",
	"read.bw_bytes",
	"read.bw",
	"read.iops",
	"read.runtime",
	"read.total_ios",
	"read.short_ios",
	"read.drop_ios",
	"read.slat_ns",
	"read.clat_ns",
	"read.lat_ns",
	"read.bw_min",
	"read.bw_max",
	"read.bw_agg",
	"read.bw_mean",
	"read.bw_dev",
	"read.bw_samples",
	"read.iops_min",
	"read.iops_max",
	"read.iops_mean",
	"read.iops_stddev",
	"read.iops_samples",
	"write.iops",
	"trim.iops",
	"sync.total_ios",
	"sync.lat_ns",
	"iodepth_level.1",
	"iodepth_level.2",
	"iodepth_level.4",
	"iodepth_level.8",
	"iodepth_level.16",
	"iodepth_level.32",
	"iodepth_level.>=64",
	"iodepth_submit.0",
	"iodepth_submit.4",
	"iodepth_submit.8",
	"iodepth_submit.16",
	"iodepth_submit.32",
	"iodepth_submit.64",
	"iodepth_submit.>=64",
	"iodepth_complete.0",
	"iodepth_complete.>=64",
	"latency_ns.2",
	"latency_ns.1000",
	"latency_us.2",
	"latency_us.1000",
	"latency_ms.2",
	"latency_ms.2000",
	"latency_ms.>=2000",
	"latency_depth",
	"latency_target",
	"latency_percentile",
	"latency_window",
};

START_TEST(a_job_has_every_key_of_fio)
{
	const struct mlgen_field *table = metrics_job_fields, *f = NULL;

	for (const char *key = fio_keys[_i]; key; table = f->sub) {
		const char *dot = strchr(key, '.');
		size_t len = dot ? (size_t)(dot - key) : strlen(key);

		for (f = table; f->name; f++)
			if (strlen(f->name) == len && strncmp(f->name, key, len) == 0)
				break;
		ck_assert_msg(f->name != NULL, "%s", fio_keys[_i]);
		key = dot ? dot + 1 : NULL;
	}
}
END_TEST

START_TEST(a_plain_job_has_fios_three_latencies)
{
	struct job *job = job_new("rr");
	struct hist *h[4];
	struct job_result r = { .job = job,
				.work = &work_io,
				.members = 1,
				.wall_seconds = 2,
				.iodepth_used = 8,
				.depths = { .depth = { 0, 10, 20, 30, 40 },
					    .submit = { 1, 2, 3, 4, 5, 6, 79 } },
				.read = { .io_bytes = 8192, .total_ios = 2 } };
	struct job_result m;

	for (unsigned i = 0; i < 4; i++)
		h[i] = hist_new();
	r.read.lat_ns = h[0];
	r.sync = (struct op_result){ 7, h[3] };
	fill(&m, &r);
	ck_assert_uint_eq(m.doc.job_runtime_ms, 2000);
	ck_assert_uint_eq(m.read.fio.bw_bytes, 4096);
	ck_assert_ptr_null(m.read.slat_ns);
	ck_assert_ptr_eq(m.read.lat_ns, h[0]);
	ck_assert_ptr_eq(m.read.fio.lat_ns, h[0]);
	ck_assert_uint_eq(m.sync.total, 7);
	ck_assert_ptr_eq(m.sync.lat_ns, h[3]);
	ck_assert_uint_eq(m.doc.latency_depth, 8);
	ck_assert_double_eq(m.depths.depth[1], 10);
	ck_assert_double_eq(m.depths.depth[4], 40);
	ck_assert_double_eq(m.depths.submit[0], 1);
	ck_assert_double_eq(m.depths.submit[1], 2);
	ck_assert_double_eq(m.depths.submit[6], 79);
	metrics_job_fini(&m);
	r.read.slat_ns = h[1];
	r.read.total_ns = h[2];
	fill(&m, &r);
	ck_assert_ptr_eq(m.read.slat_ns, h[1]);
	ck_assert_ptr_eq(m.read.lat_ns, h[0]);
	ck_assert_ptr_eq(m.read.fio.lat_ns, h[2]);
	metrics_job_fini(&m);
	for (unsigned i = 0; i < 4; i++)
		hist_free(h[i]);
	job_free(job);
}
END_TEST

static const struct {
	uint64_t ns;
	char unit;   /* n, u or m */
	unsigned at; /* row of that table */
	const char *limit;
} shares[] = {
	{ 1, 'n', 0, "2" },
	{ 2, 'n', 1, "4" },
	{ 49, 'n', 4, "50" },
	{ 50, 'n', 5, "100" },
	{ 5000, 'u', 2, "10" },
	{ 120000, 'u', 6, "250" },
	{ 5500000, 'm', 2, "10" },
	{ 1400000000, 'm', 10, "2000" },
	{ 5000000000, 'm', 11, ">=2000" },
};

START_TEST(latencies_fall_into_fios_buckets)
{
	struct job *job = job_new("train");
	struct hist *lat = hist_new();
	struct job_result r = { .job = job, .members = 1, .read.lat_ns = lat };
	struct job_result m;

	hist_add(lat, shares[_i].ns);
	fill(&m, &r);
	char unit = shares[_i].unit;
	const char *table = unit == 'n' ? "latency_ns" : unit == 'u' ? "latency_us" : "latency_ms";
	const struct latency_shares *s = unit == 'n'   ? &m.doc.latency_ns
					 : unit == 'u' ? &m.doc.latency_us
						       : &m.doc.latency_ms;
	const struct mlgen_field *f = field_find(metrics_job_fields, table);
	ck_assert_ptr_nonnull(f);
	ck_assert_str_eq(f->sub[shares[_i].at].name, shares[_i].limit);
	ck_assert_double_eq(s->percent[shares[_i].at], 100);
	metrics_job_fini(&m);
	hist_free(lat);
	job_free(job);
}
END_TEST

Suite *suite_metrics_fio(void)
{
	Suite *s = suite_create("metrics_fio");
	TCase *t = tcase_create("metrics_fio");

	tcase_add_loop_test(t, a_job_has_every_key_of_fio, 0,
			    (int)(sizeof(fio_keys) / sizeof(fio_keys[0])));
	tcase_add_test(t, a_plain_job_has_fios_three_latencies);
	tcase_add_test(t, errors_have_fios_sign_and_a_text);
	tcase_add_loop_test(t, latencies_fall_into_fios_buckets, 0,
			    (int)(sizeof(shares) / sizeof(shares[0])));
	suite_add_tcase(s, t);
	return s;
}
