/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_find_max.h - what --find-max found, as the top of the JSON document has it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

#include "stat/metric.h"

/* One run of the job. NaN and UINT64_MAX = not known, or it has none. */
struct metrics_probe {
	uint64_t value; /* of the option */
	bool full;      /* as long as the job says */
	bool possible;
	bool holds;
	bool cut_short;                 /* full, but the AU required was out of reach */
	double figures[16];             /* of each part of the requirement */
	struct metric_list figure_list; /* the same */
	double margin_percent;          /* of the limit, of what is met least */
	double au_percent, sample_bytes_per_sec, seconds;
	double stall_p99_ns, supply_percent, demand_bytes_per_sec;
	uint64_t steps;  /* of one rank */
	uint64_t errors; /* of all jobs of the run */
	bool too_many_errors;
	char verdict[16];
	char error[512]; /* why it was not possible, or failed; "" */
};

/* A line of the answer, as the terminal prints it. */
struct metrics_answer_line {
	const char *label; /* "ANSWER"; NULL = the text is the whole line */
	char *text;        /* owned by the search */
};

struct metrics_find_max {
	const char *option, *job;
	const char *question;     /* "x: most accelerators with au >= 90" */
	struct metric_list lines; /* metrics_answer_line, owned by the search */
	const char *requirement;
	bool smallest;       /* it was asked for the smallest value */
	uint64_t answer;     /* UINT64_MAX = none */
	uint64_t at_most;    /* more than answer: not sure up to here */
	uint64_t limited_by; /* the smallest that does not hold */
	bool confirmed;      /* both sides by full runs */
	bool interrupted;
	double noise_percent;
	double limit_bytes_per_sec; /* the most that was delivered */
	double fraction;            /* of one accelerator that is fed */
	const char *limit;          /* storage network host memory compute errors unclear
				       files option; NULL = not known */
	double ceiling_percent;     /* AU without storage at limited_by */
	struct metric_list probes;  /* metrics_probe, owned by the search */
};

extern const struct mlgen_field metrics_find_max_fields[];
extern const struct mlgen_field metrics_probe_fields[];
extern const struct mlgen_field metrics_answer_line_fields[];
