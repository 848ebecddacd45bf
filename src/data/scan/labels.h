/* SPDX-License-Identifier: Apache-2.0 */
/* labels.h - the label files of a scan: 0001.txt in labels/ for 0001.jpg in images/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/scan/scan.h"

/*
 * A pair FROM:TO (namepair.h) says where labels are. The suffixes of an image and of its label may
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

/* One process of a job gives what it has found to the others (hosts/relay.h). */
int labels_give(const struct labels *l, struct relay *to, struct mlgen_err *err);
int labels_take(struct labels **out, struct relay *from, struct mlgen_err *err);
