/* SPDX-License-Identifier: Apache-2.0 */
/* plan_parts.h - what plans of trainings and of plain jobs have in common. */
#pragma once

#include "report/plan_report.h"

/* Files of the program's own: streams, reports, counters, libraries. */
#define PLAN_OWN_FILES 32

/* One more line of the checklist; "%s" with "" = no text. The worst that is said of a name stands,
 * and of two that are as bad the first. */
__attribute__((format(printf, 4, 5))) void plan_add_check(struct plan_report *p, const char *name,
							  enum plan_state state, const char *fmt,
							  ...);

/* What the run would refuse, in its words. */
void plan_add_fail(struct plan_report *p, const char *name, const struct mlgen_err *why);

/* Is it refused already? */
bool plan_has_failed(const struct plan_report *p, const char *name);

/* The check `direct`: what O_DIRECT asks for at `probe`, a file or a directory. */
void plan_check_direct(struct plan_report *p, const char *probe);

/* Where the files of the job lie; NULL = not known. */
char *plan_directory(const struct plan_report *p);

/* a + b, and a * b, or UINT64_MAX. */
uint64_t plan_sum(uint64_t a, uint64_t b);
uint64_t plan_product(uint64_t a, uint64_t b);
