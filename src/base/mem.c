/* SPDX-License-Identifier: Apache-2.0 */
/* mem.c - memory for set-up: zeroed, and never NULL. */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

__attribute__((noreturn)) static void out_of_memory(size_t bytes)
{
	if (bytes == SIZE_MAX)
		log_error("out of memory: more was asked for than can be "
			  "addressed");
	else
		log_error("out of memory: %zu bytes could not be had", bytes);
	exit(1);
}

void *mem_zalloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);
	if (!p)
		out_of_memory(bytes);
	return p;
}

void *mem_array(size_t n, size_t element_bytes)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, element_bytes, &bytes))
		out_of_memory(SIZE_MAX);
	return mem_zalloc(bytes);
}

void *mem_realloc(void *p, size_t bytes)
{
	/* realloc(p, 0) may free p and give NULL; one byte never does. */
	void *q = realloc(p, bytes ? bytes : 1);
	if (!q)
		out_of_memory(bytes);
	return q;
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
	/* Copied before the old one goes: s may be a part of it. */
	char *copy = s ? mem_strdup(s) : NULL;
	free(*p);
	*p = copy;
}

void *mem_buffer(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* Written, not read: a read would map the one shared zero page. */
	for (size_t at = 0; at < bytes; at += page)
		*(volatile char *)(p + at) = 0;
	return p;
}

void mem_buffer_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes ? bytes : 1);
}
