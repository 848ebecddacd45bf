/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_mapped.c - see bpf_mapped.h. */
#include "tracing/capture/bpf/bpf_mapped.h"

#include <stddef.h>

#include "base/mem.h"

#define SETS (1u << 14)
#define WAYS 4

struct mapping {
	uint64_t address, used;
	struct mapped_file file;
	uint32_t pid;
};

struct bpf_mapped {
	struct mapping at[SETS][WAYS];
	uint64_t clock;
};

struct bpf_mapped *mapped_new(void)
{
	return mem_zalloc(sizeof(struct bpf_mapped));
}

void mapped_free(struct bpf_mapped *m)
{
	mem_free(m);
}

static size_t set_of(uint32_t pid, uint64_t address)
{
	uint64_t key = (address ^ (uint64_t)pid << 44) * UINT64_C(0x9e3779b97f4a7c15);

	return key >> 50;
}

void mapped_add(struct bpf_mapped *m, uint32_t pid, uint64_t address, struct mapped_file f)
{
	struct mapping *set = m->at[set_of(pid, address)], *to = set;

	for (unsigned i = 0; i < WAYS; i++) {
		if (set[i].address == address && set[i].pid == pid) {
			to = &set[i];
			break;
		}
		if (set[i].used < to->used)
			to = &set[i];
	}
	*to = (struct mapping){ address, ++m->clock, f, pid };
}

struct mapped_file mapped_find(const struct bpf_mapped *m, uint32_t pid, uint64_t address)
{
	const struct mapping *set = m->at[set_of(pid, address)];

	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].address == address && set[i].pid == pid)
			return set[i].file;
	return (struct mapped_file){ 0 };
}
