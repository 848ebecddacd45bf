/* SPDX-License-Identifier: Apache-2.0 */
/* prom.h - --metrics and --metrics-file: figures of a run for Prometheus, while it goes on. */
#pragma once

#include <stddef.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "report/place.h"
#include "run/run.h"

/*
 * One page (prom_page.h), served to whoever asks (prom_serve.h), and written to a file every
 * log_interval by a thread of its own, so that a slow file holds up nobody. The file is replaced as
 * a whole: who reads it sees one page. From prom_begin to prom_end the page looks at the run;
 * before, and after, it is there as well. All calls are the main thread's.
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
