/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_tensors.c - see checkpoint_tensors.h. */
#include "distil/checkpoint_tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "data/state/state.h"

enum {
	ALIGN = 64,
	DESCRIPTOR = 16, /* of the record before it */
	FIELD = 4,       /* the extra field that aligns, without what fills it */
	/* The end of an archive of zip64: the call that torch writes last. */
	END = TORCH_END64_BYTES + TORCH_LOCATOR_BYTES + TORCH_END_BYTES,
	/* What libstdc++ does not put through its buffer. */
	PATH_DIRECT = 1024,
	SMALL_BYTES = 2048, /* of a tensor that nobody has seen */
	/* Of a tensor: in the pickle, and in the directory; and of the rest. */
	PICKLE_EACH = 100,
	DIRECTORY_EACH = 120,
	DIRECTORY_LEAST = 600,
	FIT_STEPS = 8,
};

void tensor_list_fini(struct tensor_list *l)
{
	mem_free(l->at);
	*l = (struct tensor_list){ 0 };
}

static void add(struct tensor_list *l, uint64_t bytes)
{
	if (bytes == 0)
		return;
	vec_push(l, bytes);
}

/* Written to an open file a tensor begins where the archive aligns it, and its header is a short
 * write in front of it. */
bool tensors_are_torch(const struct saved_file *f, bool *is_file)
{
	uint32_t large = 0, alone = 0;

	if (f->calls.count < 4 || f->calls.count < f->writes)
		return false;
	for (uint32_t i = 1; i + 1 < f->calls.count; i++) {
		const struct saved_call *c = &f->calls.at[i];

		if (c->bytes <= TORCH_FILE_BUFFER)
			continue;
		large++;
		alone += c->off % ALIGN == 0 && c[-1].bytes <= TORCH_FILE_BUFFER;
	}
	*is_file = alone * 5 >= large * 4;
	return large > 0;
}

/* ---- by calls ---- */

/* Where the data of a record begins whose header comes behind `off`. */
static uint64_t data_off(uint64_t off, size_t name_bytes)
{
	return round_up(off + DESCRIPTOR + TORCH_LOCAL_BYTES + FIELD + name_bytes, ALIGN);
}

/* Calls in front of the archive's end: its directory, of so many bytes a tensor at most, and what
 * torch writes last. */
static size_t calls_before_end(const struct saved_file *f)
{
	size_t n = f->calls.count;

	if (f->calls.at[n - 1].bytes == END)
		n--;
	if (n > 1 && f->calls.at[n - 1].bytes < DIRECTORY_LEAST + (uint64_t)n * DIRECTORY_EACH)
		n--;
	return n;
}

/*
 * One call has a record's header and its data; the first one has the pickle, and a tensor as well
 * if that is short. The archive's name is in each header, so that another one may need another 64
 * bytes there, or fewer.
 */
static void take_path_calls(struct tensor_list *l, const struct saved_file *f, const char *archive)
{
	size_t name = strlen(archive) + sizeof("/data/1");
	size_t n = calls_before_end(f);

	for (uint32_t i = 0; i < n; i++) {
		const struct saved_call *c = &f->calls.at[i];
		uint64_t pickle = i ? 0 : ALIGN + (uint64_t)n * PICKLE_EACH;
		uint64_t from = data_off(c->off + pickle, name);
		uint64_t end = c->off + c->bytes;

		if (i == 0 && (n > PATH_DIRECT / PICKLE_EACH || c->bytes < 4 * pickle))
			continue;
		if (c->bytes >= PATH_DIRECT && from < end)
			add(l, end - from);
	}
}

/* Headers are apart, with tensors that fit into the buffer between them. */
static void add_between(struct tensor_list *l, uint64_t bytes)
{
	uint64_t n;

	if (bytes < 3 * ALIGN)
		return;
	n = divide_up(bytes, SMALL_BYTES);
	for (uint64_t i = 0; i < n; i++)
		add(l, bytes / n > 2 * ALIGN ? bytes / n - 2 * ALIGN : 1);
}

static void take_file_calls(struct tensor_list *l, const struct saved_file *f)
{
	size_t n = calls_before_end(f);
	uint64_t end = 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct saved_call *c = &f->calls.at[i];

		/* The pickle, or its end. */
		if (c->off == ALIGN) {
			end = c->off + c->bytes;
			continue;
		}
		if (c->bytes <= TORCH_FILE_BUFFER || c->off % ALIGN)
			continue;
		if (end)
			add_between(l, c->off - end);
		add(l, c->bytes);
		end = c->off + c->bytes;
	}
}

static void take_calls(struct tensor_list *l, const struct saved_file *f)
{
	for (uint32_t i = 0; i < f->calls.count; i++)
		add(l, f->calls.at[i].bytes > PATH_DIRECT + 2 * ALIGN
			       ? f->calls.at[i].bytes - 2 * ALIGN
			       : f->calls.at[i].bytes);
}

/* ---- numbers ---- */

static int by_digits(const void *a, const void *b)
{
	char x[16], y[16];

	snprintf(x, sizeof(x), "%" PRIu32, *(const uint32_t *)a);
	snprintf(y, sizeof(y), "%" PRIu32, *(const uint32_t *)b);
	return strcmp(x, y);
}

/* In an archive they lie in the order of their numbers' digits: 0, 1, 10, 2. */
static void number(struct tensor_list *l)
{
	uint32_t *key = mem_array((size_t)l->count + 1, sizeof(*key));
	uint64_t *bytes = mem_array((size_t)l->count + 1, sizeof(*bytes));

	for (uint32_t i = 0; i < l->count; i++)
		key[i] = i;
	qsort(key, l->count, sizeof(*key), by_digits);
	for (uint32_t i = 0; i < l->count; i++)
		bytes[key[i]] = l->at[i];
	mem_free(key);
	mem_free(l->at);
	l->at = bytes;
	l->room = (size_t)l->count + 1;
}

/* ---- until the file is as long ---- */

/* Of names of which it is known only how long they are together. */
static void put_name(struct buf *to, const struct tensor_list *l, uint32_t i)
{
	uint64_t width = l->name_bytes / l->count + (i < l->name_bytes % l->count ? 1 : 0);
	size_t before = to->len;

	buf_addf(to, "t%" PRIu32, i);
	while (to->len - before < width)
		buf_addc(to, '_');
	buf_addc(to, ' ');
}

void tensors_put(struct buf *to, const struct tensor_list *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		if (l->name_bytes)
			put_name(to, l, i);
		buf_addf(to, "%" PRIu64 "\n", l->at[i]);
	}
}

int tensors_offer(const struct tensor_list *l, struct trial *t)
{
	int fd = unnamed_open(unnamed_folder(NULL));
	struct buf b = { 0 };

	if (fd < 0)
		return -1;
	tensors_put(&b, l);
	if (writeall_at(fd, buf_str(&b), b.len, 0) < 0) {
		close(fd);
		fd = -1;
	}
	buf_reset(&b);
	buf_addf(&b, "/proc/self/fd/%d", fd);
	mem_replace(&t->job->tensor_sizes, buf_str(&b));
	buf_fini(&b);
	return fd;
}

static uint64_t *largest(const struct tensor_list *l)
{
	uint64_t *most = l->at;

	for (uint32_t i = 1; i < l->count; i++)
		if (l->at[i] > *most)
			most = &l->at[i];
	return most;
}

/* False: what is around them has more bytes than they. */
static bool change(const struct tensor_list *l, uint64_t got, uint64_t want)
{
	uint64_t *most = largest(l);

	if (got > want && got - want >= *most)
		return false;
	*most += want - got;
	return true;
}

/* An archive whose own name is of another length may have no other one that is as long: so near is
 * near enough. */
static bool is_near(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) <= ALIGN;
}

static bool open_with(const struct tensor_list *l, struct trial *t)
{
	int fd = tensors_offer(l, t);
	bool is_open = fd >= 0 && trial_open(t);

	if (fd >= 0)
		close(fd);
	return is_open;
}

static bool fit(struct tensor_list *l, struct trial *t, uint64_t rank, uint64_t bytes)
{
	for (unsigned i = 0; i < FIT_STEPS; i++) {
		uint64_t got;

		if (!open_with(l, t))
			return false;
		got = trial_bytes(t, rank, 0);
		l->is_exact = got == bytes;
		if (l->is_exact || (i >= FIT_STEPS / 2 && is_near(got, bytes)))
			return true;
		if (!change(l, got, bytes))
			return false;
	}
	return false;
}

/* Names by their place are as long as this, and those of put_name no shorter. */
static uint64_t own_name_bytes(const struct tensor_list *l, const char *before)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < l->count; i++)
		bytes += (uint64_t)snprintf(NULL, 0, "%s%" PRIu32, before, i);
	return bytes;
}

/* The pickle has the names of all tensors, so that its own call tells how long these are; what else
 * it has of the program's counts as names, too. */
static void find_names(struct tensor_list *l, struct trial *t, uint64_t rank, uint64_t first_write)
{
	uint64_t own = own_name_bytes(l, "tensor."), got;

	if (!open_with(l, t))
		return;
	got = trial_first_write(t, rank);
	if (got == first_write || own + first_write < got)
		return;
	l->name_bytes = own + first_write - got;
	if (l->name_bytes < own_name_bytes(l, "t") + l->count ||
	    l->name_bytes / l->count + 1 >= STATE_NAME_BYTES || !open_with(l, t) ||
	    trial_first_write(t, rank) != first_write)
		l->name_bytes = 0;
}

static const char *archive_of(const struct trial *t, uint64_t rank, char own[JOB_ARCHIVE_BYTES])
{
	const char *name = t->job->checkpoint_archive;

	snprintf(own, JOB_ARCHIVE_BYTES, "rank_%" PRIu64, rank);
	return name && *name ? name : own;
}

bool tensors_find(struct tensor_list *l, struct trial *t, uint64_t rank, const struct saved_file *f,
		  bool is_archive)
{
	bool is_path = is_archive && t->job->checkpoint_layout == LAYOUT_TORCH;
	char own[JOB_ARCHIVE_BYTES];

	*l = (struct tensor_list){ 0 };
	if (!is_archive)
		take_calls(l, f);
	else if (is_path)
		take_path_calls(l, f, archive_of(t, rank, own));
	else
		take_file_calls(l, f);
	if (l->count == 0)
		return false;
	number(l);
	t->job->checkpoint_size_bytes = 0;
	if (is_path)
		find_names(l, t, rank, f->calls.at[0].bytes);
	return fit(l, t, rank, f->bytes);
}
