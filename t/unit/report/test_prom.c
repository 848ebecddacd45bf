/* SPDX-License-Identifier: Apache-2.0 */
/* test_prom.c - figures as metrics: names by rule, text in two forms, buckets, addresses. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/prometheus/prometheus_internal.h"
#include "suites.h"

#define HOST "h"

static const struct live_field *row(const char *name)
{
	const struct live_field *f = live_fields;

	while (strcmp(f->field.name, name) != 0)
		f++;
	return f;
}

START_TEST(a_name_follows_from_key_unit_and_kind)
{
	static const struct {
		const char *key, *name, *unit;
		enum prom_type type;
		bool is_target;
	} rows[] = {
		{ "read_bytes", "mlgen_read_bytes", "bytes", PROM_COUNTER, false },
		{ "samples", "mlgen_samples", NULL, PROM_COUNTER, false },
		{ "step_time", "mlgen_step_time_seconds", "seconds", PROM_COUNTER, false },
		{ "waiting", "mlgen_waiting_seconds", "seconds", PROM_GAUGE, false },
		{ "au_percent", "mlgen_au_ratio", "ratio", PROM_GAUGE, false },
		{ "cpu_percent", "mlgen_cpu_ratio", "ratio", PROM_GAUGE, false },
		{ "epoch", "mlgen_epoch_target", NULL, PROM_GAUGE, true },
		{ "checkpoint_done", "mlgen_checkpoint_done_target_bytes", "bytes", PROM_GAUGE,
		  true },
		{ "operation_latency", "mlgen_operation_latency_seconds", "seconds", PROM_HISTOGRAM,
		  false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct prom_family p;

		ck_assert(prom_is_metric(row(rows[i].key)));
		prom_family_init(&p, row(rows[i].key), rows[i].is_target);
		ck_assert_str_eq(p.name, rows[i].name);
		ck_assert_int_eq(p.type, rows[i].type);
		ck_assert_pstr_eq(p.unit, rows[i].unit);
		prom_family_fini(&p);
	}
	ck_assert(!prom_is_metric(row("job")));
	ck_assert(!prom_is_metric(row("seconds")));
}
END_TEST

/* Neither may a new row break the rules of Prometheus. */
START_TEST(every_row_is_a_good_metric_of_its_own)
{
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		struct prom_family p, q;

		if (!prom_is_metric(f))
			continue;
		prom_family_init(&p, f, false);
		ck_assert_uint_eq(strspn(p.name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
				  strlen(p.name));
		ck_assert_ptr_null(strstr(p.name, "percent"));
		ck_assert_ptr_null(strstr(p.name, "total"));
		ck_assert_msg(!strstr(buf_str(&p.help), "interval"),
			      "%s has no intervals: it needs .metric", p.name);
		for (const struct live_field *g = f + 1; g->field.name; g++) {
			if (!prom_is_metric(g))
				continue;
			prom_family_init(&q, g, false);
			ck_assert_str_ne(p.name, q.name);
			prom_family_fini(&q);
		}
		prom_family_fini(&p);
	}
}
END_TEST

static struct buf out;

static struct prom_text text_of(bool is_open)
{
	buf_reset(&out);
	return (struct prom_text){ .to = &out, .is_open = is_open, .host = HOST };
}

START_TEST(a_counter_is_named_as_each_form_wants_it)
{
	struct prom_labels l = { .host = HOST, .section = "a" };
	struct prom_family p;

	prom_family_init(&p, row("read_bytes"), false);
	struct prom_text t = text_of(false);
	prom_text_family(&t, &p);
	prom_text_count(&t, &l, 42);
	prom_text_end(&t);
	ck_assert_str_eq(buf_str(&out),
			 "# HELP mlgen_read_bytes_total Bytes read, as transferred.\n"
			 "# TYPE mlgen_read_bytes_total counter\n"
			 "mlgen_read_bytes_total{host=\"h\",section=\"a\"} 42\n");
	t = text_of(true);
	prom_text_family(&t, &p);
	prom_text_count(&t, &l, 42);
	prom_text_end(&t);
	ck_assert_str_eq(buf_str(&out), "# HELP mlgen_read_bytes Bytes read, as transferred.\n"
					"# TYPE mlgen_read_bytes counter\n"
					"# UNIT mlgen_read_bytes bytes\n"
					"mlgen_read_bytes_total{host=\"h\",section=\"a\"} 42\n"
					"# EOF\n");
	prom_family_fini(&p);
}
END_TEST

START_TEST(names_of_jobs_cannot_leave_their_quotes)
{
	struct prom_labels l = { .host = HOST, .section = "a\"} 1\n# \\ \xff" };
	struct prom_family p;

	prom_family_init(&p, row("samples"), false);
	struct prom_text t = text_of(false);
	t.family = &p;
	prom_text_count(&t, &l, 1);
	ck_assert_str_eq(
		buf_str(&out),
		"mlgen_samples_total{host=\"h\",section=\"a\\\"} 1\\\\n# \\\\ \\\\xff\"} 1\n");
	t = text_of(false);
	prom_text_number(&t, &l, (double)NAN);
	ck_assert_uint_eq(out.len, 0);
	prom_family_fini(&p);
}
END_TEST

START_TEST(a_histogram_has_its_bounds_count_and_sum)
{
	struct hist *h = hist_new();
	struct prom_hist p;

	for (unsigned i = 0; i < PROM_BOUNDS; i++) {
		double ns = strtod(prom_bound_names[i], NULL) * 1e9;

		/* More than the 0.4 % by which it may be off. */
		hist_add(h, (uint64_t)(ns * 0.99));
		hist_add(h, (uint64_t)(ns * 1.01));
	}
	prom_hist_from(&p, h);
	for (unsigned i = 0; i < PROM_BOUNDS; i++)
		ck_assert_uint_eq(p.below[i], 2 * i + 1);
	ck_assert_uint_eq(p.count, 2 * PROM_BOUNDS);
	ck_assert_uint_eq(p.sum_ns, h->sum_ns);
	hist_reset(h);
	prom_hist_from(&p, h);
	ck_assert_uint_eq(p.below[PROM_BOUNDS - 1], 0);
	hist_free(h);
}
END_TEST

START_TEST(seconds_are_exact_and_infinity_has_all)
{
	struct prom_hist h = { .count = 3, .sum_ns = UINT64_C(61000000001) };
	struct prom_labels l = { .host = HOST, .operation = "read" };
	struct prom_family p;

	h.below[PROM_BOUNDS - 1] = 2;
	prom_family_init(&p, row("operation_latency"), false);
	struct prom_text t = text_of(true);
	t.family = &p;
	prom_text_hist(&t, &l, &h);
	ck_assert_ptr_nonnull(strstr(buf_str(&out),
				     "_bucket{host=\"h\",operation=\"read\",le=\"50.0\"} 2\n"
				     "mlgen_operation_latency_seconds_bucket{host=\"h\",operation="
				     "\"read\",le=\"+Inf\"} 3\n"
				     "mlgen_operation_latency_seconds_sum{host=\"h\",operation="
				     "\"read\"} 61.000000001\n"));
	prom_family_fini(&p);
}
END_TEST

START_TEST(a_client_gets_the_form_that_it_likes_best)
{
	static const struct {
		const char *accept;
		bool is_open;
	} rows[] = {
		{ NULL, false },
		{ "", false },
		{ "*/*", false },
		{ "text/plain;version=0.0.4", false },
		{ "application/openmetrics-text", true },
		{ "application/openmetrics-text;version=1.0.0,application/"
		  "openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  true },
		{ "text/plain, application/openmetrics-text;q=0.5", false },
		{ "application/openmetrics-text; q=0", false },
		{ "application/openmetrics-textual", false },
		{ ";;;,,q=;application/openmetrics-text;q=", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_msg(prom_text_wants_open(rows[i].accept) == rows[i].is_open, "%s",
			      rows[i].accept);
}
END_TEST

START_TEST(what_is_no_address_is_refused_in_words)
{
	static const struct {
		const char *given, *words; /* NULL = it is one */
	} rows[] = {
		{ "9100", NULL },
		{ ":9100", NULL },
		{ "localhost:0", NULL },
		{ "0.0.0.0:9100", NULL },
		{ "[::]:65535", NULL },
		{ "", "a port is a number" },
		{ "127.0.0.1:", "a port is a number" },
		{ "127.0.0.1:65536", "a port is a number" },
		{ "127.0.0.1:-1", "a port is a number" },
		{ "127.0.0.1:http", "a port is a number" },
		{ "::1:9100", "needs brackets" },
		{ "[::1:9100", "is not an address" },
		{ "[127.0.0.1]:9100", "is not an address" },
		{ "storage.example:9100", "names are not resolved" },
		{ "1.2.3:9100", "is not an address" },
		{ "11111111111111111111111111111111111111111111111111111111111111111:1",
		  "is not an address" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mlgen_err err = { 0 };
		int rc = prom_address_check(rows[i].given, &err);

		ck_assert_msg(rc == (rows[i].words ? -EINVAL : 0), "%s", rows[i].given);
		if (rows[i].words)
			ck_assert_msg(strstr(err.text, rows[i].words), "%s", err.text);
	}
}
END_TEST

START_TEST(a_port_that_is_taken_or_an_address_of_others_is_told)
{
	char at[PROM_ADDRESS_BYTES], again[PROM_ADDRESS_BYTES];
	struct mlgen_err err = { 0 };
	int fd = prom_address_listen("0", at, &err);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(strncmp(at, "127.0.0.1:", 10), 0);
	ck_assert_str_ne(at, "127.0.0.1:0");
	ck_assert_int_eq(prom_address_listen(at, again, &err), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, "another process"));
	close(fd);
	/* Of documentation: RFC 5737. */
	err = (struct mlgen_err){ 0 };
	ck_assert_int_eq(prom_address_listen("192.0.2.1:0", at, &err), -EADDRNOTAVAIL);
	ck_assert_ptr_nonnull(strstr(err.text, "does not have this address"));
}
END_TEST

Suite *suite_prom(void)
{
	Suite *s = suite_create("prom");
	TCase *t = tcase_create("prom");

	tcase_add_test(t, a_name_follows_from_key_unit_and_kind);
	tcase_add_test(t, every_row_is_a_good_metric_of_its_own);
	tcase_add_test(t, a_counter_is_named_as_each_form_wants_it);
	tcase_add_test(t, names_of_jobs_cannot_leave_their_quotes);
	tcase_add_test(t, a_histogram_has_its_bounds_count_and_sum);
	tcase_add_test(t, seconds_are_exact_and_infinity_has_all);
	tcase_add_test(t, a_client_gets_the_form_that_it_likes_best);
	tcase_add_test(t, what_is_no_address_is_refused_in_words);
	tcase_add_test(t, a_port_that_is_taken_or_an_address_of_others_is_told);
	suite_add_tcase(s, t);
	return s;
}
