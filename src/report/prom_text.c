/* SPDX-License-Identifier: Apache-2.0 */
/* prom_text.c - see prom_text.h. */
#include "report/prom_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/units.h"
#include "base/util.h"
#include "config.h"

/* What stands between quotes, or behind # HELP: one line, of UTF-8. */
static void put_escaped(struct prom_text *t, const char *s, bool is_quoted)
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

static void put_label(struct prom_text *t, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(t->to, "%s=\"", name);
	put_escaped(t, value, true);
	buf_add(t->to, "\"");
}

/* "mlgen_read_bytes_total{section="a",host="h"} " */
static void put_head(struct prom_text *t, const char *ending, const struct prom_labels *l,
		     const char *le)
{
	buf_addf(t->to, "%s%s{", t->family->name, ending);
	put_label(t, "host", l->host);
	put_label(t, ",section", l->section);
	put_label(t, ",rank", l->rank);
	put_label(t, ",operation", l->operation);
	put_label(t, ",le", le);
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
	/* OpenMetrics names the family, the other form its samples. */
	const char *ending = t->is_open ? "" : ending_of(p);

	t->family = p;
	buf_addf(t->to, "# HELP %s%s ", p->name, ending);
	put_escaped(t, buf_str(&p->help), false);
	buf_addf(t->to, "\n# TYPE %s%s %s\n", p->name, ending, types[p->type]);
	if (t->is_open && p->unit)
		buf_addf(t->to, "# UNIT %s %s\n", p->name, p->unit);
}

void prom_text_count(struct prom_text *t, const struct prom_labels *l, uint64_t n)
{
	put_head(t, ending_of(t->family), l, NULL);
	buf_addf(t->to, "%" PRIu64 "\n", n);
}

static void put_seconds(struct prom_text *t, uint64_t ns)
{
	buf_addf(t->to, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void prom_text_seconds(struct prom_text *t, const struct prom_labels *l, uint64_t ns)
{
	put_head(t, ending_of(t->family), l, NULL);
	put_seconds(t, ns);
}

void prom_text_number(struct prom_text *t, const struct prom_labels *l, double x)
{
	if (isnan(x))
		return;
	put_head(t, ending_of(t->family), l, NULL);
	buf_addf(t->to, "%.6g\n", x);
}

void prom_text_hist(struct prom_text *t, const struct prom_labels *l, const struct prom_hist *h)
{
	for (unsigned i = 0; i < PROM_BOUNDS; i++) {
		put_head(t, "_bucket", l, prom_bound_names[i]);
		buf_addf(t->to, "%" PRIu64 "\n", h->below[i]);
	}
	put_head(t, "_bucket", l, "+Inf");
	buf_addf(t->to, "%" PRIu64 "\n", h->count);
	put_head(t, "_sum", l, NULL);
	put_seconds(t, h->sum_ns);
	put_head(t, "_count", l, NULL);
	buf_addf(t->to, "%" PRIu64 "\n", h->count);
}

void prom_text_build(struct prom_text *t)
{
	struct prom_family p = { .name = "mlgen_build_info", .type = PROM_GAUGE };

	buf_add(&p.help, "The mlgen that says this; always 1.");
	prom_text_family(t, &p);
	buf_addf(t->to, "%s{", p.name);
	put_label(t, "host", t->host);
	put_label(t, ",version", MLGEN_VERSION);
	buf_add(t->to, "} 1\n");
	prom_family_fini(&p);
	t->family = NULL;
}

void prom_text_end(struct prom_text *t)
{
	if (t->is_open)
		buf_add(t->to, "# EOF\n");
}

/* ---- what a client asks for ---- */

/* The weight of one range of a list that ends at `end`; 1 if it has none. */
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

/* 0: it is not named. */
static double weight_in(const char *accept, const char *type)
{
	size_t length = strlen(type);
	double most = 0;

	while (*accept) {
		accept += strspn(accept, " \t,");
		const char *end = accept + strcspn(accept, ",");
		if (strncasecmp(accept, type, length) == 0 && strchr(" \t,;", accept[length]))
			most = fmax(most, weight_of(accept, end));
		accept = end;
	}
	return most;
}

bool prom_text_wants_open(const char *accept)
{
	double open;

	if (!accept)
		return false;
	open = weight_in(accept, "application/openmetrics-text");
	return open > 0 && open >= weight_in(accept, "text/plain");
}
