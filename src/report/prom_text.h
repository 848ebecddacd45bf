/* SPDX-License-Identifier: Apache-2.0 */
/* prom_text.h - metrics as text: Prometheus' format 0.0.4, or OpenMetrics 1.0. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "report/prom_family.h"
#include "report/prom_hist.h"

/*
 * All samples of a metric stand together, behind its head. Labels are host and, where they say
 * something, section (the job), rank (of several processes) and operation.
 */
struct prom_text {
	struct buf *to;
	bool is_open;                     /* OpenMetrics */
	const char *host;                 /* of this process, for the build */
	const struct prom_family *family; /* at hand; by prom_text_family */
};

struct prom_labels {
	const char *host;
	const char *section, *rank, *operation; /* NULL = has none */
};

void prom_text_family(struct prom_text *t, const struct prom_family *p);

/* A sample of the family at hand. */
void prom_text_count(struct prom_text *t, const struct prom_labels *l, uint64_t n);
void prom_text_seconds(struct prom_text *t, const struct prom_labels *l, uint64_t ns);
void prom_text_number(struct prom_text *t, const struct prom_labels *l,
		      double x); /* NaN: there is none */
void prom_text_hist(struct prom_text *t, const struct prom_labels *l, const struct prom_hist *h);

/* Which mlgen this is: the only metric that is no row. */
void prom_text_build(struct prom_text *t);

/* Behind all of them. */
void prom_text_end(struct prom_text *t);

/* Which of the two a client asks for, by its header Accept; NULL = it has none. OpenMetrics has to
 * be named, and not be liked less than text. */
bool prom_text_wants_open(const char *accept);
