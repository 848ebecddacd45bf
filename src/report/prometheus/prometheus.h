/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.h - --metrics, --metrics-file: figures of a running job for Prometheus. */
#pragma once

/*
 * One page, served to whoever asks, and written to a file every log_interval by a thread of its
 * own, so that a slow file holds up nobody. The file is replaced as a whole: who reads it sees one
 * page. From prom_begin to prom_end the page looks at the run; before, and after, it is there as
 * well. All calls are the main thread's.
 */

#include <stdbool.h>
#include <stddef.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "job/job.h"
#include "report/output/output.h"
#include "run/run.h"
#include "run/watch/watch.h"

/* ---- --metrics and --metrics-file: figures of a run for Prometheus, while it goes on ---- */

/*
 * One page (prometheus_internal.h), served to whoever asks (prometheus_internal.h), and written to
 * a file every log_interval by a thread of its own, so that a slow file holds up nobody. The file
 * is replaced as a whole: who reads it sees one page. From prom_begin to prom_end the page looks at
 * the run; before, and after, it is there as well. All calls are the main thread's.
 */
struct prom;

/* Do the options make sense here? 0, or -errno with err. */
int prom_check(const struct settings *set, struct mlgen_err *err);

/*
 * Serve, and write the first page; `file` NULL = there is none, and is closed by the caller. NULL
 * in *out where no option asks for it. 0, or -errno with err and nothing open.
 */
int prom_open(struct prom **out, const struct settings *set, const char *host,
	      const struct place *file, struct mlgen_err *err);

/* From here on NULL is fine. */

/* It is of this run; what is served is told, and where. */
void prom_begin(struct prom *p, const struct run *run, size_t jobs);

/* The run is over, and may go. */
void prom_end(struct prom *p);

/* Until the page of the end has been asked for, metrics-linger is over, or a signal comes. */
void prom_linger(struct prom *p);

/* Write the file once more, and free *at, which is NULL then. 0, or -errno with err: it could not
 * be written, then or now, whichever is the last. */
int prom_close(struct prom **at, struct mlgen_err *err);

/* From another thread, before the program ends at once: no half-written file is left. */
void prom_discard(struct prom *p);

/* ---- the metric of Prometheus that a figure of a running job is: name, unit and type, by rule
 * ---- */

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
