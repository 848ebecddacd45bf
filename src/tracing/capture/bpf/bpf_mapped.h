/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_mapped.h - which file lies at an address of a process. */
#pragma once

#include <stdint.h>

/* Remembers some 65536 mappings, by their first address; of more the oldest in its place is given
 * up. */
struct bpf_mapped;

struct mapped_file {
	uint32_t file;
	uint64_t off;
};

struct bpf_mapped *mapped_new(void);
void mapped_free(struct bpf_mapped *m); /* NULL is fine */

void mapped_add(struct bpf_mapped *m, uint32_t pid, uint64_t address, struct mapped_file f);
/* .file 0 = nothing known is mapped there. */
struct mapped_file mapped_find(const struct bpf_mapped *m, uint32_t pid, uint64_t address);
