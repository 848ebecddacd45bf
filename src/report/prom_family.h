/* SPDX-License-Identifier: Apache-2.0 */
/* prom_family.h - the metric of Prometheus that a figure of a running job is: name, unit and type,
 * by rule. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "run/watch/watch.h"

/*
 * A row of live_fields is a metric as the conventions of Prometheus have them:
 * "mlgen_", its key, and the base unit of what it is in, which a key may end
 * with already.
 *
 *	unit    key            metric
 *	bytes   read_bytes     mlgen_read_bytes_total
 *	s, ns   waiting        mlgen_waiting_seconds
 *	%       au_percent     mlgen_au_ratio, 0 to 1
 *	others  samples        mlgen_samples_total
 *
 * A COUNTER is a counter since the job began, and ends with _total; a
 * DISTRIBUTION is a histogram, and all others are gauges. A SHARE is one of all
 * so far. A PROGRESS is two metrics, of which the other one says how many there
 * are: mlgen_epoch, mlgen_epoch_target. Text is none, and a choice is the number
 * that its help says.
 */
#define PROM_NAME_BYTES 80

enum prom_type { PROM_GAUGE, PROM_COUNTER, PROM_HISTOGRAM };

struct prom_family {
	char name[PROM_NAME_BYTES]; /* without _total */
	const char *unit;           /* that it ends with, "bytes"; NULL = none */
	enum prom_type type;
	struct buf help; /* a sentence */
};

/* Is it a metric? */
bool prom_is_metric(const struct live_field *f);

/* The metric of the row, or, with is_target, of how many there are in all. */
void prom_family_init(struct prom_family *p, const struct live_field *f, bool is_target);
void prom_family_fini(struct prom_family *p);
