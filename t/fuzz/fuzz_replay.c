/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_replay.c - any records as what is to be replayed: refused, or each operation of one worker,
 * in turn. */
#include "trace_rig.h"

#include "work/replay/replay_internal.h"

/* A record is made of so many bytes of the input. */
#define PIECE_BYTES 16u
#define NAMES 12u

static const uint8_t ops[] = {
	TRACE_OPEN,     TRACE_CLOSE,    TRACE_STAT,  TRACE_READ,  TRACE_WRITE, TRACE_FSYNC,
	TRACE_RENAME,   TRACE_UNLINK,   TRACE_MKDIR, TRACE_RMDIR, TRACE_FAULT, TRACE_MMAP,
	TRACE_ALLOCATE, TRACE_GETDENTS, TRACE_STEP,  TRACE_FORK,
};

/* Small numbers, so that files, threads and times meet; and some of the largest. */
static uint64_t number(uint8_t b)
{
	return b > 250 ? UINT64_MAX - (255u - b) : b;
}

static void put(struct trace_writer *w, const uint8_t *p, const uint32_t *names)
{
	struct trace_record r = { .op = ops[p[0] % sizeof(ops)],
				  .start_ns = number(p[1]) * (1u + p[2] % 4u),
				  .duration_ns = number(p[3]),
				  .off = number(p[4]),
				  .len_bytes = number(p[5]) << (p[6] % 34),
				  .result = (int8_t)p[7],
				  .pid = p[8] % 3u,
				  .tid = p[9] % 9u,
				  .file = p[10] ? names[p[10] % NAMES] : 0 };

	if (r.op == TRACE_RENAME)
		r.off = p[11] ? names[p[11] % NAMES] : p[12];
	trace_writer_record(w, &r);
}

static void write_trace(int fd, const uint8_t *data, size_t size)
{
	static const char *const paths[NAMES] = {
		"a", "b",      "/a/b",     "a/../b", "../../c", "/",
		".", "/usr/x", "/dev/sda", "d/e/f",  "d/e",     "line\nbreak",
	};
	const struct trace_head head = { .run_id = "a run" };
	struct mlgen_err err = { 0 };
	struct trace_writer *w;
	uint32_t names[NAMES];

	MUST(trace_writer_new(&w, fd, "t", &head, &err) == 0);
	for (unsigned i = 0; i < NAMES; i++)
		names[i] = trace_writer_name(w, paths[i], strlen(paths[i]));
	for (; size >= PIECE_BYTES; size -= PIECE_BYTES, data += PIECE_BYTES)
		put(w, data, names);
	MUST(trace_writer_finish(w, NULL, &err) == 0);
}

/* Those of a thread come by their start, with fewer under way than there is room for; the sum over
 * all is what was counted. */
static void check_worker(const struct replay_ops *o, unsigned worker, uint64_t *count,
			 uint64_t *turns)
{
	struct replay_cursor *c = replay_cursor_new(o, worker);
	const struct replay_op *op;
	struct mlgen_err err = { 0 };
	uint64_t last = 0;

	while (replay_cursor_next(c, &op, &err) > 0) {
		MUST(op->start_ns >= last);
		MUST(op->start_ns <= o->span_ns);
		MUST(op->in_flight < o->depth);
		MUST(op->turn_in_flight <= op->turn);
		last = op->start_ns;
		++*count;
		*turns += op->turn;
	}
	MUST(!err.code);
	replay_cursor_free(c);
}

static void check(const struct replay_ops *o)
{
	uint64_t count = 0, turns = 0;

	for (unsigned w = 0; w < o->workers; w++)
		check_worker(o, w, &count, &turns);
	MUST(count == o->operations);
	/* Each turn was given once. */
	if (o->job->replay_order == REPLAY_GLOBAL)
		MUST(turns == count * (count - 1) / 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int file = -1;
	char path[32];
	struct job job = { .directory = path, .replay_speed = 1 };
	struct replay_files files;
	struct replay_ops o;
	struct mlgen_err err = { 0 };

	if (size < 2)
		return 0;
	rig_file(&file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	job.replay_trace = path;
	job.replay_order = data[0] % 3;
	job.replay_threads = data[1] % 4u;
	write_trace(file, data + 2, size - 2);
	replay_files_init(&files, &job);
	if (replay_ops_read(&o, &files, &job, &err) == 0)
		check(&o);
	else
		MUST(err.code && *err.text);
	replay_ops_fini(&o);
	replay_files_fini(&files);
	return 0;
}
