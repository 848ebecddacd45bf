/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cache.c - any bytes as what an earlier scan has kept: refused, or read within the file. */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "data/file/file_internal.h"

#define KEY "format=npy, access=plain by mlgen"

static int file = -1;

static int take(void *arg, const uint64_t *words, size_t count)
{
	uint64_t *sum = arg;

	for (size_t i = 0; i < count; i++)
		*sum += words[i];
	return 0;
}

static uint32_t sum_of(const uint8_t *data, uint64_t from, uint64_t end)
{
	return (uint32_t)crc32(0, data + from, (uInt)(end - from));
}

/* What is in it would hardly be read by chance: the sums and the size are made those of what is
 * there, and every second time all is left as it is. */
static void mend(uint8_t *data, size_t size)
{
	struct scan_header h;
	struct scan_layout l;

	if (size < sizeof(h) || data[size - 1] % 2)
		return;
	memcpy(&h, data, sizeof(h));
	memcpy(h.magic, SCAN_CACHE_MAGIC, sizeof(h.magic));
	h.byte_order = SCAN_CACHE_ORDER;
	h.version = SCAN_CACHE_VERSION;
	h.key_bytes = sizeof(KEY) - 1;
	h.files[0] %= 8;
	h.files[1] %= 8;
	h.name_bytes[0] %= 256;
	h.name_bytes[1] %= 256;
	h.word_bytes = 0;
	if (!scan_cache_layout(&h, &l) || l.end > size)
		return;
	h.word_bytes = (size - l.end) / 8 * 8;
	MUST(scan_cache_layout(&h, &l));
	memcpy(data + sizeof(h), KEY, sizeof(KEY) - 1);
	h.records_crc = sum_of(data, l.records, l.names);
	h.names_crc = sum_of(data, l.names, l.names + h.name_bytes[0] + h.name_bytes[1]);
	h.crc = 0;
	h.crc = (uint32_t)crc32(0, (const void *)&h, sizeof(h));
	h.crc = (uint32_t)crc32(h.crc, (const void *)KEY, sizeof(KEY) - 1);
	memcpy(data, &h, sizeof(h));
	MUST(ftruncate(file, (off_t)l.end) == 0);
	MUST(pwrite(file, data, l.end, 0) == (ssize_t)l.end);
}

static void read_all(const struct scan_cache *c)
{
	static struct scan_cursor k;
	uint64_t sum = 0;

	scan_cursor_init(&k, c);
	for (uint64_t i = 0; i < c->files; i++) {
		const char *name;
		const struct scan_record *r = scan_cursor_at(&k, i, &name);
		char text[SCAN_NAMES_BYTES + 1];

		if (!r)
			return;
		memcpy(text, name, r->name_bytes);
		text[r->name_bytes] = '\0';
		scan_cache_words(c, &r->found, take, &sum);
		/* It may be there by another order, or another time. */
		scan_cursor_find(&k, (enum scan_part)r->part, text);
	}
	scan_cursor_find(&k, SCAN_TRAINING, "a");
	scan_cursor_find(&k, SCAN_EVALUATION, "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlgen_err err = { 0 };
	struct scan_cache c;
	uint8_t *copy = malloc(size + 1);

	if (file < 0)
		file = memfd_create("fuzz", MFD_CLOEXEC);
	MUST(file >= 0 && copy);
	memcpy(copy, data, size);
	MUST(ftruncate(file, 0) == 0);
	MUST(pwrite(file, data, size, 0) == (ssize_t)size);
	mend(copy, size);
	switch (scan_cache_open(&c, file, KEY, &err)) {
	case SCAN_CACHE_FITS:
		read_all(&c);
		break;
	case SCAN_CACHE_USELESS:
		MUST(*err.text);
		break;
	default:
		break;
	}
	free(copy);
	return 0;
}
