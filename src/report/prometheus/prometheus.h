/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.h - --metrics, --metrics-file: figures of a running job for Prometheus. */
#pragma once

/*
 * A page of metrics is served over HTTP, and written to a file every log_interval by a separate
 * thread, so that a slow file delays nobody. The file is replaced as a whole: a reader sees one
 * page. The page reads the run between prom_begin and prom_end; it is also served before and after
 * that. All calls come from the main thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "job/job.h"
#include "report/output/output.h"
#include "run/run.h"
#include "run/watch/watch.h"

/* ---- --metrics and --metrics-file: figures of a run in progress, for Prometheus ---- */

struct prom;

/* Check the options on this machine. 0, or -errno with err. */
int prom_check(const struct settings *set, struct mlgen_err *err);

/*
 * Start serving, and write the first page to `file` (NULL = none), which the caller closes. *out is
 * NULL if no option asks for metrics. 0, or -errno with err and nothing open.
 */
int prom_open(struct prom **out, const struct settings *set, const char *host,
	      const struct place *file, struct mlgen_err *err);

/* All functions from here to prom_discard accept NULL. */

/* Show this run from now on, and print the address of the page. */
void prom_begin(struct prom *p, const struct run *run, size_t jobs);

/* Read the run for the last time; it may be freed afterwards. */
void prom_end(struct prom *p);

/* Wait until the last page has been read, metrics-linger is over, or a signal arrives. */
void prom_linger(struct prom *p);

/* Write the file for the last time, free *at and set it to NULL. 0, or -errno with err if the file
 * could not be written. */
int prom_close(struct prom **at, struct mlgen_err *err);

/* Remove the temporary file. Any thread may call this, right before the program ends. */
void prom_discard(struct prom *p);

/* ---- name, unit and type of the metric for a figure of a running job ---- */

/*
 * A row of live_fields becomes a metric by the conventions of Prometheus: "mlgen_", its key, and
 * the base unit, which a key may already end with.
 *
 *	unit    key            metric
 *	bytes   read_bytes     mlgen_read_bytes_total
 *	s, ns   waiting        mlgen_waiting_seconds
 *	%       au_percent     mlgen_au_ratio, 0 to 1
 *	others  samples        mlgen_samples_total
 *
 * A COUNTER counts from the start of the job, and its name ends with _total; a DISTRIBUTION is a
 * histogram; all others are gauges. A SHARE covers the time since the start of the job. A PROGRESS
 * becomes two metrics, the second of which is the total: mlgen_epoch, mlgen_epoch_target. A text is
 * not exported. A choice is exported as the number that its help gives.
 */
#define PROM_NAME_BYTES 80

enum prom_type { PROM_GAUGE, PROM_COUNTER, PROM_HISTOGRAM };

struct prom_family {
	char name[PROM_NAME_BYTES]; /* without _total */
	const char *unit;           /* suffix of the name, "bytes"; NULL = none */
	enum prom_type type;
	struct buf help; /* a sentence */
};

/* True if the figure is a metric. */
bool prom_is_metric(const struct live_field *f);

/* Describe the metric of a row or, with is_target, the metric of its total. */
void prom_family_init(struct prom_family *p, const struct live_field *f, bool is_target);
void prom_family_fini(struct prom_family *p);
