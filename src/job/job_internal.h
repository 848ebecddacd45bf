/* SPDX-License-Identifier: Apache-2.0 */
/* job_internal.h - what the files of job/ share: lines, sections, layers, engines. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "job/job.h"

/* ---- lines of a job file (jobreader.c) ---- */

/*
 * Append `text` with $ncpus, $mb_memory, $pagesize and $jobname replaced. 0, or -EINVAL for another
 * word behind a '$'.
 */
int words_expand(struct buf *out, const char *text, const char *jobname, struct mlgen_err *err);

/*
 * A fault where the value of an option can be no path that was meant: an address such as
 * s3://bucket, of which a folder "s3:" would be made, or a
 * '~', which no shell has replaced. NULL is fine.
 */
void pathname_check(const char *option, const char *path, struct diag_place at, struct diag *d);

/* Append a path that a file names: below its folder, if it is relative. */
void pathname_beside(struct buf *out, const char *file, const char *path);

/*
 * Follows `include`, drops comments, byte order mark, blanks around a line and the CR of a DOS
 * file, replaces ${VAR}, and refuses what no line may hold. A comment begins with '#' or ';', first
 * in a line or behind a blank. A file that is no text is one fault, and nothing of it is read.
 * What is handed out is a header "[...", as written, or an option.
 */

/* Files within files. */
#define JOBREADER_DEPTH 16
/* Bytes of a line before its variables are replaced. */
#define JOBREADER_LINE_MAX 65536

struct jobreader_level {
	char *text;       /* of the whole file */
	size_t len, next; /* where the next line begins */
	const char *path; /* one of `paths` */
	unsigned line;
	dev_t dev; /* which file it is, to find cycles */
	ino_t ino;
};

struct jobreader {
	struct diag *d;
	struct jobreader_level levels[JOBREADER_DEPTH];
	unsigned depth;
	char **paths; /* all opened; owned until the caller takes them */
	size_t path_count;
	size_t bytes;
	struct buf text;
	struct diag_place at; /* of the line last handed out */
};

/* Open the file, "-" for stdin; 0 or -errno with the fault in `d`. A FIFO is one, too; devices are
 * not, and an include is a regular file. */
int jobreader_open(struct jobreader *r, const char *path, struct diag *d);
/* Closes what is open and frees everything; the paths too. */
void jobreader_close(struct jobreader *r);

/* The next line, or NULL at the end. Valid until the next call. */
const char *jobreader_next(struct jobreader *r);

/* Does the line last handed out stand in an included file? */
bool jobreader_is_included(const struct jobreader *r);

/* ---- options and sections as written (jobfile.c) ---- */

/* No section has more options than this; what follows is noise. */
#define OPTLIST_MAX 256

struct opt {
	char *key, *value;
	const struct mlgen_field *field; /* of job_fields, or NULL */
	struct diag_place at;
	bool is_bare; /* a key alone; value is "1" */
	/* What resolve_read() made of it; owned. NULL: it is faulty. */
	void *read;
	const struct mlgen_field *read_as; /* NULL: unread, or unknown */
};

/*
 * In the order written. Zeroed is empty. One that was added to owns its options, one that was
 * overlaid borrows them: never both.
 */
struct optlist {
	struct opt **opts;
	size_t count;
};

void optlist_fini(struct optlist *list);

/* Append copies; NULL when the list is full. */
struct opt *optlist_add(struct optlist *list, const char *key, const char *value, bool is_bare,
			struct diag_place at);

/* The option of that name, '-' and '_' and aliases of job options alike. */
struct opt *optlist_find(const struct optlist *list, const char *key);

/* Another value for one that is there, and unread. */
void optlist_replace(struct opt *o, const char *value, bool is_bare, struct diag_place at);

/* A file has no more sections than this; what follows is noise. */
#define JOBFILE_SECTIONS_MAX 1000
#define JOBFILE_NAME_MAX 128

/* What a header says. */
enum section_kind {
	SECTION_JOB,
	SECTION_GLOBAL,
	SECTION_VARIANT, /* [accelerator=h100] */
};

struct section {
	enum section_kind kind;
	char *name;                         /* without the brackets */
	const char *value;                  /* VARIANT: what stands behind '=' */
	const struct mlgen_field *selector; /* VARIANT: what before it */
	size_t parent;                      /* VARIANT: index of the section above */
	struct diag_place at;
	struct optlist opts;
	/* Of the [global]s above, the last one's value of each; GLOBAL: with its own. Borrowed by
	 * the sections below it; NULL = none. */
	struct optlist *globals;
};

struct jobfile {
	struct section *sections;
	size_t count;
	char **paths; /* of all files read; places point to them */
	size_t path_count;
};

/* Would [name] be a job, and not [global] or [accelerator=...]? */
bool jobfile_is_job_name(const char *name);

/*
 * Read a file, "-" for stdin, with everything it includes. Faults go to `d`; what was understood is
 * in `f` all the same. fini in any case.
 */
void jobfile_read(struct jobfile *f, const char *path, struct diag *d);
void jobfile_fini(struct jobfile *f);

/* ---- a command line as written (cmdline.c) ---- */

/* Options that belong together: to all jobs, to [SECTION], to --name=NAME. */
struct cmdline_part {
	char *name;
	struct optlist opts;
};

struct cmdline {
	char **files; /* as given */
	size_t file_count;
	struct optlist all;            /* --option=value */
	struct cmdline_part *sections; /* --section.option=value */
	size_t section_count;
	struct cmdline_part *jobs; /* --name=NAME and what follows */
	size_t job_count;
};

/* Read argv; faults go to `d`. fini in any case, also of the settings. Without files and names,
 * --dataset=scan is a job of that name. */
void cmdline_read(struct cmdline *c, struct settings *s, int argc, char *const argv[],
		  struct diag *d);
void cmdline_fini(struct cmdline *c);

/* ---- options of other programs (fio_options.c) ---- */

struct fio_option {
	const char *name; /* NULL ends the table */
	const char *hint; /* what mlgen has instead, or NULL */
	const char *note; /* why it changes nothing; NULL = it would */
	const char *when; /* the note holds for these values, a|b; NULL = all */
};

/*
 * Of jobs, as `fio --cmdhelp=all` lists them, with their aliases, and of its engines. What mlgen
 * has itself is in it, too, without hint and note.
 */
extern const struct fio_option fio_options[];

/* '-' and '_' alike. NULL = fio does not have it either. */
const struct fio_option *fio_option_find(const char *name);

/* Does a job run as in fio without it? NULL for `o` is no. */
bool fio_option_is_harmless(const struct fio_option *o, const char *value);

/*
 * The option of mlgen for a name of DLIO or PyTorch, such as "reader.batch_size", "batch_size_eval"
 * or "num_workers"; NULL = none. A key of DLIO is found by its last part, too. The names are those
 * in the help of the options, and a few that are only said.
 */
const char *elsewhere_option(const char *name);

/* ---- the engines that jobs name (resolve_engine.c) ---- */

bool standins_have(const struct standins *s, const struct mlgen_engine *e);
void standins_fini(struct standins *s);

struct layers;

/* A shared object that was loaded, stood in for, or could not be had, as ioengine= names it. */
struct loaded_engine {
	char *path;
	const struct mlgen_engine *engine; /* NULL: see err */
	struct mlgen_err err;
};

struct resolve_engines {
	const struct jobset_env *env;
	bool only_looks;              /* nothing runs, so no shared object is loaded */
	struct standins *standins;    /* those of the jobset */
	struct loaded_engine *loaded; /* owned, by resolve_engine_fini */
	size_t loaded_count;
};

/*
 * Three passes over all jobs or lists, before any option is looked at: an option of an engine can
 * stand where the engine is not named.
 *
 * need: load the shared object that this job runs on, and no other. A job that is only looked at
 * gets a stand-in, if there is a file of that name. skip: those that these options name, but no job
 * runs on, are stood in for. guess: what nobody knows in this list may be an option of a stand-in.
 */
void resolve_engine_need(struct resolve_engines *r, const struct layers *layers);
void resolve_engine_skip(struct resolve_engines *r, const struct optlist *list);
void resolve_engine_guess(struct resolve_engines *r, const struct optlist *list);
void resolve_engine_fini(struct resolve_engines *r);

/* By its name or path, which is loaded; NULL = none, see _fail. */
const struct mlgen_engine *resolve_engine_find(struct resolve_engines *r, const char *name);
/* The first that has an option of that name, or NULL. */
const struct mlgen_engine *resolve_engine_with(const struct resolve_engines *r, const char *option);
/* One that could not be loaded, so that nobody knows its options; or NULL. */
const struct loaded_engine *resolve_engine_failed(const struct resolve_engines *r);
/* Tell why there is no such engine, and which there are. */
void resolve_engine_fail(const struct resolve_engines *r, const char *name, struct diag_place at,
			 struct diag *d);

/* Of those built in. */
size_t resolve_engine_count(const struct resolve_engines *r);

/* ---- one job from its layers of options (resolve.c) ---- */

/* Where a job comes from: a section of a file, or the command line alone. */
struct job_source {
	const char *name;
	const struct jobfile *file;    /* NULL: --name=NAME */
	const struct section *section; /* of `file` */
	const struct optlist *opts;    /* the job's own */
};

struct layer {
	const struct optlist *opts;
	char *how;                          /* for job_origin */
	bool is_own;                        /* said of this job, not of several */
	const struct mlgen_field *selector; /* of a variant, which it chose */
	const char *selected;               /* the value, as the variant has it */
};

/* Globals < the job's own < its selected variants < command line. */
struct layers {
	struct job_source src;
	const struct cmdline *cmd;
	struct layer *items; /* the weakest first */
	size_t count;
	bool is_plain; /* a plain job, as far as is known before any variant is */
};

/* The source and the command line are borrowed. */
void layers_init(struct layers *l, const struct job_source *src, const struct cmdline *cmd);
void layers_fini(struct layers *l);

/* The strongest that is written; NULL = none. */
const struct opt *layers_find(const struct layers *l, const char *option);

struct resolver {
	struct resolve_engines engines;
	struct diag *d;
};

/*
 * Read each option, once, by itself, also where no job will use it; its faults are told. `selector`
 * is that of a variant's section, which cannot be set inside it, or NULL. Of every list, and before
 * the jobs that it is a layer of.
 */
void resolve_read(const struct resolver *r, const struct optlist *list,
		  const struct mlgen_field *selector);

/* Defaults < layers. Always gives a job; `*is_whole` says whether all of it was understood. */
struct job *resolve_job(struct resolver *r, const struct layers *layers, bool *is_whole);

/* Does the command line ask for what mltrace does now? Then `d` has the command to use instead, and
 * nothing else is read. */
bool moved_check(int argc, char *const argv[], struct diag *d);

/* ---- checks (check.c, settings.c, question.c) ---- */

/* Is the option's text a list, "EAGAIN" or "EAGAIN:5,ENOSPC" (reads, writes)? 0, or -EINVAL with
 * err, which names the word. NULL is the empty list. */
int ignored_check(const char *text, struct mlgen_err *err);

/* What goes with one question only stands with that one; faults go to `d`. The one that is asked
 * may be NULL. */
void settings_check(const struct settings *s, const struct question *questions,
		    const struct question *asked, struct diag *d);

/* The first that is asked, those of files before those of jobs, or the one that is implied; NULL =
 * none. *of_files counts those of files that are asked. */
const struct question *question_asked(const struct question *table, const struct settings *s,
				      char *const *files, size_t file_count, unsigned *of_files);

/* Options that are there without their question are faults. */
void question_check_options(const struct question *table, const struct settings *s, struct diag *d);

/* So is another one beside `q`, where there are several about files. */
void question_check_one(const struct question *table, const struct question *q, unsigned of_files,
			struct diag *d);

/*
 * Faults of `q`, which is about files: fewer than it takes, and --json, --html and --require where
 * nothing would come of them.
 */
void question_check_files(const struct question *table, const struct question *q,
			  const struct settings *s, char *const *files, size_t file_count,
			  struct diag *d);

/* Name the option that stands in for one that jobs of this workload do not have; NULL = none is
 * known. */
const char *workload_instead(const struct workload *w, const struct mlgen_field *f);

/* The value of phase= that an option says without it: of those whose said_by `is_given` the last;
 * -1 = of none. */
int workload_said(bool (*is_given)(const void *arg, const char *option), const void *arg);

/* Defaults of the job's workload that differ from those in job_fields. */
void workload_set_defaults(struct job *j);
