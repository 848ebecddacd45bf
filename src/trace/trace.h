/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the trace format: reading, writing, sorting, and conversion from other formats. */
#pragma once

/*
 * A trace is a file of chunks. Records describe one operation each; entries hold the names of files
 * and facts about the run. A reader returns records in the order of the file or of time; a writer
 * accepts them in any order. CSV and fio's iolog are read and written through the same records
 * (struct trace_record). A reader or a writer belongs to one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/record.h"

/* ---- names of arbitrary bytes as printable UTF-8, reversibly ---- */

/* Append a name. Each control character (including Unicode ones) and each byte that is not UTF-8
 * becomes \xHH; a backslash is doubled. */
void trace_text_append(struct buf *out, const char *s, size_t bytes);

/* Undo trace_text_append in place and shorten *bytes. NULL, or a pointer to the first backslash
 * that begins no valid escape. */
const char *trace_text_unescape(char *s, size_t *bytes);

/* ---- whole numbers as digits; a trace as text may have ten million, so these are fast ---- */

/* Parse digits, and nothing else, as a number up to `most`. NULL, or an error that completes a
 * sentence about the text: "is negative". */
const char *trace_number_parse(const char *s, size_t bytes, uint64_t most, uint64_t *out);
/* Parse a number with an optional minus sign. */
const char *trace_number_parse_signed(const char *s, size_t bytes, int64_t *out);

void trace_number_append(struct buf *out, uint64_t v);
void trace_number_append_signed(struct buf *out, int64_t v);

/* ---- names and their ids, from 1 up; there may be many millions ---- */

/*
 * A name costs its own bytes and about 40 bytes of bookkeeping. The text of all names and their
 * bookkeeping are two areas. Each area moves to an unnamed file once it exceeds 64 MiB, which takes
 * more than a million names. The kernel writes these files out
 * when memory is short (base/files.h).
 */
struct trace_names;

struct trace_names *trace_names_new(void);
void trace_names_free(struct trace_names *n); /* NULL is fine */

/* The id of a name, which is added if missing; *is_new (may be NULL) says whether it was added. */
uint32_t trace_names_id(struct trace_names *n, const char *name, size_t bytes, bool *is_new);

/* The id of a name, or 0 if it was never added. */
uint32_t trace_names_find(const struct trace_names *n, const char *name, size_t bytes);

/* The NUL-terminated name of an id, valid until the next trace_names_id; NULL = no such id. */
const char *trace_names_text(const struct trace_names *n, uint32_t id, size_t *bytes);

uint32_t trace_names_count(const struct trace_names *n);

/* ---- phases: the phase of a run at a time, according to the markers of a trace ---- */

/*
 * A checkpoint or a stage is a phase with a name; if there are several at a time, the last to begin
 * is the phase. Outside of both, the epoch is the phase and has a number. Equal markers of several
 * ranks are one phase. A marker without an end lasts to the end of the trace.
 */
enum { TRACE_PHASES = 64 }; /* maximum at a time; above it, the phases that end last are kept */

struct trace_phase {
	uint64_t start_ns, end_ns;
	uint64_t number;
	uint32_t file;
	uint16_t op;
};

struct trace_phases {
	struct trace_phase held[TRACE_PHASES];
	unsigned count;
	uint64_t until_ns; /* the earliest end of a phase in `held` */
	const struct trace_phase *now;
};

/* Is the end of the marker unknown? */
bool trace_phase_is_open(const struct trace_record *marker);

/*
 * The phase at the start of a record, which may itself be a marker; NULL = no phase. Pass records
 * by start time, markers of phases first (trace_internal.h). Valid until the next call. A zeroed
 * struct is ready.
 */
const struct trace_phase *trace_phase_at(struct trace_phases *p, const struct trace_record *r);

/* ---- the layout of a trace file; mlgen-trace(5) documents it, too ---- */

/*
 * A file head is followed by chunks, each at a multiple of 8 bytes: records, entries, parts of the
 * index, and finally the end. All numbers are little endian; checksums are zlib's CRC-32. A reader
 * skips chunks of an unknown kind.
 */
#define TRACE_MAGIC "MLgenTRC"
#define TRACE_VERSION 1u
#define TRACE_CHUNK_MAGIC UINT32_C(0x4b434d54) /* "TMCK" */

struct trace_file_head {
	char magic[8]; /* TRACE_MAGIC, without a 0 */
	uint32_t version;
	uint32_t part;
	unsigned char run_id[16];
	uint64_t wall_ns, clock_ns;
	uint32_t record_bytes; /* 64 */
	uint32_t crc;          /* checksum of all members before it */
	uint64_t reserved;     /* 0 */
};

enum trace_chunk_kind {
	TRACE_CHUNK_RECORDS = 1, /* struct trace_record */
	TRACE_CHUNK_ENTRIES = 2, /* struct trace_stored_entry */
	TRACE_CHUNK_INDEX = 3,   /* struct trace_index_entry */
	TRACE_CHUNK_END = 4,     /* struct trace_end; not compressed */
};

enum { TRACE_CHUNK_IS_ZSTD = 1 }; /* a flag; without it the chunk is not compressed */

struct trace_chunk_head {
	uint32_t magic;
	uint16_t kind, flags;
	uint32_t number;                  /* chunk number, from 0 */
	uint32_t count;                   /* records or entries in the chunk */
	uint32_t raw_bytes, packed_bytes; /* without the padding to 8 */
	uint64_t first_ns, last_ns;       /* records: earliest start, latest end */
	uint32_t packed_crc;
	uint32_t crc; /* checksum of all members before it */
};

/* Followed by the NUL-terminated text, padded with zeros to a multiple of 8 bytes. */
struct trace_stored_entry {
	uint32_t kind, text_bytes;
	uint64_t number[TRACE_NUMBERS];
};

/* A part has at most TRACE_INDEX_ENTRIES; its first entry points to the previous part, or to the
 * file head (off 0) if there is no previous part. */
struct trace_index_entry {
	uint64_t off; /* file offset of the chunk's head */
	uint64_t first_ns, last_ns;
	uint32_t kind, count;
};

struct trace_end {
	uint64_t records, entries, chunks; /* counts without this chunk */
	uint64_t lost;                     /* sum of TRACE_LOST, and records lost to an error */
	uint64_t index_off;                /* last part of the index; 0 = none */
	uint64_t bytes;                    /* size of the whole file */
};

enum {
	TRACE_CHUNK_RECORD_COUNT = 32768,
	TRACE_CHUNK_ENTRY_BYTES = 1 << 20,
	TRACE_CHUNK_RAW_MAX = 4 << 20, /* limit of any chunk */
	TRACE_INDEX_ENTRIES = 4096,
	TRACE_TEXT_MAX = 64 << 10, /* limit of an entry; longer texts are cut */
};

/* Convert in place between host order and little endian: a no-op on most machines. */
void trace_swap_records(struct trace_record *r, size_t count);
void trace_swap_entry(struct trace_stored_entry *e);
void trace_swap_end(struct trace_end *e);

/* Convert to the form in a file, with magic numbers and checksums. */
void trace_encode_file_head(struct trace_file_head *to, const struct trace_head *head);
void trace_encode_chunk_head(struct trace_chunk_head *h);

/* 0; -EINVAL: not a trace; -EPROTONOSUPPORT: unsupported *version; -EBADMSG: damaged. */
int trace_decode_file_head(struct trace_head *to, const struct trace_file_head *h,
			   uint32_t *version);
/* Convert to host order. False: not a chunk head, or a damaged one. */
bool trace_decode_chunk_head(struct trace_chunk_head *h);

uint32_t trace_crc(const void *bytes, size_t count);

/* ---- a trace file as a stream: entries and records in, compressed chunks out ---- */

/*
 * A writer belongs to one thread. It keeps one chunk of records and one of entries in memory,
 * however long the trace is; the index is written in parts, too.
 *
 * An error is sticky: the file is truncated to its last whole chunk, so that it remains readable,
 * and later records are counted as lost. The caller may carry on; trace_writer_finish reports the
 * error.
 */
struct trace_writer;

struct trace_written {
	uint64_t records, entries, chunks, bytes;
	uint64_t lost; /* records that could not be written */
};

/* Write to `fd` from its start. The file must be empty and open for writing; the caller keeps the
 * descriptor. `path` is for messages. 0 or -errno with err. */
int trace_writer_new(struct trace_writer **out, int fd, const char *path,
		     const struct trace_head *head, struct mlgen_err *err);

/* Append a record or an entry, which is copied. Errors are reported at the end. */
void trace_writer_record(struct trace_writer *w, const struct trace_record *r);
void trace_writer_entry(struct trace_writer *w, const struct trace_entry *e);

/* The id, from 1 up, of a file's path or a marker's text. A new name is written as an entry. The
 * names of a trace need as much memory as a struct trace_names. */
uint32_t trace_writer_name(struct trace_writer *w, const char *text, size_t bytes);
/* The id of a file. `known` is its size, device, inode and generation. */
uint32_t trace_writer_file(struct trace_writer *w, const char *path, size_t bytes,
			   const uint64_t known[4]);

/* Write buffered records and entries now, as a short chunk if need be. */
void trace_writer_flush(struct trace_writer *w);

/*
 * Write the rest, the index and the end. Frees the writer; the descriptor stays open. `written` may
 * be NULL. 0, or -errno with the first error.
 */
int trace_writer_finish(struct trace_writer *w, struct trace_written *written,
			struct mlgen_err *err);

/* ---- a trace file from records in any order ---- */

/*
 * Importers add entries and records to a trace_fill, which sorts the records by start
 * (trace_internal.h). A trace_fill made by trace_fill_append passes the records on in the order of
 * arrival instead.
 */
struct trace_fill;

struct trace_fill_totals {
	uint64_t records, markers;
	uint32_t files;             /* including the names of markers */
	uint64_t processes, mounts; /* added by trace_fill_entry */
};

/* Write to `fd` as trace_writer_new does; `form` is the source format, such as "csv". */
int trace_fill_new(struct trace_fill **out, int fd, const char *path, const char *form,
		   struct mlgen_err *err);

/* Append to a trace that has begun and has facts already; the writer stays the caller's. */
struct trace_fill *trace_fill_append(struct trace_writer *writer);

/* Add a TRACE_FACT, which holds for the whole trace. */
void trace_fill_fact(struct trace_fill *f, const char *key, const char *value);

/* Add an entry of a process, thread, mount or loss; numbers after the first `count` are unknown.
 * Files are added by trace_fill_name. */
void trace_fill_entry(struct trace_fill *f, enum trace_entry_kind kind, const uint64_t *number,
		      size_t count, const char *text);

/* The id of a file's path, or of the name or text of a marker. */
uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes);

/* Add a record, which is copied. 0, or -errno with err: no space for sorting. */
int trace_fill_add(struct trace_fill *f, const struct trace_record *r, struct mlgen_err *err);

/* The earliest and latest start of the operations added; false = there are none. */
bool trace_fill_span(const struct trace_fill *f, uint64_t *first_ns, uint64_t *last_ns);

/* Totals so far. */
const struct trace_fill_totals *trace_fill_get_totals(const struct trace_fill *f);

/* Write the rest and free the trace_fill, even on error. 0 or -errno with err. */
int trace_fill_finish(struct trace_fill *f, struct trace_fill_totals *filled,
		      struct mlgen_err *err);

/* Free the trace_fill and leave the file incomplete. NULL is fine. */
void trace_fill_abandon(struct trace_fill *f);

/* ---- a reader: the files of one trace as a stream of records and entries ---- */

/*
 * Several files of one run are one trace. They are read one after the other, in the order of their
 * parts, and ids of files are translated to ids of the whole trace. If a later part names the same
 * file again, its entry has the same id.
 *
 * A damaged chunk is skipped and counted; a truncated file is read as far as it goes. A reader
 * needs memory for one chunk.
 */
struct trace_reader;

/* Records and entries of one chunk, owned by the reader and valid until the next call. */
struct trace_batch {
	const struct trace_record *records;
	size_t record_count;
	const struct trace_entry *entries; /* before these records */
	size_t entry_count;
};

struct trace_read {
	uint64_t files, chunks, records, entries, bytes;
	uint64_t damaged_chunks, damaged_bytes; /* skipped */
	uint64_t damaged_records; /* in skipped chunks; known only for files with an end chunk */
	uint64_t lost;            /* lost during recording, as counted in entries and end chunks */
	uint64_t unknown_ops;     /* records with operations of a later version; returned as well */
	unsigned truncated;       /* files without an end chunk */
};

/*
 * 0, or -errno with err: not a trace (such as an empty file), an unsupported version, files of
 * several runs, or a part given twice. The caller owns the paths, which must outlive the reader.
 */
int trace_reader_open(struct trace_reader **out, const char *const *paths, size_t count,
		      struct mlgen_err *err);
/* Read one file that is open for reading, such as an unnamed one. The reader owns the descriptor
 * from now on, even on error; `name` is for messages and is copied. */
int trace_reader_open_fd(struct trace_reader **out, int fd, const char *name,
			 struct mlgen_err *err);
void trace_reader_close(struct trace_reader *r); /* NULL is fine */

/* The head of the first part. */
const struct trace_head *trace_reader_head(const struct trace_reader *r);

/* 1 and *batch, 0 at the end, or -errno with err: a read failed. */
int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct mlgen_err *err);

/* Start again from the first file. 0 or -errno with err. */
int trace_reader_rewind(struct trace_reader *r, struct mlgen_err *err);

/* Totals so far. */
const struct trace_read *trace_reader_totals(const struct trace_reader *r);

/* Are these the first bytes of an mlgen trace, of any version? */
enum { TRACE_MAGIC_BYTES = 8 };
bool trace_is_magic(const void *first, size_t bytes);

/* ---- the source of a replay: a trace, or an fio iolog read as a trace ---- */

/*
 * Open the file that replay_trace= or read_iolog= names: an mlgen trace, recognised by its magic,
 * or an fio iolog (version 2 or 3, plain or gzipped). An iolog is first converted to an unnamed
 * temporary trace, which has the fact import=fio-iolog and is removed with the reader. Messages
 * name `path` in either case. Lines that a trace cannot express are noted on standard error.
 *
 * The caller owns the path, which must outlive the reader. 0, or -errno with err, which names the
 * file and, for an iolog, the line. For another known format the error names the command that
 * converts it.
 */
int trace_source_open(struct trace_reader **out, const char *path, struct mlgen_err *err);

/* ---- all records of a trace by start time, with their names ---- */

/* All records of a trace by start time, for conversions to other formats. Records that do not fit
 * in memory are kept in a temporary file (trace_internal.h), and names in a struct trace_names. */
struct trace_ordered;

/* Read all remaining records of a reader. trace_ordered_name returns the names for the ids in
 * records. 0, or -errno with err, such as -EINTR when a signal arrives. */
int trace_ordered_read(struct trace_ordered **out, struct trace_reader *r, struct mlgen_err *err);
/* Callbacks for trace_ordered_read_filtered; each may be NULL. */
struct trace_ordered_filter {
	/* Returns whether to keep this record, whose ids are still the ids of the reader. */
	bool (*keeps)(void *arg, const struct trace_record *r);
	/* Called for each entry. For a file, `id` is the id for trace_ordered_name. */
	void (*told)(void *arg, const struct trace_entry *e, uint32_t id);
	void *arg;
};
int trace_ordered_read_filtered(struct trace_ordered **out, struct trace_reader *r,
				const struct trace_ordered_filter *wants, struct mlgen_err *err);
void trace_ordered_free(struct trace_ordered *o); /* NULL is fine */

/* The next record, valid until the next call. 1, 0 at the end, or -errno with err. */
int trace_ordered_next(struct trace_ordered *o, const struct trace_record **r,
		       struct mlgen_err *err);

/* Path or text of a record's file, "" if it has none; valid until the next call with `o`. */
const char *trace_ordered_name(const struct trace_ordered *o, uint32_t file, size_t *bytes);
/* The number of names. Their ids run from 1 to this number. */
uint32_t trace_ordered_names(const struct trace_ordered *o);

/* ---- input: the text of a file or a pipe, by bytes or by lines, with line numbers ---- */

/*
 * Input is read once, front to back, in blocks: it may be a pipe, and memory does not grow with it.
 * A byte order mark at the beginning is skipped and a NUL byte is an error, unless the caller sets
 * is_binary after opening. A call that waits returns -EINTR when a signal arrives (thread.h).
 *
 * A gzip file, of any number of members, is read as the text in it. It is recognised by its first
 * bytes, not by its name. A damaged file yields the text before the damage, then -EINVAL. A
 * truncated file yields its whole lines, and trace_input_close prints a warning. A truncated file
 * without any text yields -EINVAL.
 */
struct trace_gunzip;

struct trace_input {
	int fd;
	bool owns_fd;
	const char *name; /* for messages; the caller's */
	uint64_t line;    /* line of the next byte, from 1 */
	char *buffer;
	size_t at, end;
	bool is_begun;
	bool is_binary;              /* set by the caller: the input may contain any bytes */
	bool only_looks;             /* set by the caller: no warnings on close */
	bool is_cut_off;             /* the end of a truncated gzip file was reached */
	struct trace_gunzip *gunzip; /* NULL: not compressed */
};

/* Limit of a line and of a row, in bytes. */
#define TRACE_INPUT_LINE_MAX (1u << 20)

/* Open a file, or standard input for "-". A directory is an error. 0 or -errno with err. */
int trace_input_open(struct trace_input *in, const char *path, struct mlgen_err *err);
/* Read from a descriptor, which stays the caller's. */
void trace_input_init(struct trace_input *in, int fd, const char *name);
void trace_input_close(struct trace_input *in); /* accepts a zeroed struct */

/* Make sure that bytes are left at in->buffer + in->at, up to in->end. 1, 0 at the end of the text,
 * or -errno with err. */
int trace_input_more(struct trace_input *in, struct mlgen_err *err);

/*
 * Read the next line, without its newline and a carriage return before it. *is_cut: the last line
 * has no newline; such a line of a truncated gzip file is dropped. 1, 0 at the end, or -errno with
 * err.
 */
int trace_input_line(struct trace_input *in, struct buf *line, bool *is_cut, struct mlgen_err *err);

/* Set err to "FILE:LINE: ..." and return -EINVAL. */
__attribute__((format(printf, 4, 5))) int trace_input_fail(const struct trace_input *in,
							   uint64_t line, struct mlgen_err *err,
							   const char *fmt, ...);

/* ---- traces as comma-separated values ---- */

/*
 * Each record and marker is a row, by start time; mlgen-trace(5) describes the columns. An unknown
 * value is an empty cell. Processes, mounts, losses and facts have no rows.
 */
#define TRACE_CSV_HEADER                                                                           \
	"start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_"                      \
	"ns,flags"

/* Write a header and the rest of `o`. If writing to the stream fails, the function stops early
 * without an error: the caller must check the stream. 0 or -errno with err. */
int trace_csv_write(struct trace_ordered *o, FILE *to, struct mlgen_err *err);

/* Remarks on a CSV file that was read. A zeroed struct is empty. */
struct trace_csv_read {
	struct buf ignored; /* unknown columns, separated by commas */
	bool is_cut;        /* the last line has no newline */
	bool has_phases;    /* the phase column has names, but the file has no markers */
};

/* Add all rows to `to`. 0, or -errno with err, which names file and line. */
int trace_csv_read(struct trace_input *in, struct trace_fill *to, struct trace_csv_read *what,
		   struct mlgen_err *err);
void trace_csv_read_fini(struct trace_csv_read *what);

/* ---- traces as fio's iolog ---- */

/* Limit of a transfer in bytes. fio's lengths have 32 bits, so a transfer that exceeds them is
 * split; a transfer of exactly this size takes about a thousand lines. */
#define TRACE_IOLOG_BYTES_MAX (UINT64_C(1) << 40)

/*
 * fio's iolog has opens and closes of files, reads and writes with offset and length, and syncs. A
 * path has at most 256 bytes and no white space, a length has 32 bits. A line of version 3 begins
 * with a time in microseconds; version 2 has wait lines instead.
 */

/* fio does not read longer names. */
enum { TRACE_IOLOG_NAME_MAX = 256 };

/* Counts of records that an iolog cannot express. A zeroed struct is empty. */
struct trace_iolog_omitted {
	uint64_t files;    /* files with a name that fio cannot read */
	uint64_t of_files; /* operations on these files */
	struct buf first;  /* the first such name */
	uint64_t markers;
	uint64_t others;   /* operations unknown to fio */
	uint64_t failed;   /* operations that failed or moved no byte */
	uint64_t unplaced; /* file or offset unknown */
	uint64_t too_long; /* more than TRACE_IOLOG_BYTES_MAX bytes */
	uint64_t nested;   /* opens of an open file and closes that leave it open */
};

/*
 * Write the rest of `o` as version 3. Lengths are the bytes that were moved. Each file is opened
 * once in the log, at its first open or use, and closed at its last close. If writing to the stream
 * fails, the function stops early without an error: the caller must check the stream. 0 or -errno
 * with err.
 */
int trace_iolog_write(struct trace_ordered *o, FILE *to, struct trace_iolog_omitted *left,
		      struct mlgen_err *err);
/* Log the counts as a warning and notes, each with the prefix `before`. */
void trace_iolog_omitted_log(const struct trace_iolog_omitted *left, const char *before);
void trace_iolog_omitted_fini(struct trace_iolog_omitted *left);

/* Are these the first bytes of an fio iolog, of any version? */
enum { TRACE_IOLOG_FIRST_BYTES = sizeof("fio version 3 iolog") - 1 };
bool trace_iolog_is(const char *first, size_t bytes);

struct trace_iolog_read {
	unsigned version;
	uint64_t waits; /* wait lines, in version 2 */
	uint64_t trims; /* trims, which a trace cannot express */
	bool is_cut;    /* the last line has no newline */
};

/*
 * Add all lines of version 2 or 3 to `to`. As in fio's code, the number in a wait line is the time
 * at which the wait ends, in milliseconds since the beginning of the log. 0, or -errno with err,
 * which names file and line.
 */
int trace_iolog_read(struct trace_input *in, struct trace_fill *to, struct trace_iolog_read *what,
		     struct mlgen_err *err);

/* Log notes on lines that were reinterpreted or left out; `name` is the name of the iolog. */
void trace_iolog_log_notes(const char *name, const struct trace_iolog_read *what);
