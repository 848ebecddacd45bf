/* SPDX-License-Identifier: Apache-2.0 */
/* maketrace.c - a trace of mlgen's, from a list on standard input or as large as is asked for. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace.h"

/*
 *	maketrace FILE <LIST
 *	maketrace FILE RECORDS FILES		epochs of FILES files, as a loader
 *						of eight workers reads them
 *
 * A line of a list is words with blanks between them; "?" is a number that is
 * not known, "-" no file, \xHH any byte of a name, and what stands behind # is
 * for readers:
 *
 *	run NAME PART WALL_NS CLOCK_NS		first, if at all
 *	fact KEY=VALUE
 *	process PID PARENT COMMAND
 *	thread TID PID TEXT
 *	size FILE BYTES
 *	mount DEVICE TEXT
 *	lost OPERATION EVENTS FIRST_NS LAST_NS TID WHY
 *	flush					the chunk ends here
 *	OPERATION START_NS DURATION_NS PID TID FILE OFF LENGTH RESULT [CPU_NS [FLAGS]]
 *
 * FLAGS is a number, as enum trace_flag has it.
 */

static struct trace_writer *writer;
static struct trace_head head = { .run_id = "maketrace",
				  .wall_ns = UINT64_C(1741964968) * 1000000000 };

static void fail(const char *what, const char *which)
{
	fprintf(stderr, "maketrace: %s: %s\n", what, which);
	exit(2);
}

static struct trace_writer *the_writer(int fd, const char *path)
{
	struct mlgen_err err = { 0 };

	if (!writer && trace_writer_new(&writer, fd, path, &head, &err) < 0)
		fail(path, err.text);
	return writer;
}

/* ---- words ---- */

static char *next_word(char **line)
{
	char *word = strsep(line, " \t");

	while (word && !*word)
		word = strsep(line, " \t");
	if (!word)
		fail("line", "a word is missing");
	return word;
}

static uint64_t number_of(const char *word)
{
	char *end;

	if (strcmp(word, "?") == 0)
		return TRACE_UNKNOWN;
	uint64_t n = strtoull(word, &end, 0);
	if (*end || !*word)
		fail("no number", word);
	return n;
}

static uint64_t next_number(char **line)
{
	return number_of(next_word(line));
}

/* \xHH becomes its byte, in place. */
static size_t unescape(char *word)
{
	char *to = word, hex[3] = "";

	for (const char *from = word; *from; from++) {
		if (from[0] != '\\' || from[1] != 'x' || !from[2]) {
			*to++ = *from;
			continue;
		}
		memcpy(hex, from + 2, 2);
		*to++ = (char)strtol(hex, NULL, 16);
		from += 3;
	}
	*to = '\0';
	return (size_t)(to - word);
}

static uint32_t next_file(struct trace_writer *w, char **line)
{
	char *word = next_word(line);

	if (strcmp(word, "-") == 0)
		return 0;
	size_t bytes = unescape(word);
	return trace_writer_name(w, word, bytes);
}

/* ---- lines ---- */

static void put_entry(struct trace_writer *w, uint32_t kind, uint64_t a, uint64_t b, char *text)
{
	struct trace_entry e = { .kind = kind };

	for (unsigned i = 0; i < TRACE_NUMBERS; i++)
		e.number[i] = TRACE_UNKNOWN;
	e.number[0] = a;
	e.number[1] = b;
	e.text = text ? text : "";
	e.text_bytes = text ? unescape(text) : 0;
	trace_writer_entry(w, &e);
}

static void put_lost(struct trace_writer *w, char **line)
{
	struct trace_entry e = { .kind = TRACE_LOST };

	e.number[0] = trace_op_find(next_word(line));
	for (unsigned i = 1; i < 5; i++)
		e.number[i] = next_number(line);
	e.text = *line ? *line : "";
	e.text_bytes = strlen(e.text);
	trace_writer_entry(w, &e);
}

static void put_size(struct trace_writer *w, char **line)
{
	char *path = next_word(line);
	const uint64_t known[4] = { next_number(line), TRACE_UNKNOWN, TRACE_UNKNOWN,
				    TRACE_UNKNOWN };

	size_t bytes = unescape(path);
	trace_writer_file(w, path, bytes, known);
}

static void put_record(struct trace_writer *w, const char *op, char **line)
{
	struct trace_record r = { .cpu_ns = TRACE_UNKNOWN };

	r.op = (uint16_t)trace_op_find(op);
	if (!r.op && strcmp(op, "unknown") != 0)
		fail("no operation", op);
	if (!r.op)
		r.op = 9999;
	r.start_ns = next_number(line);
	r.duration_ns = next_number(line);
	r.pid = (uint32_t)next_number(line);
	r.tid = (uint32_t)next_number(line);
	r.file = next_file(w, line);
	r.off = next_number(line);
	r.len_bytes = next_number(line);
	r.result = (int64_t)next_number(line);
	if (*line)
		r.cpu_ns = next_number(line);
	if (*line)
		r.flags = (uint16_t)next_number(line);
	trace_writer_record(w, &r);
}

static void put_run(char **line)
{
	memset(head.run_id, 0, sizeof(head.run_id));
	const char *name = next_word(line);
	memcpy(head.run_id, name, strnlen(name, sizeof(head.run_id)));
	head.part = (uint32_t)next_number(line);
	head.wall_ns = next_number(line);
	head.clock_ns = next_number(line);
}

static void put_line(int fd, const char *path, char *line)
{
	line[strcspn(line, "#\n")] = '\0';
	size_t length = strlen(line);
	while (length && strchr(" \t", line[length - 1]))
		line[--length] = '\0';
	if (!length)
		return;
	const char *word = next_word(&line);
	if (strcmp(word, "run") == 0) {
		put_run(&line);
		return;
	}
	struct trace_writer *w = the_writer(fd, path);
	if (strcmp(word, "fact") == 0)
		put_entry(w, TRACE_FACT, 0, 0, line);
	else if (strcmp(word, "flush") == 0)
		trace_writer_flush(w);
	else if (strcmp(word, "lost") == 0)
		put_lost(w, &line);
	else if (strcmp(word, "size") == 0)
		put_size(w, &line);
	else if (strcmp(word, "mount") == 0) {
		uint64_t device = next_number(&line);
		put_entry(w, TRACE_MOUNT, device, TRACE_UNKNOWN, line);
	} else if (strcmp(word, "process") == 0 || strcmp(word, "thread") == 0) {
		uint64_t a = next_number(&line), b = next_number(&line);
		put_entry(w, *word == 'p' ? TRACE_PROCESS : TRACE_THREAD, a, b, line);
	} else {
		put_record(w, word, &line);
	}
}

static void read_list(int fd, const char *path)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0)
		put_line(fd, path, line);
	free(line);
}

/* ---- as large as is asked for ---- */

/* An open, three reads of 128 KiB, the end, and a close, of file after file. */
static void put_many(struct trace_writer *w, uint64_t records, uint64_t files)
{
	static const unsigned char ops[] = { TRACE_OPEN, TRACE_READ, TRACE_READ,
					     TRACE_READ, TRACE_READ, TRACE_CLOSE };
	char path[64];

	for (uint64_t i = 0; i < records; i++) {
		uint64_t visit = i / sizeof(ops), step = i % sizeof(ops);
		uint64_t file = (visit % files * 48271 + visit / files * 7) % files;
		uint32_t worker = (uint32_t)(visit % 8);
		bool is_read = ops[step] == TRACE_READ;
		int n = snprintf(path, sizeof(path), "/data/train/%03" PRIu64 "/img_%08" PRIu64,
				 file / 10000, file);

		trace_writer_record(
			w, &(struct trace_record){ .start_ns = 1000 * i,
						   .duration_ns = 500 + i * 7919 % 1000,
						   .off = is_read ? (step - 1) << 17 : 0,
						   .len_bytes = is_read ? 1 << 17 : 0,
						   .result = is_read && step < 4 ? 1 << 17 : 0,
						   .cpu_ns = 200,
						   .pid = 1000 + worker,
						   .tid = 1000 + worker,
						   .file = trace_writer_name(w, path, (size_t)n),
						   .op = ops[step] });
	}
}

int main(int argc, char **argv)
{
	struct mlgen_err err = { 0 };

	if (argc != 2 && argc != 4)
		fail("usage", "maketrace FILE [RECORDS FILES]");
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(argv[1], "cannot be made");
	if (argc == 4)
		put_many(the_writer(fd, argv[1]), number_of(argv[2]), number_of(argv[3]));
	else
		read_list(fd, argv[1]);
	if (trace_writer_finish(the_writer(fd, argv[1]), NULL, &err) < 0)
		fail(argv[1], err.text);
	return close(fd) < 0;
}
