/* SPDX-License-Identifier: Apache-2.0 */
/* prom_text.c - formats metrics as text: Prometheus' format 0.0.4, or OpenMetrics 1.0. */
#include "report/prometheus/prometheus_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "config.h"

static const struct {
	const char *unit, *ending, *base;
} units[] = {
	{ "bytes", "_bytes", "bytes" },
	{ "s", "_seconds", "seconds" },
	{ "ns", "_seconds", "seconds" },
	{ "%", "_percent", "ratio" },
};

bool prom_is_metric(const struct live_field *f)
{
	/* Percentiles are not exported: they can be computed from the histogram. */
	return f->field.help && f->field.type != MLGEN_STR && !(f->percent > 0) &&
	       !(f->metric && !*f->metric);
}

void prom_family_init(struct prom_family *p, const struct live_field *f, bool is_target)
{
	const char *key = f->field.name, *unit = f->field.unit;
	size_t length = strlen(key);

	*p = (struct prom_family){ 0 };
	p->type = f->kind == LIVE_COUNTER        ? PROM_COUNTER
		  : f->kind == LIVE_DISTRIBUTION ? PROM_HISTOGRAM
						 : PROM_GAUGE;
	for (size_t i = 0; unit && i < ARRAY_LEN(units); i++)
		if (strcmp(unit, units[i].unit) == 0) {
			size_t cut = strlen(units[i].ending);

			if (length > cut && strcmp(key + length - cut, units[i].ending) == 0)
				length -= cut;
			p->unit = units[i].base;
		}
	snprintf(p->name, sizeof(p->name), "mlgen_%.*s%s%s%s", (int)length, key,
		 is_target ? "_target" : "", p->unit ? "_" : "", p->unit ? p->unit : "");
	if (is_target)
		buf_add(&p->help, "Target value of: ");
	buf_add(&p->help, f->metric ? f->metric : f->field.help);
	if (f->field.type != MLGEN_ENUM)
		return;
	for (const struct mlgen_choice *c = f->field.choices; c->name; c++)
		buf_addf(&p->help, "%s%d is %s", c == f->field.choices ? " " : ", ", c->value,
			 c->name);
	buf_addc(&p->help, '.');
}

void prom_family_fini(struct prom_family *p)
{
	buf_fini(&p->help);
}

const char *const prom_bound_names[PROM_BOUNDS] = {
	"1e-05",  "2.5e-05", "5e-05", "0.0001", "0.00025", "0.0005", "0.001",
	"0.0025", "0.005",   "0.01",  "0.025",  "0.05",    "0.1",    "0.25",
	"0.5",    "1.0",     "2.5",   "5.0",    "10.0",    "25.0",   "50.0",
};

void prom_hist_from(struct prom_hist *to, const struct hist *from)
{
	uint64_t sum = 0, bound_ns = 10000;
	unsigned bucket = 0;

	*to = (struct prom_hist){ .count = from->count, .sum_ns = from->sum_ns };
	for (unsigned i = 0; from->count && i < PROM_BOUNDS; i++) {
		while (bucket < HIST_BUCKETS && hist_bucket_midpoint(bucket) <= bound_ns)
			sum += from->buckets[bucket++];
		to->below[i] = sum;
		/* 10 us, 25 us, 50 us, 100 us, ... */
		bound_ns = i % 3 == 0 ? bound_ns / 2 * 5 : bound_ns * 2;
	}
}

/* Append a label's value or the text after # HELP, escaped to a single line of UTF-8. */
static void append_escaped(struct prom_text *t, const char *s, bool is_quoted)
{
	struct buf shown = { 0 };

	printable_add(&shown, s);
	for (const char *c = buf_str(&shown); *c; c++) {
		if (*c == '\\' || (*c == '"' && (is_quoted || t->is_open)))
			buf_addc(t->to, '\\');
		buf_addc(t->to, *c);
	}
	buf_fini(&shown);
}

static void append_label(struct prom_text *t, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(t->to, "%s=\"", name);
	append_escaped(t, value, true);
	buf_add(t->to, "\"");
}

/* "mlgen_read_bytes_total{section="a",host="h"} " */
static void append_head(struct prom_text *t, const char *ending, const struct prom_labels *l,
			const char *le)
{
	buf_addf(t->to, "%s%s{", t->family->name, ending);
	append_label(t, "host", l->host);
	append_label(t, ",section", l->section);
	append_label(t, ",rank", l->rank);
	append_label(t, ",operation", l->operation);
	append_label(t, ",le", le);
	buf_add(t->to, "} ");
}

static const char *ending_of(const struct prom_family *p)
{
	return p->type == PROM_COUNTER ? "_total" : "";
}

void prom_text_family(struct prom_text *t, const struct prom_family *p)
{
	static const char *const types[] = {
		[PROM_GAUGE] = "gauge", [PROM_COUNTER] = "counter", [PROM_HISTOGRAM] = "histogram"
	};
	/* OpenMetrics names the family here, Prometheus' own format the samples. */
	const char *ending = t->is_open ? "" : ending_of(p);

	t->family = p;
	buf_addf(t->to, "# HELP %s%s ", p->name, ending);
	append_escaped(t, buf_str(&p->help), false);
	buf_addf(t->to, "\n# TYPE %s%s %s\n", p->name, ending, types[p->type]);
	if (t->is_open && p->unit)
		buf_addf(t->to, "# UNIT %s %s\n", p->name, p->unit);
}

void prom_text_count(struct prom_text *t, const struct prom_labels *l, uint64_t n)
{
	append_head(t, ending_of(t->family), l, NULL);
	buf_addf(t->to, "%" PRIu64 "\n", n);
}

static void append_seconds(struct prom_text *t, uint64_t ns)
{
	buf_addf(t->to, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void prom_text_seconds(struct prom_text *t, const struct prom_labels *l, uint64_t ns)
{
	append_head(t, ending_of(t->family), l, NULL);
	append_seconds(t, ns);
}

void prom_text_number(struct prom_text *t, const struct prom_labels *l, double x)
{
	if (isnan(x))
		return;
	append_head(t, ending_of(t->family), l, NULL);
	buf_addf(t->to, "%.6g\n", x);
}

void prom_text_hist(struct prom_text *t, const struct prom_labels *l, const struct prom_hist *h)
{
	for (unsigned i = 0; i < PROM_BOUNDS; i++) {
		append_head(t, "_bucket", l, prom_bound_names[i]);
		buf_addf(t->to, "%" PRIu64 "\n", h->below[i]);
	}
	append_head(t, "_bucket", l, "+Inf");
	buf_addf(t->to, "%" PRIu64 "\n", h->count);
	append_head(t, "_sum", l, NULL);
	append_seconds(t, h->sum_ns);
	append_head(t, "_count", l, NULL);
	buf_addf(t->to, "%" PRIu64 "\n", h->count);
}

void prom_text_build(struct prom_text *t)
{
	struct prom_family p = { .name = "mlgen_build_info", .type = PROM_GAUGE };

	buf_add(&p.help, "Version of mlgen; the value is always 1.");
	prom_text_family(t, &p);
	buf_addf(t->to, "%s{", p.name);
	append_label(t, "host", t->host);
	append_label(t, ",version", MLGEN_VERSION);
	buf_add(t->to, "} 1\n");
	prom_family_fini(&p);
	t->family = NULL;
}

void prom_text_end(struct prom_text *t)
{
	if (t->is_open)
		buf_add(t->to, "# EOF\n");
}

/* ---- the format that a client prefers ---- */

/* The weight (q=) of one media range of an Accept header, up to `end`; 1 if it has none. */
static double weight_of(const char *range, const char *end)
{
	for (const char *c = range; c < end; c++)
		if (*c == ';') {
			c += 1 + strspn(c + 1, " \t");
			if (strncasecmp(c, "q=", 2) == 0)
				return strtod(c + 2, NULL);
			c--;
		}
	return 1;
}

/* The largest weight of a media type in an Accept header; 0 = it is not named. */
static double weight_in(const char *accept, const char *type)
{
	size_t length = strlen(type);
	double max = 0;

	while (*accept) {
		accept += strspn(accept, " \t,");
		const char *end = accept + strcspn(accept, ",");
		if (strncasecmp(accept, type, length) == 0 && strchr(" \t,;", accept[length]))
			max = fmax(max, weight_of(accept, end));
		accept = end;
	}
	return max;
}

bool prom_text_wants_open(const char *accept)
{
	if (!accept)
		return false;
	double open = weight_in(accept, "application/openmetrics-text");
	return open > 0 && open >= weight_in(accept, "text/plain");
}
