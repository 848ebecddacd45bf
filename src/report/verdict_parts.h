/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_parts.h - what verdicts of all workloads are made from: findings, lists, sentences that
 * several have. */
#pragma once

#include "base/buf.h"
#include "report/show.h"
#include "report/template.h"
#include "report/verdict_ceiling.h"
#include "run/results.h"

/* All that a verdict is made from. */
struct verdict_findings {
	const struct run_result *run;
	const struct job_result *result;
	const struct job *job;
	const struct ml_result *ml;
	struct show_shares time, loader;
	struct rate_unit unit;
	struct ceiling_gap ceiling;
	/* Of a job that saves or restores. */
	const struct checkpoints_result *checkpoints;
	struct show_shares ranks;
};

/* Append a template. Its keys are options of the job, the rows of its result, and behind
 * `checkpoints.` those of the ones above. */
#define verdict_say(out, f, text) verdict_template(out, TEMPLATE(verdict_scopes, text), f)
extern const struct template_scope verdict_scopes[];
void verdict_template(struct buf *out, const struct template *t, const struct verdict_findings *f);

/* Appends its sentence; nothing appended = nothing to say. */
typedef void verdict_sentence(struct buf *out, const struct verdict_findings *f);

struct verdict {
	const char *name; /* NULL ends a list */
	bool (*holds)(const struct verdict_findings *f);
	verdict_sentence *headline, *because, *try_next;
};

/* Take the first of the list that holds, if there is one. */
void verdict_take(struct verdict_result *to, const struct verdict *list,
		  const struct verdict_findings *f);

/* "mlgen itself took usr 3.8%, sys 10.0%, other processes 86.1%" */
void verdict_put_cpu(struct buf *out, const struct host_result *h);

/* "CPU 97.0% busy (2 CPUs)", "CPU quota 97.0% used (0.5 CPUs)" */
void verdict_put_full(struct buf *out, const struct host_result *h, const struct host *host);

/* Is most of what the CPUs do not mlgen's own? */
bool verdict_cpu_is_of_others(const struct host_result *h);

/* Does the network carry what it can? And that as a sentence. */
bool verdict_network_is_full(const struct verdict_findings *f);
void verdict_network_headline(struct buf *out, const struct verdict_findings *f);

/* "tmpfs keeps files in memory", "/dev/shm is tmpfs: no storage was read" (the verb): true where
 * the filesystem is one, else nothing is appended. */
bool verdict_keeps_in_memory(struct buf *out, const struct verdict_findings *f);
bool verdict_is_in_memory(struct buf *out, const struct verdict_findings *f, const char *verb);
