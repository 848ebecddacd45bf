/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - the files of a data set that somebody else has made. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * A scan lists the files of a data set that somebody else has made (dataset=scan), once, before
 * the run. It knows names, sizes and times, and nothing of what is in the files: data/file looks
 * into them, and data/dataset decides which format they have.
 *
 * In memory are 16 bytes for each file; names lie in a file without a name. A label that stands
 * in a file of its own beside its sample leaves the scan, and is known by the sample's number.
 * A scan is made by one thread. After that nothing changes, and every thread may ask.
 */

/* ---- The files that are there, of whatever name and size ---- */

/*
 * Every folder is listed once. Names go to a file without a name in $TMPDIR (else /tmp); in memory
 * are 16 bytes for each file. Files are numbered in the byte order of their paths, whatever the
 * order in which filesystems list them. Nothing is changed.
 *
 * Links are followed, to files and to folders, each way once: of what several links lead to the
 * first in order is taken. What cannot be read as a file (a socket, a link that leads nowhere or
 * back to where it lies, what this user may not read) is counted, the first few are named on
 * stderr, and by scan_errors the job is refused (SCAN_SKIP_DAMAGED, too, which is about what files
 * hold: file.h) or goes without them. Empty files, of which there is nothing to read, are left out
 * in either case, and mlgen's own (manifest, lock, unfinished files) are not seen at all.
 */
/* The manifest of a data set that mlgen has made, which no scan sees; dataset.h reads and writes
 * it. */
#define MANIFEST_NAME "mlgen-dataset.json"

struct scan;

struct scan_skipped {
	uint64_t empty;
	uint64_t special;    /* sockets, pipes, devices */
	uint64_t links;      /* that lead nowhere, or in a circle */
	uint64_t unreadable; /* files and folders: no permission, an error */
	uint64_t too_long;   /* paths */
	uint64_t missing;    /* of a list */
	uint64_t folders;    /* in place of a list's files */
	uint64_t again;      /* by another link, or by another place */
	uint64_t deeper;     /* folders */
};

/* Which files of a dataset that is laid out as train/ and valid/ (scan.h); of others all are
 * the training's. */
enum scan_part { SCAN_TRAINING, SCAN_EVALUATION };

/* What is listed; strings are the caller's. */
struct scan_request {
	/* One or several (scan.h); with a list where its relative paths are, or NULL. */
	const char *directory;
	const char *file_list; /* scan_internal.h; NULL = none */
	enum scan_part part;
	bool is_laid_out; /* the one directory is known to have train/ */
	/* A file that is none of them, wherever it lies; NULL = there is none. */
	const char *except;
	enum job_scan_errors errors;
	uint64_t depth; /* 1: files of the directory itself; 0 = no limit */
	bool is_quiet;  /* what is to be noted has been told before */
};

/*
 * 0, or -errno with err: no such directory, no file in it that can be read, with SCAN_REFUSE
 * -EACCES (something is unreadable) or -EINVAL (the others), with SCAN_EVALUATION -EINVAL (there is
 * no valid/).
 */
int scan_new(struct scan **out, const struct scan_request *req, struct mlgen_err *err);
void scan_free(struct scan *s); /* NULL is fine */

/* What one process of a job has listed, for the others (hosts/hosts.h), which then have the same
 * files in the same order, and tell nothing of them. `beside` as of namefile_open. 0 or -errno with
 * err. */
struct relay;
int scan_give(const struct scan *s, struct relay *to, struct mlgen_err *err);
int scan_take(struct scan **out, const char *beside, struct relay *from, struct mlgen_err *err);

/* The folder below which all names are, and the first of the places that were asked for, whose
 * storage it is. */
const char *scan_base(const struct scan *s);
const char *scan_place(const struct scan *s);

uint64_t scan_files(const struct scan *s);
uint64_t scan_bytes(const struct scan *s); /* of all files */
uint64_t scan_size(const struct scan *s, uint64_t file);

/* Any thread: its path below the base. Its length, -ENAMETOOLONG, or
 * -errno of reading it back. */
int scan_name(const struct scan *s, uint64_t file, char *out, size_t size);
size_t scan_name_bytes(const struct scan *s, uint64_t file);
/* The same, with the time of its last change when it was listed. */
int scan_name_and_time(const struct scan *s, uint64_t file, char *out, size_t size,
		       int64_t *mtime_ns);

void scan_skipped(const struct scan *s, struct scan_skipped *out);

/* The samples that a list gives of its files (scan.h), once, to the caller; NULL: it has paths
 * alone, or there is none. */
struct listed;
struct listed *scan_take_listed(struct scan *s);
bool scan_has_listed(const struct scan *s);

/* A note to the person at the terminal, of what was scanned. */
__attribute__((format(printf, 2, 3))) void scan_note(const struct scan *s, const char *fmt, ...);
bool scan_is_quiet(const struct scan *s);

/* Only these files are left, in their order. */
void scan_keep(struct scan *s, bool (*keep)(const void *arg, uint64_t file), const void *arg);

/* The same by their names, below the base; one that cannot be read back is "". */
void scan_keep_named(struct scan *s, bool (*keep)(void *arg, const char *name), void *arg);

/* ---- What the name of a file says of it ---- */

/* What no sample is in (checksums, indices, what desktops leave), what holds labels where there is
 * something else, and all others. */
enum detect_name { NAME_LITTER, NAME_LABEL, NAME_DATA };

enum detect_name detect_name(const char *path);

/* From its last dot on, "" without one. */
const char *detect_suffix(const char *path);

/* The name of the format that files of this suffix have, or NULL. */
const char *detect_by_suffix(const char *path);

/* ---- The label files of a scan: 0001.txt in labels/ for 0001.jpg in images/ ---- */

/*
 * A pair FROM:TO (scan.h) says where labels are. The suffixes of an image and of its label may
 * differ. A label file holds no samples: it leaves the scan and becomes part 1 of the dataset, read
 * whole after the sample.
 *
 * labels_new collects the label files of a scan, labels_settle gives each to its sample. 24 bytes a
 * label are in use between the two calls, afterwards
 * 8 bytes a file. Labels are matched by a hash of 64 bits of their paths.
 */
struct labels;
struct relay;

/* The pair that is assumed where a scan finds such folders next to each other. */
#define LABELS_USUAL_PAIR "/images/:/labels/"

/*
 * Does the scan have images and labels in folders of the usual names? True if among up to 64 files,
 * spread over the scan, there are some of both kinds, and the labels have a suffix such as .txt,
 * .json or .xml.
 */
bool labels_are_usual(const struct scan *scan, const char *base);

/* Take the label files out of the scan. `pair` has passed namepair_parse. */
struct labels *labels_new(struct scan *scan, const char *base, const char *pair);
void labels_free(struct labels *l); /* NULL is fine */

/* Number of label files that the scan had, and whether one of them has this suffix (with its
 * dot). */
uint64_t labels_listed(const struct labels *l);
bool labels_have_suffix(const struct labels *l, const char *suffix);

/*
 * Give each file that is left in the scan its label. Where the scan had no label file (a list of
 * images, a directory of images alone) each label is looked for by name: with the suffix of the
 * image, .txt, .json, .xml, .png or .npy. 0, or -EINTR with err.
 */
int labels_settle(struct labels *l, const struct scan *scan, const char *base,
		  struct mlgen_err *err);

/* Count the files without a label and the labels without a file in a note. */
void labels_note_unpaired(const struct labels *l, const struct scan *scan, const char *base);
/* Say in err why no file has a label: -ENOENT if the folder of labels is missing, or -EINVAL. */
int labels_refuse(const struct labels *l, const struct scan *scan, const char *base,
		  struct mlgen_err *err);

/* Bytes of a file's label; 0 = it has none. Any thread. */
uint64_t labels_bytes(const struct labels *l, uint64_t file);
/* Bytes of the largest label, and of the labels of the first `files` files. */
uint64_t labels_largest(const struct labels *l);
uint64_t labels_sum(const struct labels *l, uint64_t files);
/* How many of the first `files` files have a label. */
uint64_t labels_count(const struct labels *l, uint64_t files);

/* The label's path from that of its file; its length, -ENOENT if there is no label, -ENAMETOOLONG.
 * Any thread. */
int labels_path(const struct labels *l, uint64_t file, const char *path, char *out, size_t size);

/* One process of a job gives what it has found to the others (hosts/hosts.h). */
int labels_give(const struct labels *l, struct relay *to, struct mlgen_err *err);
int labels_take(struct labels **out, struct relay *from, struct mlgen_err *err);

/* ---- A file without a name that holds the names of others, so that memory does not ---- */

/* Written from front to back by one thread, then read by any. */
struct namefile {
	int fd;
	const char *folder; /* that it is in, for messages */
	uint64_t end;       /* with what is in the buffer */
	size_t buffered;
	char *buffer; /* while it is written */
};

/* In the folder of base/files.h. 0 or -errno with err. */
int namefile_open(struct namefile *f, const char *beside, struct mlgen_err *err);
void namefile_close(struct namefile *f); /* takes one that failed to open */

/* Behind its end: 0 or -errno with err. What was added is there to be read once it is flushed. */
int namefile_add(struct namefile *f, const char *s, size_t n, struct mlgen_err *err);
int namefile_flush(struct namefile *f, struct mlgen_err *err);
/* Back to an end that it had. */
void namefile_cut(struct namefile *f, uint64_t end);
/* Nothing more will be added. */
void namefile_end(struct namefile *f);

/* From a place before `from` on to the end, for a look at many. */
struct namefile_map {
	char *bytes;
	uint64_t start; /* that bytes[0] is at */
	size_t length;
};
int namefile_map(const struct namefile *f, uint64_t from, struct namefile_map *m,
		 struct mlgen_err *err);
void namefile_unmap(struct namefile_map *m);

/* ---- The folders and files that directory= names, for a scan ---- */

struct scan_place {
	char *path;       /* owned */
	const char *name; /* in path: below the base; "" = the base itself */
	bool is_folder;   /* else a file */
};

struct scan_places {
	struct scan_place *at;
	size_t count, room; /* vec.h */
	char *base;         /* the folder that has them all; owned */
};

/*
 * `directory` is one path or several with ':' between them, in which "\:" is a colon. Each may have
 * braces (scan_internal.h), and be a pattern of glob(7); one that is there under the very name it
 * is written is that. A path that is not there, a pattern that nothing matches: -errno with err,
 * which names it. They are in the order in which they are written, those of a pattern in byte
 * order.
 */
int places_find(struct scan_places *p, const char *directory, struct mlgen_err *err);
void places_fini(struct scan_places *p); /* takes a zeroed one */

/* One by one, of files that are there; then once, for base and names. */
void places_add_file(struct scan_places *p, const char *path);
int places_settle(struct scan_places *p, struct mlgen_err *err);

/*
 * As DLIO and MLPerf Storage lay out a dataset, train/ and valid/ below its directory: a place that
 * is laid out so becomes that folder of it, the base stays. For a training the other places stay,
 * too; for an evaluation they leave, and -EINVAL with err says that none is left.
 *
 * A folder is laid out so when there is a train/ in it and a valid/ beside, or no folder but those
 * of labels, indices and other splits: classes of images may well have one called train. With
 * `is_known` a train/ is enough.
 */
void places_take_training(struct scan_places *p, bool is_known);
int places_take_evaluation(struct scan_places *p, bool is_known, struct mlgen_err *err);

/* ---- The samples that a list gives of its files: spooled as they come, then grouped by file ----
 */

/*
 * A list may have millions of samples of one file, next to each other or not: here is memory for
 * files, and what is per sample lies in files without a name (scan.h).
 */
struct listed;
struct scan;

/* `beside` as of namefile_open. 0 or -errno with err. */
int listed_new(struct listed **out, const char *beside, struct mlgen_err *err);
void listed_free(struct listed *l); /* NULL is fine */

/* One of the places, by its path; or one that is left out, with its samples. */
#define LISTED_NONE UINT64_MAX
struct listed_file {
	uint64_t place; /* LISTED_NONE = left out */
	uint64_t bytes; /* its size */
};

/* The file that has this path as it stands, or NULL: nobody has added it. Until the next one is
 * added. */
const struct listed_file *listed_find(const struct listed *l, const char *path);
/* A path that it does not have, of a file of this size, and its place. */
void listed_add_path(struct listed *l, const char *path, uint64_t place, uint64_t bytes);

/* So many bytes of a place: 0, or -errno with err. */
int listed_add(struct listed *l, uint64_t place, uint64_t off, uint64_t bytes,
	       struct mlgen_err *err);

/* Once the scan of these places is in order: which of its files each is. What is no file of it
 * takes its samples along. 0, or -errno with err. */
int listed_settle(struct listed *l, const struct scan *s, const struct scan_places *p,
		  struct mlgen_err *err);

/* Of one file of the scan. */
struct listed_count {
	uint64_t samples, bytes;
};

/*
 * Counts the samples of each file of the scan into counts[], which is zero, and puts their places
 * into `words`, a new one: two words a sample, offset and length, file by file, and those of a file
 * in the order of the list. 0, or -errno with err: a sample ends behind its file, which was larger
 * when the list was read.
 */
int listed_group(struct listed *l, const struct scan *s, struct listed_count *counts,
		 struct namefile *words, struct mlgen_err *err);

/* ---- The names of two files that are one: FROM:TO ---- */

/*
 * The first has FROM in its path; its twin has TO in place of the last FROM. So _x.npy:_y.npy are
 * ends of names, and images/:labels/ folders. A path may have both in it: then the one counts that
 * ends last, and of those that end together the longer one.
 */
struct namepair {
	const char *from, *to; /* in the text, which ends `to` alone */
	size_t from_bytes;
};

enum namepair_role { NAMEPAIR_NEITHER, NAMEPAIR_FIRST, NAMEPAIR_TWIN };

/* scan_pair=none: there are no pairs, and none are assumed. */
bool namepair_is_none(const char *text);

/* False: it is no two different texts with one ':' between them. */
bool namepair_parse(struct namepair *p, const char *text);

enum namepair_role namepair_role(const struct namepair *p, const char *path);

/* The twin's path: its length, or -ENAMETOOLONG; -EINVAL where FROM is not in the first's. Any
 * thread. */
int namepair_twin(const struct namepair *p, const char *path, char *out, size_t size);

/*
 * What some files of a scan were like when they were listed, so that it can be seen whether they
 * still are.
 */

/*
 * Of every file it would be memory for each, and a system call: these are up to so many, evenly
 * spread over the order in which files were met. Their size and the time of their last change are
 * compared, not the inode, which some filesystems number anew.
 */
#define SCAN_MARKS 1024u

struct scan_mark {
	uint64_t name; /* as an entry's (scan_internal.h) */
	uint64_t size_bytes;
	struct timespec changed;
};

struct scan_marks {
	struct scan_mark *all; /* owned */
	uint64_t count, met, step;
};

/* Looks at those among the first `files` of the scan again: how many, which of them have changed or
 * gone, and the path of the first of these. */
struct scan_changed {
	uint64_t looked_at, changed;
	char path[PATH_MAX];
};
struct scan;
void scan_look_again(const struct scan *s, uint64_t files, struct scan_changed *out);
