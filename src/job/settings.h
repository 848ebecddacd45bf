/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - options of the program as a whole, command line only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mlgen/field.h>

enum settings_format {
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_FIO_JSON,
	OUTPUT_DLIO,
	OUTPUT_CSV /* of --table */
};
enum settings_check {
	CHECK_NONE,
	CHECK_MLPERF_V1,
	CHECK_MLPERF_V2,
	CHECK_MLPERF_V3,
};
enum settings_import {
	IMPORT_NONE,
	IMPORT_DLIO,
	IMPORT_CSV,
	IMPORT_FIO_IOLOG,
	IMPORT_STRACE,
	IMPORT_MCGILL,
	IMPORT_DARSHAN,
	IMPORT_DFTRACER,
	IMPORT_BLKTRACE,
	IMPORT_DIO,
};
enum settings_export { EXPORT_NONE, EXPORT_CSV, EXPORT_FIO_IOLOG };
enum settings_backend { BACKEND_AUTO, BACKEND_BPF, BACKEND_STRACE };
enum settings_dry_run { DRY_RUN_OFF, DRY_RUN_GATE, DRY_RUN_SHOW };
enum settings_ceiling { CEILING_AUTO, CEILING_OFF, CEILING_ON };
enum settings_barrier_over { BARRIER_OVER_TCP, BARRIER_OVER_MPI };
enum settings_eta { ETA_AUTO, ETA_ALWAYS, ETA_NEVER };

struct settings {
	bool version, list_jobs;
	char *help;    /* a topic, "all", or "" for the topics */
	char *cmdhelp; /* an option, or "all" */
	char *enghelp; /* an engine, or "" for all */
	bool parse_only, showjob;
	int dry_run;        /* enum settings_dry_run */
	bool thorough;      /* look at all files of a dataset before it is read */
	char *section;      /* run only these, a name a line */
	bool readonly;      /* refuse anything that writes */
	bool allow_fill;    /* preparation may use more than half of the free space */
	char *allow_device; /* may be written, a:b; NULL = none */
	bool replace;       /* delete a dataset made otherwise, or checkpoints of other runs */
	int output_format;
	char *output, *json, *json_each, *html, *log;
	char *title, *note;           /* for readers; each note has a line; NULL = none */
	char *metrics, *metrics_file; /* of a run, for Prometheus */
	uint64_t metrics_linger_ns;   /* 0 = not */
	bool force;                   /* outputs replace any regular file */
	char *trace;                  /* of a run: a file for all that it does; or of an import */
	uint64_t log_interval_ns;
	int eta;
	bool live;                   /* a full screen in the place of the status line */
	uint64_t status_interval_ns; /* 0 = never */
	bool quiet, brief, verbose, series, page;
	char *require; /* "au>=90"; several joined with ',' */
	/* Questions (src/ask): */
	char *find_max; /* an integer option; NULL = not asked */
	char *find_min; /* cache_size; NULL = not asked */
	int ceiling;
	char *table;      /* keys, a,b,c; the arguments are results */
	bool compare;     /* the arguments are results */
	double tolerance; /* percent; NaN = what the noise says */
	bool merge;       /* the arguments are results */
	bool report;      /* the same */
	int check;
	bool datasize;
	bool miss_curve;
	uint64_t memory_bytes; /* of one host; 0 = of this one */
	uint64_t hosts;
	/* Of several processes that a launcher started: */
	int barrier_over;
	uint64_t peers_port; /* 0 = any */
	int import;
	bool lenient;  /* however many lines of a log cannot be read */
	char *markers; /* an application's log beside what is imported */
	bool describe; /* the arguments are files of a trace */
	bool distil;   /* the same, of which a job is made */
	int export;    /* the same */
	bool score;    /* each argument is a trace */
	bool clean;    /* the arguments are directories */
	bool yes;      /* clean removes */
	/* Of a command, a process or a control group: */
	char *capture;        /* the file; NULL = not asked */
	uint64_t duration_ns; /* 0 = until it ends */
	uint64_t pid;         /* 0 = none */
	char *cgroup;         /* a directory, or its name below the root */
	char *capture_user;
	uint64_t buffer_bytes;
	int capture_backend;
};

extern const struct mlgen_field settings_fields[];

/* Is a run looked at over time, for the document or for the page? */
static inline bool settings_has_series(const struct settings *s)
{
	return s->series || s->html;
}
