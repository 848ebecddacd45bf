/* SPDX-License-Identifier: Apache-2.0 */
/* scan.h - list the files of an existing data set. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <mlgen/err.h>

#include "job/job.h"

/*
 * A scan lists the files of a data set that mlgen did not write (dataset=scan), once, before the
 * run. It knows names, sizes and times, but not the content: data/file reads into the files, and
 * data/dataset detects their format.
 *
 * Memory: 16 bytes a file. Names are in a temporary file without a name. A label in a file of its
 * own leaves the scan and is stored with its sample's number. One thread makes a scan; afterwards
 * it is constant, and any thread may read it.
 */

/* ---- Scan: all files of a directory, whatever their names and sizes ---- */

/*
 * Every folder is listed once. Names go to a temporary file without a name in $TMPDIR (or /tmp).
 * Files are numbered in the byte order of their paths, whatever order filesystems list them in. A
 * scan writes nothing to the data set.
 *
 * Links to files and folders are followed once: if several links lead to the same file or folder,
 * the first in order is kept. Files that cannot be read (a socket, a link that leads nowhere or
 * back to a folder above it, missing permission) are counted, and the first few are named on
 * stderr. scan_errors decides whether the job is refused or runs without these files.
 * (SCAN_SKIP_DAMAGED refuses, too; it is about the content of files, see file.h.) Empty files are
 * always left out. mlgen's own files (manifest, lock, unfinished files) are ignored without a
 * count.
 */

/* Name of the manifest of a data set that mlgen has written. Scans ignore it; dataset.h reads and
 * writes it. */
#define MANIFEST_NAME "mlgen-dataset.json"

struct scan;

struct scan_skipped {
	uint64_t empty;
	uint64_t special;    /* sockets, pipes, devices */
	uint64_t links;      /* links that lead nowhere, or in a circle */
	uint64_t unreadable; /* files and folders without permission or with an error */
	uint64_t too_long;   /* paths longer than PATH_MAX */
	uint64_t missing;    /* files of a list that do not exist */
	uint64_t folders;    /* folders in a list of files */
	uint64_t again;      /* files and folders that another link or place has led to */
	uint64_t deeper;     /* folders below scan_depth */
};

/* Part of a data set that is split into train/ and valid/ (places_select_training below). Without
 * such folders all files are for training. */
enum scan_part { SCAN_TRAINING, SCAN_EVALUATION };

/* Parameters of a scan; strings belong to the caller. */
struct scan_request {
	/* Path or paths to scan (places_find below). If there is a file_list, the folder of its
	 * relative paths, or NULL. */
	const char *directory;
	const char *file_list; /* see scan_list_read; NULL = none */
	enum scan_part part;
	bool is_laid_out;   /* the directory is known to have train/ */
	const char *except; /* a file to ignore, wherever it is; NULL = none */
	enum job_scan_errors errors;
	uint64_t depth; /* 1 = only files of the directory itself; 0 = no limit */
	bool is_quiet;  /* print no notes, since an earlier scan has printed them */
};

/*
 * Return 0, or -errno with err: the directory does not exist or has no readable file. With
 * SCAN_REFUSE also -EACCES if a file or folder is unreadable, or -EINVAL if a file is skipped for
 * another reason. With SCAN_EVALUATION also -EINVAL if valid/ does not exist.
 */
int scan_new(struct scan **out, const struct scan_request *req, struct mlgen_err *err);
void scan_free(struct scan *s); /* NULL is fine */

/* Send the result of a scan from one process of a job to the other processes (hosts/hosts.h). They
 * then have the same files in the same order and print no notes. `beside` is passed to
 * namefile_open. Return 0, or -errno with err. */
struct relay;
int scan_send(const struct scan *s, struct relay *to, struct mlgen_err *err);
int scan_receive(struct scan **out, const char *beside, struct relay *from, struct mlgen_err *err);

/* scan_base returns the folder that all names are relative to; scan_place returns the first place
 * of the request. All files are assumed to be on the storage of that place. */
const char *scan_base(const struct scan *s);
const char *scan_place(const struct scan *s);

uint64_t scan_files(const struct scan *s);
uint64_t scan_bytes(const struct scan *s); /* sum over all files */
uint64_t scan_size(const struct scan *s, uint64_t file);

/* Read a file's path below the base. Returns its length, -ENAMETOOLONG, or -errno if it cannot be
 * read back. Any thread. */
int scan_name(const struct scan *s, uint64_t file, char *out, size_t size);
size_t scan_name_bytes(const struct scan *s, uint64_t file);
/* Read the path and the time of the file's last change, as it was during the scan. */
int scan_name_and_time(const struct scan *s, uint64_t file, char *out, size_t size,
		       int64_t *mtime_ns);

void scan_skipped(const struct scan *s, struct scan_skipped *out);

/* Hand over the samples within files that file_list names; the caller owns them. Returns NULL if
 * there is no list, if it has only paths, or if its samples were handed over before. */
struct listed;
struct listed *scan_detach_listed(struct scan *s);
bool scan_has_listed(const struct scan *s);

/* Print a note about the scan, unless it is quiet. */
__attribute__((format(printf, 2, 3))) void scan_note(const struct scan *s, const char *fmt, ...);
bool scan_is_quiet(const struct scan *s);

/* Keep only the files for which `keep` returns true, in their order. */
void scan_filter(struct scan *s, bool (*keep)(const void *arg, uint64_t file), const void *arg);

/* Like scan_filter, by names below the base; a name that cannot be read back is "". */
void scan_filter_named(struct scan *s, bool (*keep)(void *arg, const char *name), void *arg);

/* ---- File names and suffixes ---- */

/* Kinds of files by name: files that hold no samples (checksums, indices, desktop files), files
 * that hold labels if there are other files, and all others. */
enum detect_name { NAME_LITTER, NAME_LABEL, NAME_DATA };

enum detect_name detect_name(const char *path);

/* Return the suffix from the last dot on; "" without a dot. */
const char *detect_suffix(const char *path);

/* Return the name of the format with this suffix, or NULL. */
const char *detect_by_suffix(const char *path);

/* ---- Label files: labels/0001.txt for images/0001.jpg ---- */

/*
 * A pair FROM:TO (struct namepair below) tells where labels are. The suffixes of an image and of
 * its label may differ. A label file holds no samples: it leaves the scan and becomes part 1 of the
 * dataset, which is read whole after the sample.
 *
 * labels_new collects the label files of a scan, labels_settle assigns each to its sample. Memory:
 * 24 bytes a label between the two calls, afterwards 8 bytes a file. Labels are matched by a 64-bit
 * hash of their paths.
 */
struct labels;

/* The pair that is assumed if a scan finds folders with these names. */
#define LABELS_USUAL_PAIR "/images/:/labels/"

/*
 * Does the scan have images and labels in folders of the usual names? True if up to 64 files,
 * spread over the scan, include both kinds, and the labels have a suffix such as .txt, .json or
 * .xml.
 */
bool labels_are_usual(const struct scan *scan, const char *base);

/* Move the label files out of the scan. `pair` must have passed namepair_parse. */
struct labels *labels_new(struct scan *scan, const char *base, const char *pair);
void labels_free(struct labels *l); /* NULL is fine */

/* labels_listed returns the number of label files in the scan; labels_have_suffix tells whether any
 * of them has this suffix (with its dot). */
uint64_t labels_listed(const struct labels *l);
bool labels_have_suffix(const struct labels *l, const char *suffix);

/*
 * Assign a label to each file left in the scan. If the scan had no label file (a list of images, or
 * a directory of images alone), labels are looked up by name. The suffixes are those of the image
 * and .txt, .json, .xml, .png and .npy. Returns 0, or -EINTR with err.
 */
int labels_settle(struct labels *l, const struct scan *scan, const char *base,
		  struct mlgen_err *err);

/* Print a note with the number of files without a label and of labels without a file. */
void labels_note_unpaired(const struct labels *l, const struct scan *scan, const char *base);
/* Fail because no file has a label: -ENOENT if the folder of labels is missing, or -EINVAL. */
int labels_refuse(const struct labels *l, const struct scan *scan, const char *base,
		  struct mlgen_err *err);

/* Return the bytes of a file's label; 0 = no label. Any thread. */
uint64_t labels_bytes(const struct labels *l, uint64_t file);
/* labels_largest returns the bytes of the largest label, labels_sum those of the labels of the
 * first `files` files. */
uint64_t labels_largest(const struct labels *l);
uint64_t labels_sum(const struct labels *l, uint64_t files);
/* Return how many of the first `files` files have a label. */
uint64_t labels_count(const struct labels *l, uint64_t files);

/* Derive the path of a label from that of its file. Returns its length, -ENOENT if there is no
 * label, or -ENAMETOOLONG. Any thread. */
int labels_path(const struct labels *l, uint64_t file, const char *path, char *out, size_t size);

/* Send the labels from one process of a job to the other processes (hosts/hosts.h). */
int labels_send(const struct labels *l, struct relay *to, struct mlgen_err *err);
int labels_receive(struct labels **out, struct relay *from, struct mlgen_err *err);

/* ---- Name file: a temporary file that keeps names out of memory ---- */

/* Written sequentially by one thread, then read by any thread. */
struct namefile {
	int fd;
	const char *folder; /* parent folder, for messages */
	uint64_t end;       /* size, buffered bytes included */
	size_t buffered;
	char *buffer; /* NULL once writing has ended */
};

/* Open the file in the folder that base/files.h selects. Returns 0, or -errno with err. */
int namefile_open(struct namefile *f, const char *beside, struct mlgen_err *err);
void namefile_close(struct namefile *f); /* a file that failed to open is fine */

/* Append bytes, which can be read after a flush. Returns 0, or -errno with err. */
int namefile_add(struct namefile *f, const char *s, size_t n, struct mlgen_err *err);
int namefile_flush(struct namefile *f, struct mlgen_err *err);
/* Truncate to an earlier end. */
void namefile_cut(struct namefile *f, uint64_t end);
/* Free the buffer; nothing may be added afterwards. */
void namefile_end(struct namefile *f);

/* Map the file from offset `from`, rounded down to a page, to the end. */
struct namefile_map {
	char *bytes;
	uint64_t start; /* offset in the file of bytes[0] */
	size_t length;
};
int namefile_map(const struct namefile *f, uint64_t from, struct namefile_map *m,
		 struct mlgen_err *err);
void namefile_unmap(struct namefile_map *m);

/* ---- Places: the folders and files that directory= names ---- */

struct scan_place {
	char *path;       /* owned */
	const char *name; /* part of path below the base; "" = the base itself */
	bool is_folder;   /* false = a file */
};

struct scan_places {
	struct scan_place *at;
	size_t count, room; /* vec.h */
	char *base;         /* folder that contains all places; owned */
};

/*
 * Find the places of `directory`: one path, or several with ':' between them, in which "\:" is a
 * colon. Each may contain braces (scan_internal.h) and be a pattern of glob(7), unless a file with
 * exactly this name exists. Places are in the order in which they are written; matches of a pattern
 * are in byte order. Returns 0, or -errno with err, which names a path that does not exist or a
 * pattern without matches.
 */
int places_find(struct scan_places *p, const char *directory, struct mlgen_err *err);
void places_fini(struct scan_places *p); /* a zeroed struct is fine */

/* Add existing files one by one; then call places_settle once, which sets the base and names. */
void places_add_file(struct scan_places *p, const char *path);
int places_settle(struct scan_places *p, struct mlgen_err *err);

/*
 * DLIO and MLPerf Storage split a dataset into train/ and valid/ below its directory. A place that
 * is split is replaced by its train/ or valid/ folder; the base remains. For training, places that
 * are not split remain, too. For evaluation they are removed, and -EINVAL with err is returned if
 * none is left.
 *
 * A folder is split if it contains train/ and also valid/, or no folders except those of labels,
 * indices and other splits: a folder of image classes may well have a class named train. With
 * `is_known`, train/ is enough.
 */
void places_select_training(struct scan_places *p, bool is_known);
int places_select_evaluation(struct scan_places *p, bool is_known, struct mlgen_err *err);

/* ---- Listed samples: byte ranges of files that file_list names, grouped by file ---- */

/*
 * A list may have millions of samples of one file, in any order. Memory grows with the number of
 * files only; data per sample is in temporary files without a name.
 */

/* `beside` is passed to namefile_open. Returns 0, or -errno with err. */
int listed_new(struct listed **out, const char *beside, struct mlgen_err *err);
void listed_free(struct listed *l); /* NULL is fine */

/* A file of the list: one of the places, or a file that is left out with its samples. */
#define LISTED_NONE UINT64_MAX
struct listed_file {
	uint64_t place; /* LISTED_NONE = left out */
	uint64_t bytes; /* file size */
};

/* Return the file with exactly this path, or NULL if it has not been added. Valid until the next
 * file is added. */
const struct listed_file *listed_find(const struct listed *l, const char *path);
/* Add a path that is not known yet, with its place and the size of the file. */
void listed_add_path(struct listed *l, const char *path, uint64_t place, uint64_t bytes);

/* Add a sample: a byte range of a place. Returns 0, or -errno with err. */
int listed_add(struct listed *l, uint64_t place, uint64_t off, uint64_t bytes,
	       struct mlgen_err *err);

/* Map places to files of the scan, once its order is final. Samples of files that are not in the
 * scan are dropped. Returns 0, or -errno with err. */
int listed_settle(struct listed *l, const struct scan *s, const struct scan_places *p,
		  struct mlgen_err *err);

/* Samples of one file of the scan, and the sum of their bytes. */
struct listed_count {
	uint64_t samples, bytes;
};

/*
 * Count the samples of each file of the scan in counts[], which must be zero. Write their ranges to
 * `words`, which must be new: two words a sample, offset and length, file by file, in the order of
 * the list within a file. Returns 0, or -errno with err, for example if a file has shrunk since the
 * list was read and a sample ends beyond it.
 */
int listed_group(struct listed *l, const struct scan *s, struct listed_count *counts,
		 struct namefile *words, struct mlgen_err *err);

/* ---- Name pairs FROM:TO, which map a file to its twin ---- */

/*
 * The first file of a pair has FROM in its path; its twin has TO in place of the last FROM. So
 * _x.npy:_y.npy pairs ends of names, and images/:labels/ pairs folders. If a path contains both
 * texts, the one that ends later in the path decides; if both end at the same place, the longer one
 * does.
 */
struct namepair {
	const char *from, *to; /* pointers into the text; only `to` is terminated */
	size_t from_bytes;
};

enum namepair_role { NAMEPAIR_NEITHER, NAMEPAIR_FIRST, NAMEPAIR_TWIN };

/* scan_pair=none: there are no pairs, and the usual pair is not assumed either. */
bool namepair_is_none(const char *text);

/* Parse FROM:TO. False unless the text is two different texts with one ':' between them. */
bool namepair_parse(struct namepair *p, const char *text);

enum namepair_role namepair_role(const struct namepair *p, const char *path);

/* Derive the twin's path. Returns its length, -ENAMETOOLONG, or -EINVAL if the path does not
 * contain FROM. Any thread. */
int namepair_twin(const struct namepair *p, const char *path, char *out, size_t size);

/* ---- Marks: a sample of the files, to detect changes during the run ---- */

/*
 * Checking every file would need memory and a system call for each. Up to this many files, evenly
 * spread over the order in which they were listed, are checked instead. Size and mtime are
 * compared, but not the inode number, which is not stable on some filesystems.
 */
#define SCAN_MARKS 1024u

struct scan_mark {
	uint64_t name; /* same as in struct scan_entry (scan_internal.h) */
	uint64_t size_bytes;
	struct timespec changed;
};

struct scan_marks {
	struct scan_mark *all; /* owned */
	uint64_t count;        /* number of marks */
	uint64_t met;          /* files listed so far */
	uint64_t step;         /* a file in `step` is marked */
};

/* Check again the marked files among the first `files` files of the scan. The result has the number
 * of files checked, the number of files that have changed or vanished, and the first of their
 * paths. */
struct scan_changed {
	uint64_t looked_at, changed;
	char path[PATH_MAX];
};
void scan_recheck(const struct scan *s, uint64_t files, struct scan_changed *out);
