/* SPDX-License-Identifier: Apache-2.0 */
/* mem.h - memory for set-up: zeroed, and never NULL. */
#pragma once

#include <stddef.h>

/*
 * Memory is taken while a run is set up, never while it runs. A program that cannot even be set up
 * has nothing to report: these print one line and exit with status 1 when memory is short.
 * Everything is freed with mem_free().
 * This is the only file that calls malloc and its kin.
 */

/*
 * First of all: one heap for all threads. The C library would give several of them one each, of 64
 * MiB of address space, so that they need not wait for each other; but nobody takes memory while
 * that counts. The heap grows by what is asked for and no more: what comes from the kernel is zero,
 * and pages of it need not be touched to make them so.
 */
void mem_share_heap(void);

/* `bytes` zeroed bytes; 0 gives a valid pointer too. */
void *mem_zalloc(size_t bytes);

/* An array of n zeroed elements; a product that overflows is out of memory. */
void *mem_array(size_t n, size_t element_bytes);

/* Resize; what is new is not zeroed. */
void *mem_realloc(void *p, size_t bytes);

/* An array of *room elements that is to hold `need`: where it has fewer, it gets twice as many at
 * least, and may move. What is new is not zeroed. */
void *mem_grow(void *p, size_t *room, size_t need, size_t element_bytes);

char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/* So many bytes could not be had: says so and ends the program. */
__attribute__((noreturn)) void mem_none(size_t bytes);

/* NULL is fine. */
void mem_free(void *p);

/* Free `*p` and set it to a copy of `s`; s may be NULL. */
void mem_replace(char **p, const char *s);

/*
 * Page-aligned memory whose pages have been touched (first use of a page is slow, and must not
 * happen inside the measured part). NULL when out of memory: buffers are large and the caller names
 * the option to lower, or that huge pages have to be reserved (vm.nr_hugepages). errno says why.
 */
enum mem_kind { MEM_MALLOC, MEM_MMAP, MEM_HUGEPAGE };
void *mem_buffer(size_t bytes, enum mem_kind kind);
/* The same without touching them: of what an engine that moves no byte leaves alone, no page comes
 * into use. */
void *mem_reserve(size_t bytes, enum mem_kind kind);
/*
 * Touched memory for tables that are accessed at random places. It is in huge pages where the
 * kernel has free ones, which also makes the first touch cheap. NULL when out of memory.
 * mem_buffer_free() takes it as MEM_MMAP.
 */
void *mem_table(size_t bytes);
/* Free memory of any of the three. */
void mem_buffer_free(void *p, size_t bytes, enum mem_kind kind);

/* Of memory that is in use the pages that lie whole in it: they hold nothing any more, and come
 * into use anew, zeroed, where something is written. Not of huge pages. */
void mem_give_back(void *at, size_t bytes);

/* Gives it back, too, and tells the kernel which pages to make when it is touched again: huge ones
 * where there are some (MADV_HUGEPAGE), small ones, or as before. */
enum mem_pages { MEM_PAGES_AS_BEFORE, MEM_PAGES_SMALL, MEM_PAGES_HUGE };
void mem_renew(void *at, size_t bytes, enum mem_pages pages);

/* Of the host's default huge page (Hugepagesize of /proc/meminfo); 0 = none. */
size_t mem_huge_page_bytes(void);
