/* SPDX-License-Identifier: Apache-2.0 */
/* field.h - descriptors of options and metrics: name, type, unit and help. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Options are writable fields, metrics read-only ones. A table of fields describes the members of a
 * struct and ends with a zeroed row. The parser, range checks, --help, the man pages and all JSON
 * use the same tables, so a fact is declared once. Rows hold no callbacks. The constructors below
 * compare the member's C type at compile time: a wrong row does not build.
 */
enum mlgen_type {
	MLGEN_NONE, /* ends a table */
	/* options and metrics */
	MLGEN_BOOL,    /* bool */
	MLGEN_U64,     /* uint64_t, a count */
	MLGEN_F64,     /* double; NaN = unset, JSON null */
	MLGEN_SIZE,    /* uint64_t bytes, written with k m g t p */
	MLGEN_TIME,    /* uint64_t ns; a number without suffix is in `unit` */
	MLGEN_PERCENT, /* double, 0..100, written as 2 or 2% */
	MLGEN_ENUM,    /* int, a value of `choices` */
	MLGEN_STR,     /* char *, NULL = unset */
	/* options only; of the structs in this group, engines may use only mlgen_dist */
	MLGEN_SIZE_DIST,   /* struct mlgen_dist of bytes */
	MLGEN_TIME_DIST,   /* struct mlgen_dist of ns */
	MLGEN_F64_LIST,    /* struct f64_list, a:b:c */
	MLGEN_SIZE_PAIR,   /* struct u64_pair of bytes: read,write or both */
	MLGEN_U64_PAIR,    /* struct u64_pair of counts, likewise */
	MLGEN_SIZE_SHARE,  /* struct size_share: bytes, or 20% */
	MLGEN_U64_SHARE,   /* struct u64_share: a count, or 20% */
	MLGEN_NUMBER_DIST, /* struct dist of plain numbers */
	MLGEN_CACHE_SIZE,  /* struct cache_size: bytes, 20%, or 5000 samples */
	MLGEN_VARIANT,     /* struct variant: a value of `choices` and its argument */
	/* metrics only */
	MLGEN_TEXTS,     /* const char *, printed as an array of its lines; NULL = [] */
	MLGEN_HIST,      /* struct hist *, a latency object */
	MLGEN_OBJECT,    /* a struct, described by `sub` */
	MLGEN_LIST,      /* struct metric_list of structs like `sub` */
	MLGEN_F64_ARRAY, /* struct metric_list of double */
	MLGEN_MAP,       /* struct metric_list of metric_pair */
};

enum mlgen_field_flags {
	MLGEN_FIO = 1,      /* an option of fio, with fio's meaning */
	MLGEN_SELECTS = 2,  /* has [option=value] sections */
	MLGEN_NULLABLE = 4, /* metric: UINT64_MAX or NaN prints as null */
	MLGEN_REPEATS = 8,  /* command line: repetitions are joined with commas */
	MLGEN_BESIDE = 16, /* a path; in a job file, it is relative to the folder of the job file */
	MLGEN_LINES = 32,  /* command line: repetitions are joined as lines */
};

/* A constant `a` if kind is 0, otherwise a distribution. ctx->draw returns its values. mlgen
 * parses, checks and prints distributions. */
struct mlgen_dist {
	int kind;
	double a, b;
};

struct mlgen_choice {
	const char *name; /* NULL ends the list; MLGEN_VARIANT: "NAME:FORM" */
	int value;
	const char *help; /* a clause, lower case, no full stop */
};

struct merge_rule;

struct mlgen_field {
	const char *name; /* NULL ends a table */
	enum mlgen_type type;
	size_t off; /* offset of the member; 0 is a valid offset */
	union {
		const char *def;                /* option: default as text; NULL = unset */
		const struct merge_rule *merge; /* metric: private to the program */
	};
	double min, max;   /* inclusive; both 0 = no limits */
	const char *unit;  /* "samples", "s", "bytes", ... or NULL */
	const char *help;  /* a full sentence with a full stop */
	const char *group; /* heading in help and man page */
	const char *alias; /* a second accepted spelling, or NULL */
	const struct mlgen_choice *choices;
	const struct mlgen_field *sub; /* OBJECT, LIST: the rows inside */
	size_t stride;                 /* LIST: sizeof one element */
	unsigned flags;
};

#define MLGEN_MEMBER(s, m, t)                                                                      \
	(offsetof(s, m) + 0 * sizeof(struct {                                                      \
				  _Static_assert(_Generic(((s *)0)->m, t : 1, default : 0),        \
						 #m " is not a " #t);                              \
				  char unused;                                                     \
			  }))

/* A string member. An option owns its string (char *); a metric may point to a constant. */
#define MLGEN_MEMBER_STR(s, m)                                                                     \
	(offsetof(s, m) +                                                                          \
	 0 * sizeof(struct {                                                                       \
		 _Static_assert(_Generic(((s *)0)->m, char * : 1, const char * : 1, default : 0),  \
				#m " is not a string");                                            \
		 char unused;                                                                      \
	 }))

/* clang-format off */
#define MLGEN_F_BOOL(s, m)  .type = MLGEN_BOOL, .off = MLGEN_MEMBER(s, m, bool)
#define MLGEN_F_U64(s, m)   .type = MLGEN_U64, .off = MLGEN_MEMBER(s, m, uint64_t)
#define MLGEN_F_F64(s, m)   .type = MLGEN_F64, .off = MLGEN_MEMBER(s, m, double)
#define MLGEN_F_SIZE(s, m)  .type = MLGEN_SIZE, .off = MLGEN_MEMBER(s, m, uint64_t)
#define MLGEN_F_TIME(s, m)  .type = MLGEN_TIME, .off = MLGEN_MEMBER(s, m, uint64_t)
#define MLGEN_F_PERCENT(s, m) .type = MLGEN_PERCENT, .off = MLGEN_MEMBER(s, m, double)
#define MLGEN_F_ENUM(s, m, c) .type = MLGEN_ENUM, .off = MLGEN_MEMBER(s, m, int), .choices = (c)
#define MLGEN_F_STR(s, m)   .type = MLGEN_STR, .off = MLGEN_MEMBER_STR(s, m)
#define MLGEN_F_SIZE_DIST(s, m) .type = MLGEN_SIZE_DIST, .off = MLGEN_MEMBER(s, m, struct mlgen_dist)
#define MLGEN_F_TIME_DIST(s, m) .type = MLGEN_TIME_DIST, .off = MLGEN_MEMBER(s, m, struct mlgen_dist)
/* clang-format on */
