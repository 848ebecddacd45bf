/* SPDX-License-Identifier: Apache-2.0 */
/* job_internal.h - shared by the files of job/: lines, sections, layers, engines. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "job/job.h"

/* ---- lines of a job file (jobreader.c) ---- */

/* Append `text` with $ncpus, $mb_memory, $pagesize and $jobname replaced. 0, or -EINVAL for any
 * other word after a '$'. */
int words_expand(struct buf *out, const char *text, const char *jobname, struct mlgen_err *err);

/*
 * Report a value that cannot be the intended path: a URL such as s3://bucket, which would create a
 * folder "s3:", or a '~' that no shell has replaced. NULL is fine.
 */
void pathname_check(const char *option, const char *path, struct diag_place at, struct diag *d);

/* Append a path that is written in `file`. A relative path is relative to the folder of `file`. */
void pathname_beside(struct buf *out, const char *file, const char *path);

/*
 * The reader follows `include`, drops comments, the byte order mark, white space around a line and
 * the CR of a DOS file, replaces ${VAR}, and refuses characters that no line may hold. A comment
 * begins with '#' or ';' at the start of a line or after white space. A file that is not text is
 * reported once and skipped. A line that the reader returns is a header "[...", as written, or an
 * option.
 */

/* Limit of nested includes. */
#define JOBREADER_DEPTH 16
/* Limit of the bytes of a line before its variables are replaced. */
#define JOBREADER_LINE_MAX 65536

struct jobreader_level {
	char *text;       /* the whole file */
	size_t len, next; /* next: offset of the next line */
	const char *path; /* borrowed from jobreader.paths */
	unsigned line;
	dev_t dev; /* identifies the file, to find cycles */
	ino_t ino;
};

struct jobreader {
	struct diag *d;
	struct jobreader_level levels[JOBREADER_DEPTH];
	unsigned depth;
	char **paths; /* all files opened; the caller may move them out */
	size_t path_count;
	size_t bytes; /* read so far */
	struct buf text;
	struct diag_place at; /* place of the line last returned */
};

/* Open the file, "-" for stdin. 0 or -errno with the fault in `d`. A FIFO is accepted, a device is
 * not; an included file must be a regular file. */
int jobreader_open(struct jobreader *r, const char *path, struct diag *d);
/* Close all files and free everything, including the paths. */
void jobreader_close(struct jobreader *r);

/* The next line, or NULL at the end. Valid until the next call. */
const char *jobreader_next(struct jobreader *r);

/* Does the line that was returned last come from an included file? */
bool jobreader_is_included(const struct jobreader *r);

/* ---- options and sections as written (jobfile.c) ---- */

/* Limit of options in a section. */
#define OPTLIST_MAX 256

struct opt {
	char *key, *value;
	const struct mlgen_field *field; /* row of job_fields, or NULL */
	struct diag_place at;
	bool is_bare; /* a key alone; value is "1" */
	/* The value as resolve_read() has parsed it; owned. NULL: the value is faulty. */
	void *read;
	const struct mlgen_field *read_as; /* NULL: not parsed, or unknown */
};

/*
 * Options in the order written. Zeroed is empty. A list is either built by optlist_add() and owns
 * its options, or built by optlist_overlay() and borrows them.
 */
struct optlist {
	struct opt **opts;
	size_t count;
};

void optlist_fini(struct optlist *list);

/* Append a copy of an option. NULL if the list is full. */
struct opt *optlist_add(struct optlist *list, const char *key, const char *value, bool is_bare,
			struct diag_place at);

/* Find an option by name or alias; '-' and '_' are equal. */
struct opt *optlist_find(const struct optlist *list, const char *key);

/* Replace the value of an option that has not been parsed. */
void optlist_replace(struct opt *o, const char *value, bool is_bare, struct diag_place at);

/* Limit of sections in a file. */
#define JOBFILE_SECTIONS_MAX 1000
#define JOBFILE_NAME_MAX 128

enum section_kind {
	SECTION_JOB,
	SECTION_GLOBAL,
	SECTION_VARIANT, /* [accelerator=h100] */
};

struct section {
	enum section_kind kind;
	char *name;                         /* without the brackets */
	const char *value;                  /* VARIANT: the text after '=' */
	const struct mlgen_field *selector; /* VARIANT: the option before '=' */
	size_t parent;                      /* VARIANT: index of the section above */
	struct diag_place at;
	struct optlist opts;
	/* Options of all [global] sections above; the last value of an option wins. GLOBAL: its own
	 * options are included, and the list is owned. NULL = no [global]. */
	struct optlist *globals;
};

struct jobfile {
	struct section *sections;
	size_t count;
	char **paths; /* all files read; places point to them */
	size_t path_count;
};

/* Is the section [name] a job, and not [global] or [accelerator=...]? */
bool jobfile_is_job_name(const char *name);

/* Read a file, "-" for stdin, with its includes. Faults go to `d`, and `f` has all sections and
 * options without a fault. Call jobfile_fini() in any case. */
void jobfile_read(struct jobfile *f, const char *path, struct diag *d);
void jobfile_fini(struct jobfile *f);

/* ---- a command line as written (cmdline.c) ---- */

/* Options for [SECTION] or --name=NAME. */
struct cmdline_part {
	char *name;
	struct optlist opts;
};

struct cmdline {
	char **files; /* job files, as given */
	size_t file_count;
	struct optlist all;            /* --option=value */
	struct cmdline_part *sections; /* --section.option=value */
	size_t section_count;
	struct cmdline_part *jobs; /* --name=NAME and what follows */
	size_t job_count;
};

/* Parse argv; faults go to `d`. The caller frees both, also after faults. Without files and names,
 * --dataset=scan makes a job "scan". */
void cmdline_read(struct cmdline *c, struct settings *s, int argc, char *const argv[],
		  struct diag *d);
void cmdline_fini(struct cmdline *c);

/* ---- options of other programs (fio_options.c) ---- */

struct fio_option {
	const char *name; /* NULL ends the table */
	const char *hint; /* the replacement in mlgen, or NULL */
	const char *note; /* why the option has no effect in mlgen; NULL = mlgen lacks its effect */
	const char *when; /* values for which the note holds, a|b; NULL = all */
};

/*
 * fio's options of jobs, as `fio --cmdhelp=all` lists them, with their aliases, and the options of
 * its engines. Options that mlgen has as well have neither hint nor note.
 */
extern const struct fio_option fio_options[];

/* Find an option of fio; '-' and '_' are equal. NULL = no such option. */
const struct fio_option *fio_option_find(const char *name);

/* Does a job without this option run as it does in fio? False if `o` is NULL. */
bool fio_option_is_harmless(const struct fio_option *o, const char *value);

/*
 * The option of mlgen for a name of DLIO or PyTorch, such as "reader.batch_size", "batch_size_eval"
 * or "num_workers"; NULL = none. The last part of a DLIO key is enough. Names come from the help of
 * the options, and from a short list of colloquial names.
 */
const char *foreign_option(const char *name);

/* ---- the engines that jobs name (resolve_engine.c) ---- */

bool standins_have(const struct standins *s, const struct mlgen_engine *e);
void standins_fini(struct standins *s);

struct layers;

/* A shared object named by ioengine=: loaded, replaced by a stand-in, or failed to load. */
struct loaded_engine {
	char *path;
	const struct mlgen_engine *engine; /* NULL: see err */
	struct mlgen_err err;
};

struct resolve_engines {
	const struct jobset_env *env;
	bool only_looks;              /* jobs are not run, so no shared object is loaded */
	struct standins *standins;    /* borrowed from the jobset */
	struct loaded_engine *loaded; /* owned, by resolve_engine_fini */
	size_t loaded_count;
};

/*
 * Three passes over all jobs or lists before any option is parsed, because an option of an engine
 * may be set where the engine is not named.
 *
 * need: load the shared object that this job runs on. A job that is not run gets a stand-in if the
 * file exists. skip: add stand-ins for the other shared objects that the list names. guess: give
 * the stand-ins each option of the list that is otherwise unknown.
 */
void resolve_engine_need(struct resolve_engines *r, const struct layers *layers);
void resolve_engine_skip(struct resolve_engines *r, const struct optlist *list);
void resolve_engine_guess(struct resolve_engines *r, const struct optlist *list);
void resolve_engine_fini(struct resolve_engines *r);

/* Find an engine by name, or load it by path. NULL: see resolve_engine_fail(). */
const struct mlgen_engine *resolve_engine_find(struct resolve_engines *r, const char *name);
/* The first engine that has this option, or NULL. */
const struct mlgen_engine *resolve_engine_with(const struct resolve_engines *r, const char *option);
/* An engine that could not be loaded, so that its options are unknown; or NULL. */
const struct loaded_engine *resolve_engine_failed(const struct resolve_engines *r);
/* Report why there is no such engine, and which engines there are. */
void resolve_engine_fail(const struct resolve_engines *r, const char *name, struct diag_place at,
			 struct diag *d);

/* Number of engines that are built in. */
size_t resolve_engine_count(const struct resolve_engines *r);

/* ---- one job from its layers of options (resolve.c) ---- */

/* The source of a job: a section of a file, or the command line alone. */
struct job_source {
	const char *name;
	const struct jobfile *file;    /* NULL: --name=NAME */
	const struct section *section; /* in `file` */
	const struct optlist *opts;    /* the job's own */
};

struct layer {
	const struct optlist *opts;
	char *how;                          /* for job_origin */
	bool is_own;                        /* applies to this job alone */
	const struct mlgen_field *selector; /* the option that selected a variant */
	const char *selected;               /* the option's value, as spelled in the header */
};

/* Globals < the job's own < its selected variants < command line. */
struct layers {
	struct job_source src;
	const struct cmdline *cmd;
	struct layer *items; /* the weakest first */
	size_t count;
	bool is_plain; /* a plain job, before variants are selected */
};

/* The source and the command line are borrowed. */
void layers_init(struct layers *l, const struct job_source *src, const struct cmdline *cmd);
void layers_fini(struct layers *l);

/* The option in the strongest layer that has it; NULL = in no layer. */
const struct opt *layers_find(const struct layers *l, const char *option);

struct resolver {
	struct resolve_engines engines;
	struct diag *d;
};

/*
 * Parse each option of a list once, even if no job uses it, and report faults. `selector` selects
 * the section of the list, which cannot set it; NULL outside of variants. Call it for every list,
 * before the jobs that have the list as a layer.
 */
void resolve_read(const struct resolver *r, const struct optlist *list,
		  const struct mlgen_field *selector);

/* Make a job: defaults < layers. Never NULL; `*is_whole` is false if any option had a fault. */
struct job *resolve_job(struct resolver *r, const struct layers *layers, bool *is_whole);

/* Does the command line ask for a command of mltrace? If so, report that command in `d`. */
bool moved_check(int argc, char *const argv[], struct diag *d);

/* ---- checks (check.c, settings.c, question.c) ---- */

/* Is the text a list, "EAGAIN" or "EAGAIN:5,ENOSPC" (reads, writes)? 0, or -EINVAL with err, which
 * names the word. NULL is the empty list. */
int ignored_check(const char *text, struct mlgen_err *err);

/* Report settings that contradict each other or the question, which may be NULL. */
void settings_check(const struct settings *s, const struct question *questions,
		    const struct question *asked, struct diag *d);

/* The question that is asked: the first about files, otherwise the first about jobs, otherwise the
 * implied question; NULL = none. *of_files counts questions about files that are asked. */
const struct question *question_asked(const struct question *table, const struct settings *s,
				      char *const *files, size_t file_count, unsigned *of_files);

/* Report options that are set without their question. */
void question_check_options(const struct question *table, const struct settings *s, struct diag *d);

/* Check `q`, a question about files: no second such question, enough files, and no --json, --html
 * or --require that it does not support. */
void question_check_files(const struct question *table, const struct question *q, unsigned of_files,
			  const struct settings *s, char *const *files, size_t file_count,
			  struct diag *d);

/* The option that replaces `f`, which jobs of this workload do not have; NULL = none is known. */
const char *workload_instead(const struct workload *w, const struct mlgen_field *f);

/* The last workload whose implied_by option `is_given`, as a value of phase=; -1 = none. */
int workload_implied(bool (*is_given)(const void *arg, const char *option), const void *arg);

/* Set the defaults of the job's workload that differ from those in job_fields. */
void workload_set_defaults(struct job *j);
