/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - the format of traces: read, written, sorted, and made of other formats. */
#pragma once

/*
 * A trace is a file of chunks of records, one for each operation, with names and facts beside them.
 * A reader gives its records in the order of the file or of time; a writer takes them in any order.
 * CSV and fio's iolog are read and written through the same records (struct trace_record). A reader
 * or a writer belongs to one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/record.h"

/* ---- a name of any bytes as printable UTF-8, and exactly back ---- */

/* Append it: control characters (those of Unicode, too) and bytes that are no UTF-8 as \xHH each, a
 * backslash as two of them. */
void trace_text_put(struct buf *out, const char *s, size_t bytes);

/* The way back, in its place; *bytes becomes less. NULL, or where what stands behind a backslash is
 * no such escape. */
const char *trace_text_take(char *s, size_t *bytes);

/* ---- whole numbers as digits, of which a trace as text has ten million ---- */

/* The digits there, and nothing else, as a number of at most `most`. NULL, or what is wrong, to
 * stand behind the text: "is negative". */
const char *trace_number_take(const char *s, size_t bytes, uint64_t most, uint64_t *out);
/* The same with a sign that may be. */
const char *trace_number_take_signed(const char *s, size_t bytes, int64_t *out);

void trace_number_put(struct buf *out, uint64_t v);
void trace_number_put_signed(struct buf *out, int64_t v);

/* ---- names and their ids, 1 and up, of which there may be many millions ---- */

/*
 * A name costs its bytes and about 40 more. What is beyond 64 MiB of either, which is a million
 * names and more, lies in files without a name that the kernel writes out when it needs the room
 * (base/files.h).
 */
struct trace_names;

struct trace_names *trace_names_new(void);
void trace_names_free(struct trace_names *n); /* NULL is fine */

/* Its id; *is_new (may be NULL) says whether it was not there before. */
uint32_t trace_names_id(struct trace_names *n, const char *name, size_t bytes, bool *is_new);

/* The same without making it known; 0 = it is not. */
uint32_t trace_names_find(const struct trace_names *n, const char *name, size_t bytes);

/* 0-terminated, until the next trace_names_id; NULL = no such id. */
const char *trace_names_text(const struct trace_names *n, uint32_t id, size_t *bytes);

uint32_t trace_names_count(const struct trace_names *n);

/* ---- which part of a run a time belongs to, by the markers of the trace ---- */

/*
 * Of a checkpoint, or a stage, its name; of several the one that began last. Where neither holds,
 * the number of the epoch. Markers of several ranks that say the same are one. A marker whose end
 * was not seen holds to the end.
 */
enum { TRACE_PHASES = 64 }; /* at one time; of more the last to end count */

struct trace_phase {
	uint64_t start_ns, end_ns;
	uint64_t number;
	uint32_t file;
	uint16_t op;
};

struct trace_phases {
	struct trace_phase held[TRACE_PHASES];
	unsigned count;
	uint64_t until_ns; /* the first of them ends */
	const struct trace_phase *now;
};

/* Was the end of the marker not seen? */
bool trace_phase_is_open(const struct trace_record *marker);

/*
 * Records come by their start, of the same one phases first (trace_internal.h). What holds at this
 * one's start, markers among them; NULL = nothing does. Until the next call. A zeroed struct has
 * seen none.
 */
const struct trace_phase *trace_phase_at(struct trace_phases *p, const struct trace_record *r);

/* ---- a trace file, byte by byte: mlgen-trace(5) has the same ---- */

/*
 * A file head, then chunks, each behind the other at a multiple of 8: records, entries, parts of
 * the index; the last one is the end. All numbers are little endian, checksums are CRC-32 as zlib
 * has it. A reader passes over chunks of a kind that it does not know.
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
	uint32_t crc;          /* of all before it */
	uint64_t reserved;     /* 0 */
};

enum trace_chunk_kind {
	TRACE_CHUNK_RECORDS = 1, /* struct trace_record */
	TRACE_CHUNK_ENTRIES = 2, /* struct trace_stored_entry */
	TRACE_CHUNK_INDEX = 3,   /* struct trace_index_entry */
	TRACE_CHUNK_END = 4,     /* struct trace_end; not compressed */
};

enum { TRACE_CHUNK_IS_ZSTD = 1 }; /* else it is as it is */

struct trace_chunk_head {
	uint32_t magic;
	uint16_t kind, flags;
	uint32_t number;                  /* of the chunk, from 0 */
	uint32_t count;                   /* of what is in it */
	uint32_t raw_bytes, packed_bytes; /* without what fills up to 8 */
	uint64_t first_ns, last_ns;       /* records: least start, greatest end */
	uint32_t packed_crc;
	uint32_t crc; /* of all before it */
};

/* Then its text with a 0, and zeros up to a multiple of 8. */
struct trace_stored_entry {
	uint32_t kind, text_bytes;
	uint64_t number[TRACE_NUMBERS];
};

/* A part has at most TRACE_INDEX_ENTRIES; the first of them is the part before it, or the file head
 * (off 0) where there is none. */
struct trace_index_entry {
	uint64_t off; /* of the chunk's head in the file */
	uint64_t first_ns, last_ns;
	uint32_t kind, count;
};

struct trace_end {
	uint64_t records, entries, chunks; /* before the end itself */
	uint64_t lost;                     /* sum of TRACE_LOST, and what an error cost */
	uint64_t index_off;                /* of the last part of the index; 0 = none */
	uint64_t bytes;                    /* of the whole file */
};

enum {
	TRACE_CHUNK_RECORD_COUNT = 32768,
	TRACE_CHUNK_ENTRY_BYTES = 1 << 20,
	TRACE_CHUNK_RAW_MOST = 4 << 20, /* that any chunk has */
	TRACE_INDEX_ENTRIES = 4096,
	TRACE_TEXT_MOST = 64 << 10, /* of an entry; what is longer is cut */
};

/* In place, to or from little endian: nothing to do on most machines. */
void trace_swap_records(struct trace_record *r, size_t count);
void trace_swap_entry(struct trace_stored_entry *e);
void trace_swap_end(struct trace_end *e);

/* In the form of a file, with magic numbers and checksums. */
void trace_put_file_head(struct trace_file_head *to, const struct trace_head *head);
void trace_put_chunk_head(struct trace_chunk_head *h);

/* 0; -EINVAL: no trace; -EPROTONOSUPPORT: of version *version; -EBADMSG: it is damaged. */
int trace_get_file_head(struct trace_head *to, const struct trace_file_head *h, uint32_t *version);
/* Turned to this machine's order. False: no chunk head, or a damaged one. */
bool trace_get_chunk_head(struct trace_chunk_head *h);

uint32_t trace_crc(const void *bytes, size_t count);

/* ---- a trace file as a stream: entries and records in, compressed chunks out ---- */

/*
 * One thread owns a writer. It keeps a chunk of records and one of entries in memory, whatever the
 * trace's length; the index goes out in parts, too.
 *
 * An error stays: what follows is counted as lost, and the file is cut back to its last whole
 * chunk, so that it can be read as far as it goes. The caller goes on and learns it at the end.
 */
struct trace_writer;

struct trace_written {
	uint64_t records, entries, chunks, bytes;
	uint64_t lost; /* that were handed over and could not be written */
};

/*
 * Write to the descriptor, from its start; it is the caller's, open for writing, and empty; `path`
 * is for messages. 0 or -errno with err.
 */
int trace_writer_new(struct trace_writer **out, int fd, const char *path,
		     const struct trace_head *head, struct mlgen_err *err);

/* Copied. Neither fails: see above. */
void trace_writer_record(struct trace_writer *w, const struct trace_record *r);
void trace_writer_entry(struct trace_writer *w, const struct trace_entry *e);

/* A file's path, or a marker's text: its id, which is 1 or more; written when it is new. See
 * trace.h for what that takes. */
uint32_t trace_writer_name(struct trace_writer *w, const char *text, size_t bytes);
/* The same, of which more is known: size, device, inode, generation. */
uint32_t trace_writer_file(struct trace_writer *w, const char *path, size_t bytes,
			   const uint64_t known[4]);

/* What there is goes out now, as a chunk that may be short. */
void trace_writer_flush(struct trace_writer *w);

/*
 * Everything out, index and end behind it. 0, or -errno with err of the first error. Frees the
 * writer, not the descriptor. `written` may be NULL.
 */
int trace_writer_finish(struct trace_writer *w, struct trace_written *written,
			struct mlgen_err *err);

/* ---- a trace file made of records that come in any order ---- */

/*
 * What the importers fill. Records are sorted by their start (trace_internal.h), but for one over a
 * writer, where they go as they come.
 */
struct trace_fill;

struct trace_filled {
	uint64_t records, markers;
	uint32_t files;             /* with names of markers */
	uint64_t processes, mounts; /* told by trace_fill_entry */
};

/* As trace_writer_new; `form` is what the trace comes from, such as "csv". */
int trace_fill_new(struct trace_fill **out, int fd, const char *path, const char *form,
		   struct mlgen_err *err);

/* Over a trace that is written already, and stays the caller's, with facts of its own. */
struct trace_fill *trace_fill_over(struct trace_writer *writer);

/* What holds for all of the trace, as TRACE_FACT. */
void trace_fill_fact(struct trace_fill *f, const char *key, const char *value);

/* Of a process, a thread, a mount or what was lost: numbers behind the first `count` are not known.
 * Of files see below. */
void trace_fill_entry(struct trace_fill *f, enum trace_entry_kind kind, const uint64_t *number,
		      size_t count, const char *text);

/* Its id; a path of a file, or the name or text of a marker. */
uint32_t trace_fill_name(struct trace_fill *f, const char *name, size_t bytes);

/* Copied. 0, or -errno with err: no room to sort them. */
int trace_fill_add(struct trace_fill *f, const struct trace_record *r, struct mlgen_err *err);

/* When operations began, first and last, of what was added; false = none was. */
bool trace_fill_span(const struct trace_fill *f, uint64_t *first_ns, uint64_t *last_ns);

/* What is in it by now. */
const struct trace_filled *trace_fill_look(const struct trace_fill *f);

/* Everything out. 0 or -errno with err; frees it in either case. */
int trace_fill_finish(struct trace_fill *f, struct trace_filled *filled, struct mlgen_err *err);

/* What is in the file is of no use then. NULL is fine. */
void trace_fill_abandon(struct trace_fill *f);

/* ---- the files of one trace as a stream of records and entries ---- */

/*
 * Several files of one run are one trace: they are read one after the other, in the order of their
 * parts, and ids of files are made those of the whole (the entry that names one comes again with
 * its new id).
 *
 * A chunk that is damaged is skipped and counted, never guessed at; a file that ends early is read
 * as far as it goes. Memory is that of a chunk.
 */
struct trace_reader;

/* What a call of trace_reader_next brings; the reader's, until the next call. */
struct trace_batch {
	const struct trace_record *records;
	size_t record_count;
	const struct trace_entry *entries; /* before these records */
	size_t entry_count;
};

struct trace_read {
	uint64_t files, chunks, records, entries, bytes;
	uint64_t damaged_chunks, damaged_bytes; /* skipped */
	uint64_t damaged_records;               /* in them, of files that have their end */
	uint64_t lost;                          /* when it was recorded, as entries and ends say */
	uint64_t unknown_ops;                   /* records of a later version; they are given */
	unsigned truncated;                     /* files without an end */
};

/*
 * 0, or -errno with err: no trace, of another version, files of several runs, the same part twice.
 * A file that is empty is no trace. The paths are the caller's, and are needed as long as the
 * reader is.
 */
int trace_reader_open(struct trace_reader **out, const char *const *paths, size_t count,
		      struct mlgen_err *err);
/* The same of one file that is open for reading, such as one without a name. The descriptor is the
 * reader's from here on, whatever comes of it; `name` is for messages, and copied. */
int trace_reader_from(struct trace_reader **out, int fd, const char *name, struct mlgen_err *err);
void trace_reader_close(struct trace_reader *r); /* NULL is fine */

/* Of the first part. */
const struct trace_head *trace_reader_head(const struct trace_reader *r);

/* 1 and *batch, 0 at the end, or -errno with err: a read failed. */
int trace_reader_next(struct trace_reader *r, struct trace_batch *batch, struct mlgen_err *err);

/* Begin anew, from the first file. 0 or -errno with err. */
int trace_reader_rewind(struct trace_reader *r, struct mlgen_err *err);

/* So far. */
const struct trace_read *trace_reader_read(const struct trace_reader *r);

/* Of the first so many bytes of a file: is it a trace of mlgen's, be it of another version? */
enum { TRACE_MAGIC_BYTES = 8 };
bool trace_is_magic(const void *first, size_t bytes);

/* ---- what is to be replayed, as a trace, be it a trace or a log of fio's ---- */

/*
 * Open what replay_trace= or read_iolog= names: a trace of mlgen's, by its magic, or a log of fio's
 * (version 2 or 3, also as a gzip file), which becomes a trace in a temporary file without a name
 * first. That one goes with the reader, has the fact import=fio-iolog, and the path where messages
 * name it. What a trace cannot have of the log is noted on standard error.
 *
 * The path is the caller's, and is needed as long as the reader is. 0, or -errno with err, which
 * has file and, of a log, line; what is neither is named with what makes a trace of it.
 */
int trace_source_open(struct trace_reader **out, const char *path, struct mlgen_err *err);

/* ---- all records of a trace by their start, with the names they speak of ---- */

/*
 * What another form of a trace is written from. Records that memory has no room for are in a
 * temporary file (trace_internal.h), names as trace.h says.
 */
struct trace_ordered;

/* Read all that is left of a reader; ids are those of trace_ordered_name from here on. 0, or -errno
 * with err: such as -EINTR of a signal that comes now. */
int trace_ordered_read(struct trace_ordered **out, struct trace_reader *r, struct mlgen_err *err);
/* The same for who wants more. Each may be NULL. */
struct trace_ordered_wants {
	/* Is this record to be kept? Its ids are still those of the reader. */
	bool (*keeps)(void *arg, const struct trace_record *r);
	/* An entry, as it comes; of a file, `id` is that of trace_ordered_name. */
	void (*told)(void *arg, const struct trace_entry *e, uint32_t id);
	void *arg;
};
int trace_ordered_read_some(struct trace_ordered **out, struct trace_reader *r,
			    const struct trace_ordered_wants *wants, struct mlgen_err *err);
void trace_ordered_free(struct trace_ordered *o); /* NULL is fine */

/* The next one, until the next call. 1, 0 = that was all, or -errno with err. */
int trace_ordered_next(struct trace_ordered *o, const struct trace_record **r,
		       struct mlgen_err *err);

/* Path or text of a record's file; "" where it has none. Until the next call of any of these. */
const char *trace_ordered_name(const struct trace_ordered *o, uint32_t file, size_t *bytes);
/* Ids are from 1 to this. */
uint32_t trace_ordered_names(const struct trace_ordered *o);

/* ---- the text of a file or a pipe, byte by byte or by lines, with the line that it is at ---- */

/*
 * It is read from front to back in blocks, so that any pipe will do and memory does not grow with
 * it. A byte order mark at its beginning is no part of it, and a byte of zero, which no text has,
 * is refused, unless it is_binary, which is said when it is open. Signals are looked at (thread.h)
 * while it waits: then a call gives -EINTR.
 *
 * A gzip file, of any number of members, is the text that is in it; what it is follows from its
 * first bytes, and not from its name. Where it is damaged the text up to there comes first, and
 * then -EINVAL. Where it is cut off the text ends with its last whole line, and closing warns of
 * that; nothing at all is -EINVAL.
 */
struct trace_gunzip;

struct trace_input {
	int fd;
	bool owns_fd;
	const char *name; /* for messages; the caller's */
	uint64_t line;    /* from 1: that the next byte is on */
	char *buffer;
	size_t at, end;
	bool is_begun;
	bool is_binary;              /* no text: all bytes are its own */
	bool only_looks;             /* somebody else reads it, and is warned */
	bool is_cut_off;             /* the gzip file was, and it is over */
	struct trace_gunzip *gunzip; /* NULL: it is the text itself */
};

/* No line, and no row, may have more bytes than this. */
#define TRACE_INPUT_LINE_MAX (1u << 20)

/* "-" is standard input. A directory is refused. 0 or -errno with err. */
int trace_input_open(struct trace_input *in, const char *path, struct mlgen_err *err);
/* What a descriptor has, which stays the caller's. */
void trace_input_from(struct trace_input *in, int fd, const char *name);
void trace_input_close(struct trace_input *in); /* takes a zeroed one */

/* There are more bytes at in->buffer + in->at, up to in->end: 1, 0 = the text is over, or -errno
 * with err. */
int trace_input_more(struct trace_input *in, struct mlgen_err *err);

/*
 * The next line, without its end (a newline, or one behind a return), which is missing only of the
 * last one: *is_cut. Such a line of a gzip file that is cut off does not come. Other returns stay.
 * 1, 0 = there is none, or -errno with err.
 */
int trace_input_line(struct trace_input *in, struct buf *line, bool *is_cut, struct mlgen_err *err);

/* "FILE:LINE: ..." of -EINVAL, which it gives. */
__attribute__((format(printf, 4, 5))) int trace_input_refuse(const struct trace_input *in,
							     uint64_t line, struct mlgen_err *err,
							     const char *fmt, ...);

/* ---- a trace as comma-separated values, and the way back ---- */

/*
 * A row for each record and marker, by their starts; mlgen-trace(5) says what stands in the
 * columns. What is not known is an empty cell. There is none for processes, mounts, losses and
 * facts.
 */
#define TRACE_CSV_HEADER                                                                           \
	"start_ns,duration_ns,pid,tid,phase,op,file,offset,bytes,result,cpu_"                      \
	"ns,flags"

/* All that is left of `o`, with a header. A stream that fails ends it at once, and nothing is said
 * of that. 0 or -errno with err. */
int trace_csv_write(struct trace_ordered *o, FILE *to, struct mlgen_err *err);

/* What was met on the way, beside records. A zeroed one is empty. */
struct trace_csv_read {
	struct buf ignored; /* columns, with commas between them */
	bool is_cut;        /* the last line has no end */
	bool has_phases;    /* that no marker stands for */
};

/* Everything into `to`. 0, or -errno with err, which has file and line. */
int trace_csv_read(struct trace_input *in, struct trace_fill *to, struct trace_csv_read *what,
		   struct mlgen_err *err);
void trace_csv_read_fini(struct trace_csv_read *what);

/* ---- a trace as the log that fio replays, and the way back ---- */

/* Bytes of a transfer; fio takes 32 bits of them, so that a longer one becomes several: a thousand,
 * and not as many as there are numbers. */
#define TRACE_IOLOG_MOST (UINT64_C(1) << 40)

/*
 * fio's iolog has files that are opened and closed, reads and writes of so many bytes at an offset,
 * and syncs. A path is at most 256 bytes without blanks, a length 32 bits. Version 3 has a time in
 * microseconds at the beginning of each line, version 2 lines that wait.
 */

/* Longer than any name that fio reads. */
enum { TRACE_IOLOG_NAME_MAX = 256 };

/* What could not be said in it. A zeroed one is empty. */
struct trace_iolog_left {
	uint64_t files;    /* whose names it cannot have */
	uint64_t of_files; /* operations on them */
	struct buf first;  /* of those names */
	uint64_t markers;
	uint64_t others;   /* operations that it does not know */
	uint64_t failed;   /* or that moved no byte */
	uint64_t unplaced; /* file or offset is not known */
	uint64_t too_long; /* more than TRACE_IOLOG_MOST */
	uint64_t nested;   /* opens and closes that leave a file as it is */
};

/*
 * Version 3, of all that is left of `o`. Bytes are those that were moved. A file is open once, from
 * its first open, or use, to its last close. A stream that fails ends it at once, and nothing is
 * said of that. 0 or -errno with err.
 */
int trace_iolog_write(struct trace_ordered *o, FILE *to, struct trace_iolog_left *left,
		      struct mlgen_err *err);
/* As a warning and notes, with that in front of each. */
void trace_iolog_left_tell(const struct trace_iolog_left *left, const char *before);
void trace_iolog_left_fini(struct trace_iolog_left *left);

/* Of the first so many bytes of a file: is it a log of fio's, of any version? */
enum { TRACE_IOLOG_FIRST_BYTES = sizeof("fio version 3 iolog") - 1 };
bool trace_iolog_is(const char *first, size_t bytes);

struct trace_iolog_read {
	unsigned version;
	uint64_t waits; /* of version 2 */
	uint64_t trims; /* that no trace has */
	bool is_cut;    /* the last line has no end */
};

/*
 * Version 2 or 3, everything into `to`. A wait is until so many milliseconds from the beginning,
 * which is what fio does. 0, or -errno with err, which has file and line.
 */
int trace_iolog_read(struct trace_input *in, struct trace_fill *to, struct trace_iolog_read *what,
		     struct mlgen_err *err);

/* Notes of what it has, but is not as it stands there; `name` is the log's. */
void trace_iolog_tell(const char *name, const struct trace_iolog_read *what);
