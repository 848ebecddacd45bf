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

/* ---- a histogram of nanoseconds in few buckets, for a small scrape ---- */

/*
 * The bounds are 1, 2.5 and 5 of each decade from 10 microseconds to 50 seconds, and +Inf: 22
 * series. They are the same in every run, so that runs and hosts can be added up. The source
 * histogram is exact to 0.4 %, so a value within 0.4 % of a bound may be counted on the wrong side.
 */
#define PROM_BOUNDS 21u

/* The bounds in seconds as text. Each has a point or an exponent, as OpenMetrics requires, so that
 * the label is the same in both formats. */
extern const char *const prom_bound_names[PROM_BOUNDS];

struct prom_hist {
	uint64_t count, sum_ns;
	uint64_t below[PROM_BOUNDS]; /* cumulative: all values at or below the bound */
};

void prom_hist_from(struct prom_hist *to, const struct hist *from);

/* ---- metrics as text: Prometheus' format 0.0.4, or OpenMetrics 1.0 ---- */

/*
 * All samples of a metric follow its header. Labels are the host and, if they apply, section (the
 * job), rank (of several processes) and operation.
 */
struct prom_text {
	struct buf *to;
	bool is_open;                     /* OpenMetrics */
	const char *host;                 /* host of this process, for mlgen_build_info */
	const struct prom_family *family; /* current; set by prom_text_family */
};

struct prom_labels {
	const char *host;
	const char *section, *rank, *operation; /* NULL = no such label */
};

void prom_text_family(struct prom_text *t, const struct prom_family *p);

/* Append a sample of the current family. */
void prom_text_count(struct prom_text *t, const struct prom_labels *l, uint64_t n);
void prom_text_seconds(struct prom_text *t, const struct prom_labels *l, uint64_t ns);
void prom_text_number(struct prom_text *t, const struct prom_labels *l,
		      double x); /* NaN: nothing is appended */
void prom_text_hist(struct prom_text *t, const struct prom_labels *l, const struct prom_hist *h);

/* Append mlgen_build_info: the only metric without a row of live_fields. */
void prom_text_build(struct prom_text *t);

/* Append the end of the page. */
void prom_text_end(struct prom_text *t);

/* True if the Accept header of a client (NULL = none) prefers OpenMetrics: it names OpenMetrics
 * with at least the weight of plain text. */
bool prom_text_wants_open(const char *accept);

/* ---- all figures of a running job as metrics, read on request ---- */

/*
 * A page reads the run independently of the status line and the log. It uses relaxed loads of
 * single-writer counters and of private histograms, so that no thread of the run waits. The run is
 * read at most ten times a second, however often the page is requested. With several processes
 * (rank 0 asks the others, run/run.h), each process has its own samples, with its host and its
 * rank; figures of a host appear once. A page takes the memory of one job's histograms and some KiB
 * per job and process. Several threads may call these functions at the same time.
 */
struct prom_page;

struct prom_page *prom_page_new(const char *host); /* the label; copied */
void prom_page_free(struct prom_page *p);          /* NULL is fine */

/* Show these jobs from now on; before this call the page has only the build and the host. */
void prom_page_begin(struct prom_page *p, const struct run *run, size_t jobs);

/* Read the run for the last time; it may be freed afterwards. */
void prom_page_end(struct prom_page *p);

/* Append the page, in OpenMetrics or in Prometheus' own format. */
void prom_page_append(struct prom_page *p, bool is_open, struct buf *to);

/* ---- the address to serve at ---- */

/*
 * The syntax of an address is ADDR:PORT, where ADDR is an IPv4 address, an IPv6 address in
 * brackets, or "localhost"; :PORT and PORT alone mean 127.0.0.1. Other names are not looked up.
 * Port 0 chooses a free one.
 */

/* Check the syntax. 0, or -EINVAL with err. */
int prom_address_check(const char *given, struct mlgen_err *err);

/* Listen on that address and store the actual one in `at`, "127.0.0.1:9100". The descriptor of the
 * socket, or -errno with err. */
#define PROM_ADDRESS_BYTES 64
int prom_address_listen(const char *given, char at[PROM_ADDRESS_BYTES], struct mlgen_err *err);

/* ---- GET /metrics by libmicrohttpd ---- */

/*
 * A single thread, at the lowest priority, serves at most eight connections. Further clients wait
 * in the kernel's queue; when that is full, they are refused. A connection ends with its answer,
 * after five silent seconds, or after ten seconds in any case. The memory of a request is limited.
 * This bounds the cost to the run, whatever clients do.
 */
struct prom_serve;

/* Load the library. 0, or with err: -ENOTSUP if mlgen was built without the library, -ENOENT if the
 * library is not installed. */
int prom_serve_check(struct mlgen_err *err);

/* Serve `page`, which must outlive the server; `at` receives the address, as in
 * prom_address_listen. 0 or -errno with err. */
int prom_serve_open(struct prom_serve **out, const char *given, struct prom_page *page,
		    char at[PROM_ADDRESS_BYTES], struct mlgen_err *err);

/* The number of pages sent completely. Any thread. */
uint64_t prom_serve_count(const struct prom_serve *s);

void prom_serve_close(struct prom_serve *s); /* NULL is fine */
