/* SPDX-License-Identifier: Apache-2.0 */
/* prom_serve.h - GET /metrics by libmicrohttpd: a page of metrics for whoever asks. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "report/prom_address.h"
#include "report/prom_page.h"

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
