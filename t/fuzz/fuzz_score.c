/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_score.c - any records as two traces: their score is in numbers, or refused in words. */
#include "trace_rig.h"

#include <math.h>

#include "report/document/document.h"
#include "tracing/score/score.h"
#include "trace/trace.h"

/* Of the input, a record. */
#define PIECE_BYTES 16u

static const char *const names[] = { "/data/a", "/data/b", "/usr/c", "train", "eval", "pipe:[1]" };
enum { NAMES = sizeof(names) / sizeof(*names) };

/* Any number of bits from few: what is out of all bounds, too. */
static uint64_t number(uint8_t mantissa, uint8_t shift)
{
	return shift == 255 ? TRACE_UNKNOWN : (uint64_t)mantissa << shift % 64;
}

static struct trace_record record_of(const uint8_t *b)
{
	return (struct trace_record){
		.start_ns = number(b[0], b[1]),
		.duration_ns = number(b[2], b[3]),
		.off = number(b[4], b[5]),
		.len_bytes = number(b[6], b[7]),
		.result = (int64_t)number(b[8], b[9]),
		.pid = b[10] % 4,
		.tid = b[11] % 8,
		/* One without a name, too. */
		.file = b[12] % (NAMES + 2),
		.op = b[13],
		.flags = (uint16_t)(b[14] << 8 | b[15]),
	};
}

static void add_fact(struct trace_writer *w, unsigned kind, const char *text)
{
	trace_writer_entry(
		w, &(struct trace_entry){ .kind = kind, .text = text, .text_bytes = strlen(text) });
}

/* What is cut off its end is as if the program had been killed. */
static void make_trace(int fd, const uint8_t *data, size_t size, uint8_t cut)
{
	static const struct trace_head head = { .part = 0 };
	struct mlgen_err err = { 0 };
	struct trace_written written;
	struct trace_writer *w;

	MUST(trace_writer_new(&w, fd, "t", &head, &err) == 0);
	add_fact(w, TRACE_FACT, "host=one");
	add_fact(w, TRACE_MOUNT, "ext4 /data\\040 /dev/sda1");
	add_fact(w, TRACE_MOUNT, size % 2 ? "ext4 / /dev/sda2" : "");
	for (unsigned i = 0; i < NAMES; i++)
		MUST(trace_writer_name(w, names[i], strlen(names[i])));
	for (; size >= PIECE_BYTES; size -= PIECE_BYTES, data += PIECE_BYTES) {
		struct trace_record r = record_of(data);

		trace_writer_record(w, &r);
	}
	MUST(trace_writer_finish(w, &written, &err) == 0);
	if (cut % 4 == 0)
		MUST(ftruncate(fd, (off_t)(written.bytes - written.bytes * cut / 1024)) == 0);
}

static void check_part(const struct scored_part *p)
{
	MUST(isnan(p->distance) || (p->distance >= 0 && isfinite(p->distance)));
	MUST(isnan(p->distance) == (p->verdict == SCORE_UNKNOWN));
	MUST(isnan(p->distance) || isfinite(p->limit));
	MUST(p->limit >= p->threshold);
}

static void check(const struct scored *s)
{
	const struct scored_phase *phases = s->phases.items;

	MUST(s->phases.count > 0);
	for (size_t i = 0; i < s->phases.count; i++)
		for (size_t k = 0; k < phases[i].parts.count; k++)
			check_part((const struct scored_part *)phases[i].parts.items + k);
}

static void score(const char *const *paths, size_t count, bool is_same)
{
	struct mlgen_err err = { 0 };
	struct score d;
	size_t bytes;
	char *text;
	FILE *to;

	if (score_traces(&d, paths, paths, count, &err) < 0) {
		MUST(*err.text);
		score_fini(&d);
		return;
	}
	check(&d.document.score);
	MUST(!is_same || d.document.score.verdict != SCORE_FAIL);
	to = open_memstream(&text, &bytes);
	MUST(to);
	score_text(to, &d.document.score);
	json_struct(to, scored_fields, &d.document, NULL);
	fclose(to);
	free(text);
	score_fini(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file[2] = { -1, -1 };
	char path[2][32];
	size_t half;

	if (size < 2)
		return 0;
	half = (size - 2) / 2;
	for (unsigned i = 0; i < 2; i++) {
		make_trace(rig_file(&file[i]), data + 2 + i * half, half, data[i]);
		snprintf(path[i], sizeof(path[i]), "/proc/self/fd/%d", file[i]);
	}
	/* Each that is read takes milliseconds. */
	if (data[0] % 2)
		score((const char *const[]){ path[0], path[1] }, 2, false);
	else
		score((const char *const[]){ path[0], path[0] }, 2, true);
	return 0;
}
