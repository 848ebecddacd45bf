/* SPDX-License-Identifier: Apache-2.0 */
/* scored.c - the figures of a score as tables: names, units, and what they mean. */
#include "trace/documents/documents.h"

const struct mlgen_choice score_verdicts[] = {
	{ "pass", SCORE_PASS, "within the limit" },
	{ "fail", SCORE_FAIL, "beyond the limit" },
	{ "unknown", SCORE_UNKNOWN,
	  "a trace lacks the records for this figure; this is not a failure" },
	{ "shown", SCORE_SHOWN,
	  "hosts or storage differ or are unknown, so the figure does not affect the verdict" },
	{ 0 },
};

/* clang-format off */
#define COUNT(m) MLGEN_F_U64(S, m)
#define REAL(m)  MLGEN_F_F64(S, m), .flags = MLGEN_NULLABLE
#define TEXT(m)  METRICS_TEXT(S, m)
#define VERDICT(m) MLGEN_F_ENUM(S, m, score_verdicts)

#define S struct scored_part
static const struct mlgen_field part_fields[] = {
	{ "metric", TEXT(metric), .help = "The metric to which the figure belongs, m1 to m12. The metric fails if one of its figures fails." },
	{ "figure", TEXT(name), .help = "What is compared, as mlgen(1) describes it." },
	{ "distance", REAL(distance), .help = "Distance between the candidate and the real trace, or the farthest of several real traces; 0 = alike, null = unknown." },
	{ "limit", REAL(limit), .help = "The largest of threshold, chance and floor." },
	{ "threshold", REAL(threshold), .help = "Threshold for a job that is made from a trace." },
	{ "preset_threshold", REAL(preset), .help = "Threshold for a job that is made from a description: shown, but not required; null = there is none." },
	{ "chance", REAL(chance), .help = "How far figures of few events differ by chance, for orders, blocks, times without an operation and steps of m6 to m9; null = other figures." },
	{ "floor", REAL(floor), .help = "The largest distance between two real traces, times 1.5; null = there is only one, or no distance is known." },
	{ "verdict", VERDICT(verdict), .help = "Whether the distance is within the limit." },
	{ "unknown", TEXT(why), .help = "Why the distance is null; null = it is known." },
	{ 0 },
};
#undef S

#define S struct scored_phase
static const struct mlgen_field phase_fields[] = {
	{ "phase", TEXT(name), .help = "Name of a stage or checkpoint; epoch = an epoch without a stage, between = outside of epochs, stages and checkpoints, all = the traces have no phase in common." },
	{ "verdict", VERDICT(verdict), .help = "fail if one of its figures fails." },
	{ "figures", METRIC_LIST(S, parts, struct scored_part, part_fields), .help = "The figures compared." },
	{ 0 },
};
#undef S

#define S struct scored_trace
static const struct mlgen_field trace_fields[] = {
	{ "file", TEXT(file), .help = "The name given on the command line." },
	{ "records", COUNT(records), .unit = "records", .help = "Records in the trace." },
	{ "other_calls", COUNT(other_calls), .unit = "operations", .help = "Calls on files that are neither data set nor checkpoint; no figure includes them." },
	{ "failed_calls", COUNT(failed_calls), .unit = "operations", .help = "Failed calls; no figure includes them." },
	{ "is_complete", MLGEN_F_BOOL(S, is_complete), .help = "false = events of the trace were lost, or a part is damaged." },
	{ 0 },
};
#undef S

#define S struct scored
#define WORST(n, what) { "m" #n, REAL(worst[n - 1]), .help = "M" #n ", " what ": the largest distance divided by its limit, over figures and phases; the metric fails above 1." }
const struct mlgen_field score_fields[] = {
	{ "verdict", VERDICT(verdict), .help = "fail if one of its phases fails." },
	{ "candidate", TEXT(candidate), .help = "The last of the files." },
	{ "same_place", MLGEN_F_BOOL(S, same_place), .help = "The host and storage of all traces are the same; if false, m8 to m12 are shown but do not affect the verdict." },
	{ "unlike", TEXT(unlike), .help = "Why host or storage differ or are not known; null = they are the same." },
	{ "whole", MLGEN_F_BOOL(S, whole), .help = "The traces have no phase in common and are compared as a whole." },
	WORST(1, "operations"),
	WORST(2, "bytes"),
	WORST(3, "sizes of requests"),
	WORST(4, "files"),
	WORST(5, "sequence"),
	WORST(6, "rounds"),
	WORST(7, "reuse"),
	WORST(8, "think time"),
	WORST(9, "steps"),
	WORST(10, "concurrency"),
	WORST(11, "bandwidth"),
	WORST(12, "the kernel's part"),
	{ "traces", METRIC_LIST(S, traces, struct scored_trace, trace_fields), .help = "The files; the candidate is the last." },
	{ "phases", METRIC_LIST(S, phases, struct scored_phase, phase_fields), .help = "Results of the comparison, phase by phase." },
	{ 0 },
};
#undef S

#define S struct score_document
const struct mlgen_field scored_fields[] = {
	{ "mlgen version", TEXT(version), .help = "Version of mlgen." },
	{ "schema_version", COUNT(schema_version), .help = "Same as in the documents of runs, mlgen-json(5)." },
	{ "score", METRIC_OBJECT(S, score, struct scored, score_fields), .help = "The score." },
	{ 0 },
};
#undef S
/* clang-format on */

const struct document_section scored_sections[] = {
	{ "", scored_fields },
	{ "score", score_fields },
	{ "score.traces[]", trace_fields },
	{ "score.phases[]", phase_fields },
	{ "score.phases[].figures[]", part_fields },
	{ 0 },
};
