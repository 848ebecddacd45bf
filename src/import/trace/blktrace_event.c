/* SPDX-License-Identifier: Apache-2.0 */
/* blktrace_event.c - what the kernel records of a block device: an event as it lies in a file of
 * blktrace. */
#include "import/trace/blktrace_event.h"

#include <byteswap.h>
#include <string.h>

/* Below the version's byte. */
#define MAGIC_MASK 0xffffff00u
/* Of an action: a control group's id stands before the rest of the pdu. */
#define ACT_MASK 0xffu

struct raw {
	uint32_t magic, sequence;
	uint64_t time, sector;
	uint32_t bytes, action, pid, device, cpu;
	uint16_t error, pdu_bytes;
};

_Static_assert(sizeof(struct raw) == BLKTRACE_EVENT_BYTES, "as in a file");

bool blktrace_is_swapped(const void *at, bool *is_known)
{
	uint32_t magic;

	memcpy(&magic, at, sizeof(magic));
	*is_known = true;
	if ((magic & MAGIC_MASK) == BLKTRACE_MAGIC)
		return false;
	*is_known = (bswap_32(magic) & MAGIC_MASK) == BLKTRACE_MAGIC;
	return *is_known;
}

static void swap(struct raw *r)
{
	r->magic = bswap_32(r->magic);
	r->sequence = bswap_32(r->sequence);
	r->time = bswap_64(r->time);
	r->sector = bswap_64(r->sector);
	r->bytes = bswap_32(r->bytes);
	r->action = bswap_32(r->action);
	r->pid = bswap_32(r->pid);
	r->device = bswap_32(r->device);
	r->cpu = bswap_32(r->cpu);
	r->error = bswap_16(r->error);
	r->pdu_bytes = bswap_16(r->pdu_bytes);
}

/* The kernel keeps the lower half of -errno; some drivers gave errno. */
static int error_of(uint16_t error)
{
	int16_t half = (int16_t)error;

	return half > 0 ? -half : half;
}

void blktrace_event_take(const void *at, bool is_swapped, struct blktrace_event *out)
{
	struct raw r;

	memcpy(&r, at, sizeof(r));
	if (is_swapped)
		swap(&r);
	*out = (struct blktrace_event){
		.magic = r.magic,
		.sequence = r.sequence,
		.time_ns = r.time,
		.sector = r.sector,
		.bytes = r.bytes,
		.act = r.action & ACT_MASK,
		.category = r.action >> 16,
		.pid = r.pid,
		.device = r.device,
		.cpu = r.cpu,
		.error = error_of(r.error),
		.pdu_bytes = r.pdu_bytes,
	};
}
