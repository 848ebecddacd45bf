/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_distil.c - any records as a trace, a pattern of them for file after file: a job comes of it,
 * or words. */
#include "trace_rig.h"

#include <stdlib.h>

#include "tracing/distil/distil.h"
#include "trace/trace.h"

/* Of the input: what all of it is, and then a record each. */
#define HEAD_BYTES 4u
#define PIECE_BYTES 12u
/* So few records are distilled in a millisecond or two. */
#define RECORDS_MOST 4000u

static const char *const endings[] = { "npz", "npy",      "bin", "pt",       "csv",
				       "idx", "tfrecord", "py",  "label.npy" };
enum { ENDINGS = sizeof(endings) / sizeof(*endings), FILES = 40 };

static const char *const others[] = { "/usr/lib/libtorch.so", "/ckpt/rank_0.pt", "/ckpt/tmp",
				      "checkpoint", "eval" };
enum { OTHERS = sizeof(others) / sizeof(*others) };

/* Calls, pages and markers that say the most; any other by its number. */
static const uint8_t ops[] = { TRACE_OPEN,   TRACE_READ,   TRACE_READ,  TRACE_CLOSE,  TRACE_STAT,
			       TRACE_WRITE,  TRACE_FSYNC,  TRACE_MMAP,  TRACE_MUNMAP, TRACE_FAULT,
			       TRACE_RENAME, TRACE_UNLINK, TRACE_FORK,  TRACE_EXIT,   TRACE_SAMPLE,
			       TRACE_STEP,   TRACE_EPOCH,  TRACE_STAGE, TRACE_COMPUTE };

struct scene {
	unsigned repeats, stride, tasks, ending;
	uint64_t now;
};

static uint64_t number(uint8_t mantissa, uint8_t shift)
{
	return shift == 255 ? TRACE_UNKNOWN : (uint64_t)mantissa << shift % 64;
}

/* b[0]: op; 1: whose; 2: file; 3 and 4: time since the one before; 5, 6 off; 7, 8 length; 9, 10
 * duration; 11 flags and result. */
static struct trace_record record_of(struct scene *s, const uint8_t *b, unsigned turn)
{
	uint64_t len = number(b[7], b[8]);
	uint32_t file =
		b[2] < 200 ? 1 + (b[2] + turn * s->stride) % FILES : b[2] % (FILES + OTHERS + 2);

	s->now += (uint64_t)b[3] << b[4] % 32;
	return (struct trace_record){
		.start_ns = b[4] == 255 ? number(b[3], b[11]) : s->now,
		.duration_ns = number(b[9], b[10] == 255 ? 255 : b[10] % 24),
		.off = number(b[5], b[6]),
		.len_bytes = len,
		.result = b[11] & 1   ? (int64_t)len
			  : b[11] & 2 ? (int64_t)number(b[5], b[6])
				      : (b[11] & 4) - 4,
		.cpu_ns = b[11] & 8 ? b[9] : TRACE_UNKNOWN,
		.pid = 1 + (b[1] + turn) % s->tasks % 4,
		.tid = 1 + (b[1] + turn) % s->tasks,
		.file = file,
		.op = b[0] < 250 ? ops[b[0] % sizeof(ops)] : b[3],
		.flags = b[11] >> 4,
	};
}

static void add_entry(struct trace_writer *w, unsigned kind, const char *text)
{
	trace_writer_entry(
		w, &(struct trace_entry){ .kind = kind, .text = text, .text_bytes = strlen(text) });
}

static void add_names(struct trace_writer *w, const struct scene *s)
{
	char name[64];

	add_entry(w, TRACE_FACT, "host=one");
	add_entry(w, TRACE_FACT, "command=train \\ \n[x]");
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "/none/data/img_%u_of_%u.%s", i, FILES,
			 endings[s->ending]);
		MUST(trace_writer_name(w, name, strlen(name)));
	}
	for (unsigned i = 0; i < OTHERS; i++)
		MUST(trace_writer_name(w, others[i], strlen(others[i])));
}

static void make_trace(int fd, struct scene *s, const uint8_t *data, size_t size)
{
	static const struct trace_head head = { .part = 0 };
	struct mlgen_err err = { 0 };
	struct trace_written written;
	struct trace_writer *w;
	size_t pieces = size / PIECE_BYTES, count = 0;

	MUST(trace_writer_new(&w, fd, "t", &head, &err) == 0);
	add_names(w, s);
	for (unsigned turn = 0; turn < s->repeats; turn++)
		for (size_t i = 0; i < pieces && count < RECORDS_MOST; i++, count++) {
			struct trace_record r = record_of(s, data + i * PIECE_BYTES, turn);

			trace_writer_record(w, &r);
		}
	MUST(trace_writer_finish(w, &written, &err) == 0);
}

/* Of side files; gone when the target ends. */
static char folder[64];

static void clear(void)
{
	static const char *const sides[] = { "sizes", "calls", "tensors" };
	char path[96];

	for (unsigned i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		snprintf(path, sizeof(path), "%s/j.%s", folder, sides[i]);
		unlink(path);
	}
}

static void leave(void)
{
	clear();
	rmdir(folder);
}

static void make_folder(void)
{
	if (*folder)
		return;
	strcpy(folder, "/tmp/fuzz_distil.XXXXXX");
	MUST(mkdtemp(folder));
	atexit(leave);
}

static void distil(const char *path)
{
	const struct distil_ask ask = {
		.paths = &path, .path_count = 1, .side_folder = folder, .side_name = "j"
	};
	struct mlgen_err err = { 0 };
	char *text = NULL;
	size_t bytes;
	FILE *to;

	int rc;

	to = open_memstream(&text, &bytes);
	MUST(to);
	rc = distil_trace(to, &ask, &err);
	fclose(to);
	MUST(rc < 0 ? *err.text && !bytes : strstr(text, "\n[") != NULL);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	struct scene s;
	char path[32];

	if (size < HEAD_BYTES)
		return 0;
	s = (struct scene){ .repeats = 1 + data[0] % 128u,
			    .stride = data[1] % 8u,
			    .tasks = 1 + data[2] % 12u,
			    .ending = data[3] % ENDINGS,
			    .now = 1000 };
	make_folder();
	make_trace(rig_file(&file), &s, data + HEAD_BYTES, size - HEAD_BYTES);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	distil(path);
	clear();
	return 0;
}
