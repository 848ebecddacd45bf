/* SPDX-License-Identifier: Apache-2.0 */
/* plan_io.h - the dry run of a plain job. */
#pragma once

#include "base/buf.h"
#include "report/plan/plan.h"

/* Fill p, whose job is set, by looking at the job's files. Always 0: what would stop the run is a
 * check that fails. */
int plan_io(struct plan_report *p, const struct plan_input *in, struct mlgen_err *unused);

/* The page below its first line. */
void plan_io_text(FILE *to, const struct plan_report *p);

/* ---- of any kind of plain job ---- */

/* Where its files lie; NULL = not known. */
char *plan_io_directory(const struct plan_report *p);

/* The checks `data`, `space` and `storage`, by where io.directory is mounted; and `memory`, which
 * may hold what is read again. */
void plan_io_check_mount(struct plan_report *p);
void plan_io_check_memory(struct plan_report *p, bool reads_cached);

/* Lines about the files, which lie `where` their directory is, "in" or "below"; and what is said of
 * memory. */
void plan_io_put_data(FILE *to, const struct plan_report *p, const char *where);
void plan_io_put_memory(struct buf *text, const struct plan_report *p);
