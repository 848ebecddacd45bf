/* SPDX-License-Identifier: Apache-2.0 */
/* scored.c - the figures of a score as tables: names, units, and what they mean. */
#include "trace/documents/documents.h"

const struct mlgen_choice score_verdicts[] = {
	{ "pass", SCORE_PASS, "within the limit" },
	{ "fail", SCORE_FAIL, "beyond it" },
	{ "unknown", SCORE_UNKNOWN, "a trace does not have what it takes, which fails nothing" },
	{ "shown", SCORE_SHOWN, "another host or storage, so that it decides nothing" },
	{ 0 },
};

/* clang-format off */
#define COUNT(m) MLGEN_F_U64(S, m)
#define REAL(m)  MLGEN_F_F64(S, m), .flags = MLGEN_NULLABLE
#define TEXT(m)  METRICS_TEXT(S, m)
#define VERDICT(m) MLGEN_F_ENUM(S, m, score_verdicts)

#define S struct scored_part
static const struct mlgen_field part_fields[] = {
	{ "metric", TEXT(metric), .help = "The metric that it is of, m1 to m12, which fails where one of its figures does." },
	{ "figure", TEXT(name), .help = "What is compared, as mlgen(1) has it." },
	{ "distance", REAL(distance), .help = "How far the candidate is from the real trace, of several from the one it is farthest from; 0 = alike, null = unknown." },
	{ "limit", REAL(limit), .help = "The largest of threshold, chance and floor." },
	{ "threshold", REAL(threshold), .help = "Of a job that is made from a trace." },
	{ "preset_threshold", REAL(preset), .help = "Of a job that is made from a description: shown, and not required; null = there is none." },
	{ "chance", REAL(chance), .help = "What figures of few events differ by, of m6 to m9: orders, blocks, times without an operation, steps; null = of others." },
	{ "floor", REAL(floor), .help = "The largest distance of two real traces, times 1.5; null = there is only one, or none is known." },
	{ "verdict", VERDICT(verdict), .help = "Whether the distance is within the limit." },
	{ "unknown", TEXT(why), .help = "Why the distance is null; null = it is known." },
	{ 0 },
};
#undef S

#define S struct scored_phase
static const struct mlgen_field phase_fields[] = {
	{ "phase", TEXT(name), .help = "Name of a stage or checkpoint; epoch = an epoch without a stage, between = outside of them, all = the traces have no phase in common." },
	{ "verdict", VERDICT(verdict), .help = "fail where one of its figures fails." },
	{ "figures", METRIC_LIST(S, parts, struct scored_part, part_fields), .help = "What was compared." },
	{ 0 },
};
#undef S

#define S struct scored_trace
static const struct mlgen_field trace_fields[] = {
	{ "file", TEXT(file), .help = "As it was named." },
	{ "records", COUNT(records), .unit = "records", .help = "Records that it has." },
	{ "other_calls", COUNT(other_calls), .unit = "operations", .help = "Calls on files that are neither data set nor checkpoint; they are in no figure." },
	{ "failed_calls", COUNT(failed_calls), .unit = "operations", .help = "Calls that failed; they are in no figure." },
	{ "is_complete", MLGEN_F_BOOL(S, is_complete), .help = "Else some of it was lost, or is damaged." },
	{ 0 },
};
#undef S

#define S struct scored
#define WORST(n, what) { "m" #n, REAL(worst[n - 1]), .help = "M" #n ", " what ": the largest distance by its limit, over figures and phases; above 1 it fails." }
const struct mlgen_field score_fields[] = {
	{ "verdict", VERDICT(verdict), .help = "fail where one of its phases fails." },
	{ "candidate", TEXT(candidate), .help = "The last of the files." },
	{ "same_place", MLGEN_F_BOOL(S, same_place), .help = "Host and storage of all are the same; else m8 to m12 are shown, and decide nothing." },
	{ "unlike", TEXT(unlike), .help = "Why they are not, or not known to be; null = they are." },
	{ "whole", MLGEN_F_BOOL(S, whole), .help = "The traces have no phase in common, and are compared as a whole." },
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
	{ "traces", METRIC_LIST(S, traces, struct scored_trace, trace_fields), .help = "The files, the candidate last." },
	{ "phases", METRIC_LIST(S, phases, struct scored_phase, phase_fields), .help = "What was compared, phase by phase." },
	{ 0 },
};
#undef S

#define S struct score_document
const struct mlgen_field scored_fields[] = {
	{ "mlgen version", TEXT(version), .help = "Version of this program." },
	{ "schema_version", COUNT(schema_version), .help = "As of the documents of runs, mlgen-json(5)." },
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
