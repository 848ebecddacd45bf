/* SPDX-License-Identifier: Apache-2.0 */
/* energy.h - joules that this host's packages and memory have taken, as RAPL counts them. */
#pragma once

#include <pthread.h>
#include <stdint.h>

/*
 * The kernel's powercap.rst: a zone is a folder in /sys/class/powercap, whose energy_uj counts
 * microjoules up to max_energy_range_uj and begins again at 0. Zones called package-* add up to the
 * packages, those called dram to their memory; those of parts of a package (core, uncore) and of
 * the whole platform (psys) are in others or beside them, and what a second interface counts again
 * (intel-rapl-mmio) is left out. AMD's zones have the same names.
 *
 * A counter of 262 kJ goes round in 22 minutes at 200 W: a meter has to be read more often than
 * that, and adds up what it sees. energy_uj is for root alone.
 */
#define ENERGY_ZONES 64

struct energy_zone {
	char path[96]; /* of energy_uj */
	uint64_t last_uj, range_uj;
};

struct energy_meter {
	pthread_mutex_t lock; /* of all of it */
	const char *root;     /* NULL = closed */
	struct energy_zone package[ENERGY_ZONES], dram[ENERGY_ZONES];
	unsigned packages, drams;
	uint64_t package_uj, dram_uj;
	const char *unmeasured;
};

/* Since the meter was opened. */
struct energy_counts {
	uint64_t package_uj, dram_uj; /* UINT64_MAX = unknown */
	/* Why the packages are, or else the memory is; static; NULL = both are known. */
	const char *unmeasured;
};

/* `root` is "" for this machine; tests put a tree there. It stays the caller's. */
void energy_open(struct energy_meter *m, const char *root);
void energy_close(struct energy_meter *m); /* takes a zeroed one */

/* Any thread: what the zones have counted so far. One that cannot be read any more leaves its sum
 * unknown from then on. */
void energy_read(struct energy_meter *m, struct energy_counts *c);
