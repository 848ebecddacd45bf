/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - memory for set-up: zeroed, and never NULL. */
#include "base/mem.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

/* Size of a huge page on x86-64, and on ARM64 with pages of 4 KiB. */
#define TABLE_ALIGN_BYTES ((size_t)2 << 20)

void mem_out_of_memory(size_t bytes)
{
	if (bytes == SIZE_MAX)
		log_error("out of memory: the request exceeds the address space");
	else
		log_error("out of memory: cannot allocate %zu bytes", bytes);
	exit(1);
}

void mem_share_heap(void)
{
#ifdef M_ARENA_MAX /* GNU C library */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, 0);
#endif
}

void *mem_zalloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p)
		mem_out_of_memory(bytes);
	return p;
}

void *mem_array(size_t n, size_t element_bytes)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, element_bytes, &bytes))
		mem_out_of_memory(SIZE_MAX);
	return mem_zalloc(bytes);
}

void *mem_realloc(void *p, size_t bytes)
{
	/* realloc(p, 0) may free p and return NULL; one byte never does. */
	void *q = realloc(p, bytes ? bytes : 1);

	if (!q)
		mem_out_of_memory(bytes);
	return q;
}

void *mem_grow(void *p, size_t *room, size_t need, size_t element_bytes)
{
	size_t n = 2 * *room > need ? 2 * *room : need, bytes;

	if (need <= *room)
		return p;
	if (__builtin_mul_overflow(n, element_bytes, &bytes))
		mem_out_of_memory(SIZE_MAX);
	*room = n;
	return mem_realloc(p, bytes);
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = mem_zalloc(len + 1);

	memcpy(copy, s, len);
	return copy;
}

void mem_free(void *p)
{
	free(p);
}

void mem_replace(char **p, const char *s)
{
	/* Copy before freeing, because s may be a part of the old text. */
	char *copy = s ? mem_strdup(s) : NULL;

	free(*p);
	*p = copy;
}

void mem_reset_pages(void *at, size_t bytes, enum mem_pages pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t skip = (page - (uintptr_t)at % page) % page, whole;

	if (bytes <= skip || bytes - skip < page)
		return;
	whole = (bytes - skip) / page * page;
	(void)madvise((char *)at + skip, whole, MADV_DONTNEED);
	if (pages != MEM_PAGES_AS_BEFORE)
		(void)madvise((char *)at + skip, whole,
			      pages == MEM_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void mem_release_pages(void *at, size_t bytes)
{
	mem_reset_pages(at, bytes, MEM_PAGES_AS_BEFORE);
}

size_t mem_huge_page_bytes(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	unsigned long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Hugepagesize: %lu kB", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return (size_t)kib << 10;
}

/* Size rounded up to whole pages; 0 = overflow. */
static size_t mapped_bytes(size_t bytes, enum mem_kind kind)
{
	size_t huge = kind == MEM_HUGEPAGE ? mem_huge_page_bytes() : 0;
	size_t unit = huge ? huge : (size_t)sysconf(_SC_PAGESIZE);

	if (bytes > SIZE_MAX - unit)
		return 0;
	return bytes ? (bytes + unit - 1) / unit * unit : unit;
}

static char *map_pages(size_t bytes, enum mem_kind kind)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (kind == MEM_HUGEPAGE ? MAP_HUGETLB : 0);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Write, because a read would map the shared zero page. */
static void touch(char *p, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < bytes; at += page)
		*(volatile char *)(p + at) = 0;
}

void *mem_buffer(size_t bytes, enum mem_kind kind)
{
	char *p = mem_reserve(bytes, kind);

	if (p)
		touch(p, bytes);
	return p;
}

void *mem_table(size_t bytes)
{
	size_t all = mapped_bytes(bytes, MEM_MMAP);
	size_t skip;
	char *p;

	errno = ENOMEM;
	if (!all || all > SIZE_MAX - TABLE_ALIGN_BYTES)
		return NULL;
	if (all < TABLE_ALIGN_BYTES)
		return mem_buffer(bytes, MEM_MMAP);
	/* The kernel aligns a mapping only if its size is a multiple of a huge page: map more, and
	 * unmap the rest. */
	p = map_pages(all + TABLE_ALIGN_BYTES, MEM_MMAP);
	if (!p)
		return NULL;
	skip = (TABLE_ALIGN_BYTES - (uintptr_t)p % TABLE_ALIGN_BYTES) % TABLE_ALIGN_BYTES;
	if (skip)
		munmap(p, skip);
	p += skip;
	munmap(p + all, TABLE_ALIGN_BYTES - skip);
	(void)madvise(p, all, MADV_HUGEPAGE);
	touch(p, all);
	return p;
}

void *mem_reserve(size_t bytes, enum mem_kind kind)
{
	size_t all = mapped_bytes(bytes, kind);
	void *p = NULL;

	errno = ENOMEM;
	if (!all)
		return NULL;
	if (kind != MEM_MALLOC)
		return map_pages(all, kind);
	/* Page-aligned heap memory; the C library may keep it when it is freed. */
	errno = posix_memalign(&p, (size_t)sysconf(_SC_PAGESIZE), all);
	return errno ? NULL : p;
}

void mem_buffer_free(void *p, size_t bytes, enum mem_kind kind)
{
	if (kind == MEM_MALLOC)
		free(p);
	else if (p)
		munmap(p, mapped_bytes(bytes, kind));
}
