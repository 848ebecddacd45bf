/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus_internal.h - what the files of report/prometheus share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "report/prometheus/prometheus.h"
#include "run/run.h"
#include "stat/hist.h"

/* ---- a histogram of nanoseconds in the few buckets that a scrape can bear ---- */

/*
 * 1, 2.5 and 5 of each decade from 10 microseconds to 50 seconds, and +Inf: 22 series, whose bounds
 * are the same in every run, so that runs and hosts can be added up. A value within 0.4 % of a
 * bound, which is how exact the histogram is that it comes from, may be counted on the bound's
 * other side.
 */
#define PROM_BOUNDS 21u

/* As they are written, in seconds: a number with a point, as OpenMetrics wants it, so that the
 * label is the same in both forms. */
extern const char *const prom_bound_names[PROM_BOUNDS];

struct prom_hist {
	uint64_t count, sum_ns;
	uint64_t below[PROM_BOUNDS]; /* at or below the bound, of all */
};

void prom_hist_of(struct prom_hist *to, const struct hist *from);

/* ---- metrics as text: Prometheus' format 0.0.4, or OpenMetrics 1.0 ---- */

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

/* ---- all figures of a running job as metrics, read when somebody asks for them ---- */

/*
 * A page looks at the run by itself, beside the status line and the log: counters of a single
 * writer and private histograms are read relaxed, and nobody who works is asked, or waits. It looks
 * at most ten times a second, however often it is asked. Of several processes (rank 0 asks the
 * others, run/run.h) each has its samples, with its host and its rank; figures of a host are
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

/* ---- where metrics are served: an address of this host and a port ---- */

/*
 * ADDR:PORT, where ADDR is one of IPv4, of IPv6 in brackets, or "localhost"; :PORT and PORT alone
 * are of 127.0.0.1. No name is looked up. Port 0 is one that is free.
 */

/* Is it that? 0, or -EINVAL with err. */
int prom_address_check(const char *given, struct mlgen_err *err);

/* A socket that listens there, and in `at` where that is, "127.0.0.1:9100".
 * The descriptor, or -errno with err. */
#define PROM_ADDRESS_BYTES 64
int prom_address_listen(const char *given, char at[PROM_ADDRESS_BYTES], struct mlgen_err *err);

/* ---- GET /metrics by libmicrohttpd: a page of metrics for whoever asks ---- */

/*
 * One thread, with the least priority there is, serves at most eight connections; more of them wait
 * in the kernel's queue, and behind that are turned away. A connection ends with its answer, when
 * it has been silent for five seconds, or after ten in any case; what a request may take of memory
 * is fixed. So whatever clients do, what they cost the run is bounded.
 */
struct prom_serve;

/* Can this mlgen do it at all? 0, -ENOTSUP with err where it was built without the library, or
 * -ENOENT where the library is not installed. */
int prom_serve_check(struct mlgen_err *err);

/* Serve this page, which outlives it, from now on; `at` is where, as prom_address_listen has it. 0
 * or -errno with err. */
int prom_serve_open(struct prom_serve **out, const char *given, struct prom_page *page,
		    char at[PROM_ADDRESS_BYTES], struct mlgen_err *err);

/* So many pages have been sent as a whole. Any thread. */
uint64_t prom_serve_count(const struct prom_serve *s);

void prom_serve_close(struct prom_serve *s); /* NULL is fine */
