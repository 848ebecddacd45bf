/* SPDX-License-Identifier: Apache-2.0 */
/* blktrace_event.h - what the kernel records of a block device: an event as it lies in a file of
 * blktrace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * include/uapi/linux/blktrace_api.h of Linux: 48 bytes in the byte order of the host that recorded
 * them, and pdu_bytes behind them.
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
	BLKTRACE_TIMESTAMP = 1, /* two words: seconds since 1970 and ns */
};

enum blktrace_category {
	BLKTRACE_READ = 1u << 0,
	BLKTRACE_WRITE = 1u << 1,
	BLKTRACE_PASSTHROUGH = 1u << 9, /* commands of no extent */
	BLKTRACE_NOTIFY = 1u << 10,
	BLKTRACE_AHEAD = 1u << 11,
	BLKTRACE_DISCARD = 1u << 13,
};

struct blktrace_event {
	uint32_t magic, sequence;
	uint64_t time_ns, sector;
	uint32_t bytes;
	unsigned act;      /* enum blktrace_act; of a notice, blktrace_note */
	unsigned category; /* bits of enum blktrace_category */
	uint32_t pid, device, cpu;
	int error; /* 0, or -errno */
	unsigned pdu_bytes;
};

/* A record's first bytes: in another order than this host's? False in *is_known: they are no
 * record's of any version. */
bool blktrace_is_swapped(const void *at, bool *is_known);

void blktrace_event_take(const void *at, bool is_swapped, struct blktrace_event *out);
