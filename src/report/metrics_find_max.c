/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_find_max.c - find_max of the JSON document, declared once. */
#include "report/metrics_find_max.h"

#include "report/metrics_tables.h"

/* clang-format off */

#define P struct metrics_probe
const struct mlgen_field metrics_probe_fields[] = {
	{ "value", MLGEN_F_U64(P, value),
	  .help = "Value of the option in this run, of --find-min in percent." },
	{ "full", MLGEN_F_BOOL(P, full),
	  .help = "It was as long as the job says; short ones only show where to look." },
	{ "possible", MLGEN_F_BOOL(P, possible),
	  .help = "The job can run with this value." },
	{ "holds", MLGEN_F_BOOL(P, holds),
	  .help = "The requirement was met." },
	{ "cut_short", MLGEN_F_BOOL(P, cut_short),
	  .help = "A full run that ended behind its first epoch, when the AU required was out of its reach." },
	{ "figures", METRIC_F64S(P, figure_list),
	  .help = "Figure of each part of the requirement, in its order; null = unknown." },
	{ "margin_percent", MLGEN_F_F64(P, margin_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "By how much of its limit the part that is met least is better than required; negative: it is missed." },
	{ "au_percent", MLGEN_F_PERCENT(P, au_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "AU of the job that is varied." },
	{ "sample_bytes_per_sec", MLGEN_F_F64(P, sample_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "Its throughput." },
	{ "demand_bytes_per_sec", MLGEN_F_F64(P, demand_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "What its accelerators ask for at an AU of 100 %." },
	{ "stall_p99_ns", MLGEN_F_F64(P, stall_p99_ns), .unit = "ns", .flags = MLGEN_NULLABLE,
	  .help = "Its stalls, 99th percentile." },
	{ "supply_percent", MLGEN_F_F64(P, supply_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "Of short probes and of short epochs, in which AU hardly has the waiting: what read threads brought while they were not idle, in percent of what the accelerators ask for; less than the AU required does not hold. null = a full run of epochs that are long enough." },
	{ "steps", MLGEN_F_U64(P, steps), .flags = MLGEN_NULLABLE,
	  .help = "Steps of one of its accelerators." },
	{ "seconds", MLGEN_F_F64(P, seconds), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time it ran." },
	{ "errors", MLGEN_F_U64(P, errors), .unit = "errors",
	  .help = "Errors that continue_on_error counted, of all jobs." },
	{ "too_many_errors", MLGEN_F_BOOL(P, too_many_errors),
	  .help = "More failed in one of them than its max_errors allows: the requirement is not met." },
	{ "verdict", METRICS_CHARS(P, verdict),
	  .help = "Its verdict; see jobs[].ml.verdict. Errors also where too many were those of another job." },
	{ "error", METRICS_CHARS(P, error),
	  .help = "Why it was not possible; null = it was." },
	{ 0 },
};
#undef P

#define L struct metrics_answer_line
const struct mlgen_field metrics_answer_line_fields[] = {
	{ "label", METRICS_TEXT(L, label),
	  .help = "Label of the line: ANSWER, limit, fits, play it, host, beside, sure or but; null = none." },
	{ "text", MLGEN_F_STR(L, text), .help = "Text of the line, which is not broken." },
	{ 0 },
};
#undef L

#define F struct metrics_find_max
const struct mlgen_field metrics_find_max_fields[] = {
	{ "option", METRICS_TEXT(F, option), .help = "Option that was varied." },
	{ "job", METRICS_TEXT(F, job), .help = "Job whose option it is." },
	{ "question", METRICS_TEXT(F, question), .help = "The question, in the words of the terminal." },
	{ "lines", METRIC_LIST(F, lines, struct metrics_answer_line, metrics_answer_line_fields),
	  .help = "The answer in the words of the terminal, line by line." },
	{ "requirement", METRICS_TEXT(F, requirement), .help = "What had to hold." },
	{ "smallest", MLGEN_F_BOOL(F, smallest),
	  .help = "It was asked for the smallest value, of which less is harder: --find-min, in percent of the dataset." },
	{ "answer", MLGEN_F_U64(F, answer), .flags = MLGEN_NULLABLE,
	  .help = "Largest value for which it surely does, of --find-min the smallest; null = none was found." },
	{ "at_most", MLGEN_F_U64(F, at_most), .flags = MLGEN_NULLABLE,
	  .help = "Up to here it may hold: full runs said both; as answer where that is sure." },
	{ "limited_by", MLGEN_F_U64(F, limited_by), .flags = MLGEN_NULLABLE,
	  .help = "Smallest value for which it does not hold, or that is not possible, of --find-min the largest; null = none was found." },
	{ "limit", METRICS_TEXT(F, limit),
	  .help = "What stands in the way there: storage, network, memory, host (more storage would not help), compute, errors, unclear, not possible, files (too few in the dataset for more), or option (the most it can be); null = not known." },
	{ "limit_bytes_per_sec", MLGEN_F_F64(F, limit_bytes_per_sec), .unit = "bytes/s", .flags = MLGEN_NULLABLE,
	  .help = "The most that was delivered in any of the runs, page caches aside; of short epochs of one accelerator, what read threads brought while they were not idle. null = none was measured." },
	{ "fraction", MLGEN_F_F64(F, fraction), .flags = MLGEN_NULLABLE,
	  .help = "Where storage does not feed one accelerator: the part of one that it feeds at the AU required; compute_time divided by it is that accelerator. null = it feeds one, or something else is the limit." },
	{ "confirmed", MLGEN_F_BOOL(F, confirmed),
	  .help = "Full runs have said so on both sides." },
	{ "noise_percent", MLGEN_F_F64(F, noise_percent), .unit = "%",
	  .help = "What was too near to the limit to be believed at once: the spread of repeated runs, in percent of the limit, at least 1." },
	{ "ceiling_percent", MLGEN_F_PERCENT(F, ceiling_percent), .unit = "%", .flags = MLGEN_NULLABLE,
	  .help = "AU that this host reaches with limited_by when storage is taken away." },
	{ "interrupted", MLGEN_F_BOOL(F, interrupted),
	  .help = "The search was stopped; what was known by then is said." },
	{ "probes", METRIC_LIST(F, probes, struct metrics_probe, metrics_probe_fields),
	  .help = "All runs, in their order." },
	{ 0 },
};
#undef F

/* clang-format on */
