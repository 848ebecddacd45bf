/* SPDX-License-Identifier: Apache-2.0 */
/* blktrace.c - --format=blktrace: the binary files of one recording, one for each CPU. */
#include "tracing/import/import.h"

#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "base/vec.h"

/* ---- the file format ---- */

/*
 * An event is struct blk_io_trace of include/uapi/linux/blktrace_api.h: 48 bytes in the byte order
 * of the recording host, followed by pdu_bytes of data.
 */
#define BLKTRACE_MAGIC 0x65617400u
#define BLKTRACE_VERSION 7u
enum { BLKTRACE_EVENT_BYTES = 48 };

enum blktrace_act {
	BLKTRACE_ISSUE = 7,
	BLKTRACE_COMPLETE = 8,
};

enum blktrace_note {
	BLKTRACE_PROCESS = 0,
	BLKTRACE_TIMESTAMP = 1, /* the data is two words: seconds since 1970 and ns */
};

enum blktrace_category {
	BLKTRACE_READ = 1u << 0,
	BLKTRACE_WRITE = 1u << 1,
	BLKTRACE_PASSTHROUGH = 1u << 9, /* commands without an extent */
	BLKTRACE_NOTIFY = 1u << 10,
	BLKTRACE_AHEAD = 1u << 11,
	BLKTRACE_DISCARD = 1u << 13,
};

struct blktrace_event {
	uint32_t sequence;
	uint64_t time_ns, sector;
	uint32_t bytes;
	unsigned act;      /* enum blktrace_act, or blktrace_note of a BLKTRACE_NOTIFY */
	unsigned category; /* bits of enum blktrace_category */
	uint32_t pid, device, cpu;
	int error; /* 0, or -errno */
	unsigned pdu_bytes;
};

/* The low byte of the magic is the version. */
#define MAGIC_MASK 0xffffff00u
/* A higher bit of the action means that the data begins with a control group's id. */
#define ACT_MASK 0xffu

struct blktrace_raw {
	uint32_t magic, sequence;
	uint64_t time, sector;
	uint32_t bytes, action, pid, device, cpu;
	uint16_t error, pdu_bytes;
};

_Static_assert(sizeof(struct blktrace_raw) == BLKTRACE_EVENT_BYTES, "as in a file");

/* ---- the reader ---- */

enum { SECTOR_BYTES = 512, PDU_MAX = 65535, NAME_BYTES_MAX = 64 };
/* Pairs of device and CPU whose sequence numbers are checked. */
enum { COUNTERS_MAX = 4096 };

/* The sequence numbers of a device's events on a CPU. The kernel also numbers events that it drops
 * for lack of room. */
struct blktrace_counter {
	uint32_t device, cpu, first, last, count;
	uint64_t first_ns, last_ns;
};

struct blktrace_reader {
	struct importing *m;
	struct mlgen_err *err;
	struct trace_input in;
	uint64_t at; /* offset of the current event in the file */
	bool is_swapped;
	unsigned char pdu[PDU_MAX];
	struct blktrace_event event;
	VEC(struct blktrace_counter) counters;
	size_t counter_at;            /* the counter used last */
	uint32_t device, device_name; /* the device named last */
	bool has_device;
	bool has_clock;
	uint64_t passthrough, discards, flushes, without_direction; /* requests left out */
};

/* ---- bytes ---- */

/* Read `bytes` bytes, or fewer at the end of the file. 1, 0 = end of file, or -errno. */
static int read_bytes(struct blktrace_reader *r, void *to, size_t bytes, size_t *done)
{
	int rc = 1;

	for (*done = 0; *done < bytes;) {
		rc = trace_input_more(&r->in, r->err);
		if (rc <= 0)
			return rc;
		size_t n = u64_min(bytes - *done, r->in.end - r->in.at);

		memcpy((char *)to + *done, r->in.buffer + r->in.at, n);
		r->in.at += n;
		*done += n;
	}
	return 1;
}

static int blktrace_refuse(struct blktrace_reader *r, const char *what, uint32_t magic)
{
	return mlgen_fail(r->err, -EINVAL,
			  "%s: at byte %" PRIu64 ": %s (%08" PRIx32
			  "); a blktrace record begins with %08x",
			  r->in.name, r->at, what, magic, BLKTRACE_MAGIC | BLKTRACE_VERSION);
}

/* Parse the event in `bytes`, and check that it is one. */
static int parse_event(struct blktrace_reader *r, const void *bytes)
{
	struct blktrace_raw raw;
	bool is_native, is_swapped;
	int16_t error;

	memcpy(&raw, bytes, sizeof(raw));
	is_native = (raw.magic & MAGIC_MASK) == BLKTRACE_MAGIC;
	is_swapped = !is_native && (bswap_32(raw.magic) & MAGIC_MASK) == BLKTRACE_MAGIC;
	/* The first record determines the byte order of the file. */
	if (r->at == 0)
		r->is_swapped = is_swapped;
	if ((!is_native && !is_swapped) || is_swapped != r->is_swapped)
		return blktrace_refuse(
			r, r->at ? "no record begins here" : "is not a binary blktrace file",
			raw.magic);
	if (is_swapped) {
		raw.magic = bswap_32(raw.magic);
		raw.sequence = bswap_32(raw.sequence);
		raw.time = bswap_64(raw.time);
		raw.sector = bswap_64(raw.sector);
		raw.bytes = bswap_32(raw.bytes);
		raw.action = bswap_32(raw.action);
		raw.pid = bswap_32(raw.pid);
		raw.device = bswap_32(raw.device);
		raw.cpu = bswap_32(raw.cpu);
		raw.error = bswap_16(raw.error);
		raw.pdu_bytes = bswap_16(raw.pdu_bytes);
	}
	error = (int16_t)raw.error;
	r->event = (struct blktrace_event){
		.sequence = raw.sequence,
		.time_ns = raw.time,
		.sector = raw.sector,
		.bytes = raw.bytes,
		.act = raw.action & ACT_MASK,
		.category = raw.action >> 16,
		.pid = raw.pid,
		.device = raw.device,
		.cpu = raw.cpu,
		/* The kernel stores the lower half of -errno; some drivers passed errno. */
		.error = error > 0 ? -error : error,
		.pdu_bytes = raw.pdu_bytes,
	};
	if ((raw.magic & 0xff) != BLKTRACE_VERSION)
		return blktrace_refuse(r, "a record of an unknown version", raw.magic);
	return 0;
}

/* 1, 0 = end of file, or -errno. */
static int next_event(struct blktrace_reader *r)
{
	unsigned char bytes[BLKTRACE_EVENT_BYTES] = { 0 };
	size_t done, pdu = 0;
	int rc = read_bytes(r, bytes, sizeof(bytes), &done);

	if (rc < 0 || !done)
		return rc;
	if (done >= sizeof(uint32_t) && parse_event(r, bytes) < 0)
		return r->err->code;
	if (rc > 0)
		rc = read_bytes(r, r->pdu, r->event.pdu_bytes, &pdu);
	if (rc == 0)
		import_note(r->m,
			    "%s: ends within a record, at byte %" PRIu64
			    "; the records before it are imported",
			    r->in.name, r->at);
	r->at += done + pdu;
	return rc;
}

/* ---- events ---- */

static uint32_t word_at(const struct blktrace_reader *r, size_t i)
{
	uint32_t w;

	memcpy(&w, r->pdu + i * sizeof(w), sizeof(w));
	return r->is_swapped ? __builtin_bswap32(w) : w;
}

/* Apply the time of day at which the recording began, or the name of a process. */
static void apply_note(struct blktrace_reader *r)
{
	const struct blktrace_event *e = &r->event;
	/* The event has the id of a thread, but not of its process. */
	uint64_t number[] = { e->pid };
	size_t bytes = u64_min(e->pdu_bytes, NAME_BYTES_MAX);
	char name[NAME_BYTES_MAX + 1];

	if (e->act == BLKTRACE_TIMESTAMP && !r->has_clock && e->pdu_bytes >= 8) {
		uint64_t wall = word_at(r, 0) * NS_PER_S + word_at(r, 1);

		r->has_clock = wall >= e->time_ns;
		if (r->has_clock)
			r->m->clock_offset_ns = wall - e->time_ns;
	} else if (e->act == BLKTRACE_PROCESS && e->pid) {
		memcpy(name, r->pdu, bytes);
		name[bytes] = '\0';
		if (*name)
			trace_fill_entry(r->m->fill, TRACE_PROCESS, number, 1, name);
	}
}

/* Add a request that reads or writes an extent. Other requests are counted when they are issued. */
static int add_request(struct blktrace_reader *r)
{
	const struct blktrace_event *e = &r->event;
	bool is_issue = e->act == BLKTRACE_ISSUE;
	uint64_t *left_out = NULL;
	char name[NAME_BYTES_MAX];
	struct trace_record to = {
		.start_ns = e->time_ns,
		.off = e->sector * SECTOR_BYTES,
		.len_bytes = e->bytes,
		.result = is_issue ? 0 : e->error,
		.cpu_ns = TRACE_UNKNOWN,
		/* A completion has the pid of whichever task was interrupted. */
		.pid = is_issue ? e->pid : 0,
		.tid = is_issue ? e->pid : 0,
		.op = is_issue ? TRACE_BLOCK_ISSUE : TRACE_BLOCK_COMPLETE,
	};

	if (e->category & BLKTRACE_PASSTHROUGH)
		left_out = &r->passthrough;
	else if (e->category & BLKTRACE_DISCARD)
		left_out = &r->discards;
	else if (!e->bytes)
		left_out = &r->flushes;
	else if (!(e->category & (BLKTRACE_READ | BLKTRACE_WRITE)))
		left_out = &r->without_direction;
	if (left_out) {
		*left_out += is_issue;
		return 0;
	}
	if (e->sector > UINT64_MAX / SECTOR_BYTES - 1)
		to.off = TRACE_UNKNOWN;
	if (e->category & BLKTRACE_WRITE)
		to.flags |= TRACE_WRITES;
	if (e->category & BLKTRACE_AHEAD)
		to.flags |= TRACE_READ_AHEAD;
	if (!r->has_device || r->device != e->device) {
		/* dev_t inside the kernel: 12 bits of the major number, 20 of the minor. */
		int bytes = snprintf(name, sizeof(name), "/dev/block/%" PRIu32 ":%" PRIu32,
				     e->device >> 20, e->device & 0xfffff);

		r->has_device = true;
		r->device = e->device;
		r->device_name = trace_fill_name(r->m->fill, name, (size_t)bytes);
	}
	to.file = r->device_name;
	return trace_fill_add(r->m->fill, &to, r->err);
}

/* ---- lost events ---- */

/* Count an event's sequence number, in any order. Number 0 means that events are not numbered. */
static void count_event(struct blktrace_reader *r)
{
	const struct blktrace_event *e = &r->event;
	struct blktrace_counter *c = NULL;

	for (size_t i = 0; e->sequence && !c && i < r->counters.count; i++) {
		size_t n = (r->counter_at + i) % r->counters.count;

		if (r->counters.at[n].device == e->device && r->counters.at[n].cpu == e->cpu) {
			r->counter_at = n;
			c = &r->counters.at[n];
		}
	}
	if (!e->sequence || (!c && r->counters.count == COUNTERS_MAX))
		return;
	if (!c) {
		vec_push(&r->counters, (struct blktrace_counter){ .device = e->device,
								  .cpu = e->cpu,
								  .first = UINT32_MAX,
								  .first_ns = UINT64_MAX });
		c = vec_last(&r->counters);
	}
	if (e->sequence < c->first)
		c->first = e->sequence;
	if (e->sequence > c->last)
		c->last = e->sequence;
	c->count++;
	c->first_ns = u64_min(c->first_ns, e->time_ns);
	c->last_ns = u64_max(c->last_ns, e->time_ns);
}

static void add_lost(struct blktrace_reader *r)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < r->counters.count; i++) {
		const struct blktrace_counter *c = &r->counters.at[i];
		uint64_t there = (uint64_t)c->last - c->first + 1;

		if (there <= c->count)
			continue;
		uint64_t number[] = { TRACE_NONE, there - c->count, c->first_ns, c->last_ns, 0 };

		trace_fill_entry(r->m->fill, TRACE_LOST, number, ARRAY_LEN(number),
				 "the recording skips numbers of events");
		lost += there - c->count;
	}
	if (lost)
		import_note(r->m,
			    "%" PRIu64
			    " event%s of the recording are missing, according to their numbers",
			    lost, plural(lost));
}

static void note_left_out(struct blktrace_reader *r, uint64_t count, const char *kind)
{
	if (count)
		import_note(r->m, "left out because a trace cannot contain them: %" PRIu64 " %s",
			    count, kind);
}

/* ---- the files ---- */

static int apply_event(struct blktrace_reader *r)
{
	const struct blktrace_event *e = &r->event;

	r->m->tally.lines++;
	if (e->category & BLKTRACE_NOTIFY) {
		apply_note(r);
		return 0;
	}
	count_event(r);
	return e->act == BLKTRACE_ISSUE || e->act == BLKTRACE_COMPLETE ? add_request(r) : 0;
}

static int read_file(struct blktrace_reader *r, const char *file)
{
	struct mlgen_err *err = r->err;
	int rc = trace_input_open(&r->in, file, err);

	r->in.is_binary = true;
	r->at = 0;
	if (rc == 0)
		while ((rc = next_event(r)) > 0 && (rc = apply_event(r)) == 0)
			;
	trace_input_close(&r->in);
	if (rc >= 0)
		return 0;
	/* After bytes that are not a record, the next record cannot be found. */
	if (!r->m->is_lenient || err->code != -EINVAL || !r->at)
		return err->code;
	r->m->tally.lines++;
	import_note(r->m, "%s; the rest of the file is left out", err->text);
	*err = (struct mlgen_err){ 0 };
	return 0;
}

int import_blktrace(struct importing *m, struct mlgen_err *err)
{
	struct blktrace_reader *r = mem_zalloc(sizeof(*r));
	int rc = 0;

	r->m = m;
	r->err = err;
	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = read_file(r, m->files[i]);
	if (rc == 0) {
		add_lost(r);
		note_left_out(r, r->passthrough, "commands to a device");
		note_left_out(r, r->discards, "discards");
		note_left_out(r, r->flushes, "flushes (requests without bytes)");
		note_left_out(r, r->without_direction, "requests that neither read nor write");
		if (!r->has_clock)
			m->no_clock =
				"the recording does not contain the time of day at which it began";
		rc = import_check_unread(m, "blktrace", err);
	}
	vec_fini(&r->counters);
	mem_free(r);
	return rc;
}
