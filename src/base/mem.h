/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - memory for set-up: zeroed, and never NULL. */
#pragma once

#include <stddef.h>

/*
 * Memory is allocated while a run is set up, never while it runs. A program that cannot be set up
 * has nothing to report, so these functions print one line and exit with status 1 when memory is
 * short. Everything is freed with mem_free().
 *
 * Only mem.c calls malloc and similar functions.
 */

/*
 * Use one heap for all threads; call before anything else. By default the C library gives each
 * thread a separate heap of 64 MiB of address space, to avoid contention, but mlgen does not
 * allocate when contention would matter. The heap grows only by what is requested: memory from the
 * kernel is already zero, so its pages need not be touched.
 */
void mem_share_heap(void);

/* `bytes` zeroed bytes; 0 gives a valid pointer too. */
void *mem_zalloc(size_t bytes);

/* An array of n zeroed elements; a product that overflows counts as out of memory. */
void *mem_array(size_t n, size_t element_bytes);

/* Resize. New bytes are not zeroed. */
void *mem_realloc(void *p, size_t bytes);

/* Grow an array of *room elements to hold at least `need`, at least doubling it if it has to
 * grow. The array may move. New elements are not zeroed. */
void *mem_grow(void *p, size_t *room, size_t need, size_t element_bytes);

char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/* Report that `bytes` could not be allocated, and exit. */
__attribute__((noreturn)) void mem_out_of_memory(size_t bytes);

/* NULL is fine. */
void mem_free(void *p);

/* Free `*p` and set it to a copy of `s`; s may be NULL. */
void mem_replace(char **p, const char *s);

/*
 * Page-aligned memory whose pages have been touched, because the first use of a page is slow and
 * must not happen during a measurement. NULL when out of memory, with errno: buffers are large, and
 * the caller names the option to lower, or vm.nr_hugepages to raise.
 */
enum mem_kind { MEM_MALLOC, MEM_MMAP, MEM_HUGEPAGE };
void *mem_buffer(size_t bytes, enum mem_kind kind);
/* Like mem_buffer, without touching the pages: an engine that moves no bytes never allocates
 * them. */
void *mem_reserve(size_t bytes, enum mem_kind kind);
/*
 * Touched memory for tables with random access. It uses huge pages if the kernel has free ones,
 * which also makes the first touch cheap. NULL when out of memory. Free with mem_buffer_free() as
 * MEM_MMAP.
 */
void *mem_table(size_t bytes);
/* Free the memory of mem_buffer, mem_reserve or mem_table. */
void mem_buffer_free(void *p, size_t bytes, enum mem_kind kind);

/* Return the pages that lie completely in this memory to the kernel. They read as zero and are
 * allocated again on write. Not for huge pages. */
void mem_release_pages(void *at, size_t bytes);

/* Like mem_release_pages, and choose the page size for the next touch: huge if available
 * (MADV_HUGEPAGE), small, or unchanged. */
enum mem_pages { MEM_PAGES_AS_BEFORE, MEM_PAGES_SMALL, MEM_PAGES_HUGE };
void mem_reset_pages(void *at, size_t bytes, enum mem_pages pages);

/* Size of the host's default huge page (Hugepagesize of /proc/meminfo); 0 = none. */
size_t mem_huge_page_bytes(void);
