/* SPDX-License-Identifier: Apache-2.0 */
/* prom_page.h - all figures of a running job as metrics, read when somebody asks for them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "run/run.h"

/*
 * A page looks at the run by itself, beside the status line and the log: counters of a single
 * writer and private histograms are read relaxed, and nobody who works is asked, or waits. It looks
 * at most ten times a second, however often it is asked. Of several processes (rank 0 asks the
 * others, run/others.h) each has its samples, with its host and its rank; figures of a host are
 * there once. Memory is that of one job's histograms and some KiB a job and process. Any thread,
 * several at once.
 */
struct prom_page;

struct prom_page *prom_page_new(const char *host); /* the label; copied */
void prom_page_free(struct prom_page *p);          /* NULL is fine */

/* Of these jobs from now on; before, the page says which mlgen it is, and of the host. */
void prom_page_follow(struct prom_page *p, const struct run *run, size_t jobs);

/* Look once more, and not at the run again, which may go then. */
void prom_page_end(struct prom_page *p);

/* Append it, in OpenMetrics or in Prometheus' own form. */
void prom_page_put(struct prom_page *p, bool is_open, struct buf *to);
