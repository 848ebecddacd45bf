/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_form.c - find the layout, state and tensors that produce the files of a trace. */
#include "tracing/distil/saves/saves_internal.h"

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
	DESCRIPTOR = 16, /* bytes after the data of the previous record */
	FIELD = 4,       /* header of the extra field that aligns the data */
	/* The end records of a zip64 archive, which torch writes with its last call. */
	END = TORCH_END64_BYTES + TORCH_LOCATOR_BYTES + TORCH_END_BYTES,
	/* libstdc++ bypasses its buffer for writes of at least this size. */
	PATH_DIRECT = 1024,
	SMALL_BYTES = 2048, /* assumed size of tensors inside buffered writes */
	/* Bytes per tensor in the pickle and in the directory; bytes of the rest of a directory. */
	PICKLE_EACH = 100,
	DIRECTORY_EACH = 120,
	DIRECTORY_LEAST = 600,
	FIT_STEPS = 8,
	BLOCK_BYTES = 4096, /* bs= of a checkpoint is a multiple of this size */
	BS_DEFAULT = 1 << 20,
};

/* ---- tensors ---- */

static void tensor_list_fini(struct tensor_list *l)
{
	mem_free(l->at);
	*l = (struct tensor_list){ 0 };
}

static void add_tensor(struct tensor_list *l, uint64_t bytes)
{
	if (bytes)
		vec_push(l, bytes);
}

/* Does the file look like an archive of torch.save? `is_file`: torch.save wrote to an open file
 * (deepspeed), where each large tensor has an aligned write of its own after a short write of the
 * header. Otherwise torch.save opened the path (torch). */
static bool is_torch_archive(const struct saved_file *f, bool *is_file)
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

/* ---- tensors by calls ---- */

/* The offset of a record's data if the data of the previous record ends at `off`. */
static uint64_t data_off(uint64_t off, size_t name_bytes)
{
	return round_up(off + DESCRIPTOR + TORCH_LOCAL_BYTES + FIELD + name_bytes, ALIGN);
}

/* The number of calls before the directory, which is recognised by its size, and the end records.
 */
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
 * List tensors of an archive that torch.save wrote by path. Each call has the header and the data
 * of one record. The first call has the pickle, and a tensor as well if the pickle is short. The
 * archive's name is in each header, so another name may need 64 bytes more or fewer.
 */
static void add_path_calls(struct tensor_list *l, const struct saved_file *f, const char *archive)
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
			add_tensor(l, end - from);
	}
}

/* Add tensors of an assumed size for buffered bytes, which are headers and small tensors in
 * turn. */
static void add_buffered(struct tensor_list *l, uint64_t bytes)
{
	if (bytes < 3 * ALIGN)
		return;
	uint64_t n = divide_up(bytes, SMALL_BYTES);
	for (uint64_t i = 0; i < n; i++)
		add_tensor(l, bytes / n > 2 * ALIGN ? bytes / n - 2 * ALIGN : 1);
}

/* List tensors of an archive that torch.save wrote to an open file. */
static void add_file_calls(struct tensor_list *l, const struct saved_file *f)
{
	size_t n = calls_before_end(f);
	uint64_t end = 0;

	for (uint32_t i = 1; i < n; i++) {
		const struct saved_call *c = &f->calls.at[i];

		/* This write has the pickle, or the end of the pickle. */
		if (c->off == ALIGN) {
			end = c->off + c->bytes;
			continue;
		}
		if (c->bytes <= TORCH_FILE_BUFFER || c->off % ALIGN)
			continue;
		if (end)
			add_buffered(l, c->off - end);
		add_tensor(l, c->bytes);
		end = c->off + c->bytes;
	}
}

/* ---- tensor numbers ---- */

static int by_digits(const void *a, const void *b)
{
	char x[16], y[16];

	snprintf(x, sizeof(x), "%" PRIu32, *(const uint32_t *)a);
	snprintf(y, sizeof(y), "%" PRIu32, *(const uint32_t *)b);
	return strcmp(x, y);
}

/* ---- sizes that give the same file ---- */

void tensors_append(struct buf *to, const struct tensor_list *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		if (l->name_bytes) {
			uint64_t width =
				l->name_bytes / l->count + (i < l->name_bytes % l->count ? 1 : 0);
			size_t before = to->len;

			/* The name is made up, because only the total length of all names is known.
			 */
			buf_addf(to, "t%" PRIu32, i);
			while (to->len - before < width)
				buf_addc(to, '_');
			buf_addc(to, ' ');
		}
		buf_addf(to, "%" PRIu64 "\n", l->at[i]);
	}
}

/* Correct the largest tensor by the difference of file sizes. False = that tensor is too small. */
static bool correct_largest(const struct tensor_list *l, uint64_t got, uint64_t want)
{
	uint64_t *largest = l->at;

	for (uint32_t i = 1; i < l->count; i++)
		if (l->at[i] > *largest)
			largest = &l->at[i];
	if (got > want && got - want >= *largest)
		return false;
	*largest += want - got;
	return true;
}

/* Open the trial with the list as tensor_sizes, in an unnamed temporary file. */
static bool open_with(const struct tensor_list *l, struct trial *t)
{
	int fd = unnamed_open(unnamed_folder(NULL));
	struct buf b = { 0 };

	if (fd < 0)
		return false;
	tensors_append(&b, l);
	bool is_open = writeall_at(fd, buf_str(&b), b.len, 0) == 0;
	buf_reset(&b);
	buf_addf(&b, "/proc/self/fd/%d", fd);
	mem_replace(&t->job->tensor_sizes, buf_str(&b));
	is_open = is_open && trial_open(t);
	buf_fini(&b);
	close(fd);
	return is_open;
}

/* Total length of names that consist of a prefix and the tensor's number. */
static uint64_t numbered_name_bytes(const struct tensor_list *l, const char *prefix)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < l->count; i++)
		bytes += (uint64_t)snprintf(NULL, 0, "%s%" PRIu32, prefix, i);
	return bytes;
}

/* Find the total length of all names. The pickle contains them, so the size of the first write
 * shows the length. Any other data that the program pickled is counted as names as well. */
static void find_names(struct tensor_list *l, struct trial *t, uint64_t rank, uint64_t first_write)
{
	uint64_t own = numbered_name_bytes(l, "tensor."), got;

	if (!open_with(l, t))
		return;
	got = trial_first_write(t, rank);
	if (got == first_write || own + first_write < got)
		return;
	l->name_bytes = own + first_write - got;
	if (l->name_bytes < numbered_name_bytes(l, "t") + l->count ||
	    l->name_bytes / l->count + 1 >= STATE_NAME_BYTES || !open_with(l, t) ||
	    trial_first_write(t, rank) != first_write)
		l->name_bytes = 0;
}

/*
 * List the tensors of a file, for a trial that has its layout. In an archive each large tensor has
 * a call of its own, and small tensors share buffered calls. In any other file each call is a
 * tensor. True = the trial's file is as long as the file, or nearly.
 */
static bool find_tensors(struct tensor_list *l, struct trial *t, uint64_t rank,
			 const struct saved_file *f, bool is_archive)
{
	bool is_path = is_archive && t->job->checkpoint_layout == LAYOUT_TORCH;
	char own[JOB_ARCHIVE_BYTES];
	const char *name = t->job->checkpoint_archive;

	*l = (struct tensor_list){ 0 };
	snprintf(own, sizeof(own), "rank_%" PRIu64, rank);
	if (!is_archive) {
		/* Add a tensor for each call, without the bytes of the header in the call. */
		for (uint32_t i = 0; i < f->calls.count; i++)
			add_tensor(l, f->calls.at[i].bytes > PATH_DIRECT + 2 * ALIGN
					      ? f->calls.at[i].bytes - 2 * ALIGN
					      : f->calls.at[i].bytes);
	} else if (is_path) {
		add_path_calls(l, f, has_text(name) ? name : own);
	} else {
		add_file_calls(l, f);
	}
	if (l->count == 0)
		return false;

	/* Order tensors by number. An archive sorts them by the digits of their numbers: 0, 1,
	 * 10, 2. */
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

	t->job->checkpoint_size_bytes = 0;
	if (is_path)
		find_names(l, t, rank, f->calls.at[0].bytes);

	/*
	 * Correct sizes until the trial's file has this many bytes. An archive whose name has
	 * another length may never match exactly, so a remaining difference of ALIGN bytes is
	 * accepted.
	 */
	for (unsigned i = 0; i < FIT_STEPS; i++) {
		if (!open_with(l, t))
			return false;
		uint64_t got = trial_bytes(t, rank, 0);
		if (got == f->bytes)
			return true;
		if (i >= FIT_STEPS / 2 && u64_max(got, f->bytes) - u64_min(got, f->bytes) <= ALIGN)
			return true;
		if (!correct_largest(l, got, f->bytes))
			return false;
	}
	return false;
}

struct form_search {
	struct checkpoint_form *f;
	const struct saves *s;
	const struct distil *d;
	enum form_access access;
	struct trial trial;
	uint64_t rank;  /* the rank of the typical file */
	uint64_t bytes; /* bytes per rank, in all files of the rank */
	bool is_one;    /* each rank has one file */
	char *path;     /* path of the typical file; owned */
};

/* ---- ranks ---- */

/* Sort the list and remove duplicates. Returns the new length. */
static uint32_t make_unique(uint32_t *list, uint32_t n)
{
	uint32_t unique = 0;

	qsort(list, n, sizeof(*list), u32_compare);
	for (uint32_t i = 0; i < n; i++)
		if (unique == 0 || list[unique - 1] != list[i])
			list[unique++] = list[i];
	return unique;
}

/* ---- layouts by calls ---- */

static bool open_as(struct form_search *g, enum job_layout layout)
{
	struct job *j = g->trial.job;

	j->checkpoint_layout = (int)layout;
	j->ranks = u64_max(g->rank + 1, g->f->rank_count);
	j->access = ACCESS_FRAMEWORK;
	j->checkpoint_size_bytes = g->bytes;
	return trial_open(&g->trial);
}

static void set_layout(struct form_search *g, enum job_layout layout, enum distil_sure sure,
		       const char *why)
{
	g->f->layout = layout;
	g->f->size_bytes = g->trial.job->checkpoint_size_bytes;
	g->f->sure = sure;
	g->f->why = why;
}

/* Is the file written in requests of one size? */
static bool has_equal_requests(const struct saved_file *f)
{
	return f->writes == 1 ||
	       (f->first_bytes == f->most_bytes && f->most_bytes % BLOCK_BYTES == 0 &&
		f->writes == divide_up(f->bytes, f->most_bytes));
}

static bool is_stream(struct form_search *g)
{
	const struct saved_file *typical = g->f->typical;

	if (!typical->is_dropped && g->access == FORM_ANY)
		return false;
	if (!open_as(g, LAYOUT_STREAM) || !trial_writes(&g->trial, g->rank, typical))
		return false;
	set_layout(g, LAYOUT_STREAM, typical->is_dropped ? DISTIL_SURE : DISTIL_LIKELY,
		   "all its calls are those of this layout");
	g->f->has_calls = true;
	return true;
}

/* Does every other write have the size of the layout's first write? */
static bool alternates(struct form_search *g)
{
	const struct saved_file *typical = g->f->typical;
	struct shard_write w = { 0 };
	struct shard shard;

	if (typical->calls.count < 4)
		return false;
	shard_init(&shard, &g->trial.set, g->rank, 0, 0);
	if (!shard_write_next(&shard, &w))
		return false;
	for (uint32_t i = 0; i + 1 < typical->calls.count; i += 2)
		if (typical->calls.at[i].bytes != w.bytes)
			return false;
	return typical->calls.at[1].bytes > w.bytes;
}

static bool is_pattern(struct form_search *g)
{
	struct checkpoint_form *f = g->f;

	for (int p = PATTERN_UNET3D; p <= PATTERN_DLRM; p++) {
		g->trial.job->checkpoint_pattern = p;
		if (!open_as(g, LAYOUT_PATTERN) || !trial_bytes(&g->trial, g->rank, 0))
			continue;
		bool is_same = trial_writes(&g->trial, g->rank, f->typical);
		if (f->typical->calls.count < 3 || (!is_same && !alternates(g)))
			continue;
		f->pattern = (enum job_pattern)p;
		f->has_calls = is_same;
		set_layout(g, LAYOUT_PATTERN, is_same ? DISTIL_SURE : DISTIL_LIKELY,
			   is_same ? "all its calls are those of this layout"
				   : "every other write has the size of this pattern");
		return true;
	}
	return false;
}

/* Is it an archive of torch.save with one tensor? */
static bool is_one_tensor(struct form_search *g, enum job_layout layout)
{
	if (g->f->typical->writes < 2 || !open_as(g, layout) ||
	    !trial_fit_size(&g->trial, g->rank, g->bytes, g->f->typical))
		return false;
	set_layout(g, layout, DISTIL_SURE,
		   "all its calls are those of this layout with one tensor");
	g->f->has_calls = true;
	return true;
}

/* ---- layouts with other calls ---- */

static bool is_archive(struct form_search *g)
{
	bool is_file;

	if (!is_torch_archive(g->f->typical, &is_file) ||
	    !open_as(g, is_file ? LAYOUT_DEEPSPEED : LAYOUT_TORCH))
		return false;
	if (!is_file) {
		const char *name = distil_basename(g->path);
		const char *dot = strrchr(name, '.');
		size_t length = dot ? (size_t)(dot - name) : strlen(name);
		char own[JOB_ARCHIVE_BYTES];

		/* torch.save names the archive like its file, without the suffix. */
		snprintf(own, sizeof(own), "rank_%" PRIu64, g->rank);
		snprintf(g->f->archive, sizeof(g->f->archive), "%.*s", (int)length, name);
		if (length >= JOB_ARCHIVE_BYTES || strcmp(g->f->archive, own) == 0 ||
		    !job_is_archive(g->f->archive))
			g->f->archive[0] = '\0';
		mem_replace(&g->trial.job->checkpoint_archive, g->f->archive);
	}
	if (!find_tensors(&g->f->tensors, &g->trial, g->rank, g->f->typical, true)) {
		tensor_list_fini(&g->f->tensors);
		g->f->archive[0] = '\0';
		mem_replace(&g->trial.job->checkpoint_archive, NULL);
		return false;
	}
	set_layout(g, is_file ? LAYOUT_DEEPSPEED : LAYOUT_TORCH, DISTIL_LIKELY,
		   is_file ? "long writes begin at multiples of 64, with short writes between "
			     "them, like torch.save to an open file"
			   : "writes are consecutive and differ, like tensors with headers in "
			     "torch.save to a path");
	g->f->size_bytes = 0;
	return true;
}

/* Fall back to a tensor for each write, which gives writes of the right size. */
static bool is_any(struct form_search *g)
{
	if (!g->is_one || g->f->typical->calls.count < 2 || !open_as(g, LAYOUT_TORCH) ||
	    !find_tensors(&g->f->tensors, &g->trial, g->rank, g->f->typical, false)) {
		tensor_list_fini(&g->f->tensors);
		return false;
	}
	set_layout(g, LAYOUT_TORCH, DISTIL_GUESS,
		   "no layout makes these calls; tensors of this layout can have the sizes of the "
		   "writes");
	g->f->size_bytes = 0;
	return true;
}

/* ---- requests of one size: only the file's name shows its layout ---- */

static bool has_name(const struct form_search *g, const char *start)
{
	return strncmp(distil_basename(g->path), start, strlen(start)) == 0;
}

/* Is the file exactly as long as the file of a pattern? */
static bool is_whole_pattern(struct form_search *g)
{
	for (int p = PATTERN_UNET3D; p <= PATTERN_DLRM; p++) {
		g->trial.job->checkpoint_pattern = p;
		if (!open_as(g, LAYOUT_PATTERN))
			continue;
		g->trial.job->checkpoint_size_bytes = 0;
		if (!trial_open(&g->trial) || trial_bytes(&g->trial, g->rank, 0) != g->bytes)
			continue;
		g->f->pattern = (enum job_pattern)p;
		set_layout(g, LAYOUT_PATTERN, DISTIL_LIKELY,
			   "the file has the size of this pattern");
		return true;
	}
	return false;
}

static void set_plain(struct form_search *g)
{
	uint64_t most = g->f->typical->most_bytes;
	enum job_layout zip = has_name(g, "rank_") ? LAYOUT_TORCH : LAYOUT_DEEPSPEED;

	g->f->is_plain = true;
	g->f->bs = g->f->typical->writes > 1 || most > BS_DEFAULT ? round_up(most, BLOCK_BYTES)
								  : BS_DEFAULT;
	g->f->has_calls = true;
	if (!has_name(g, "rank_") && is_whole_pattern(g))
		return;
	if ((has_name(g, "rank_") || has_name(g, "model_states-")) && open_as(g, zip) &&
	    trial_fit_size(&g->trial, g->rank, g->bytes, NULL) &&
	    trial_roundness(g->trial.job->checkpoint_size_bytes) > trial_roundness(g->bytes)) {
		set_layout(g, zip, DISTIL_LIKELY,
			   "the name belongs to this layout, and its tensor has a round size");
		return;
	}
	(void)open_as(g, LAYOUT_STREAM);
	set_layout(g, LAYOUT_STREAM, DISTIL_LIKELY,
		   "requests of one size show no layout; this layout contains only tensors");
}

/* ---- all layouts, in order ---- */

static void find_form(struct form_search *g)
{
	const struct saved_file *typical = g->f->typical;
	bool may_plain = g->access != FORM_FRAMEWORK;

	checkpoint_model_find(&g->f->model, g->s, g->d, g->access != FORM_ANY);
	if (g->f->model.name) {
		g->f->is_plain = may_plain && has_equal_requests(typical);
		if (g->f->is_plain)
			set_plain(g);
		set_layout(g, LAYOUT_DEEPSPEED, DISTIL_SURE,
			   "names and sizes of all files match this layout");
		g->f->size_bytes = 0;
		g->f->has_calls = true;
		return;
	}
	if (g->access == FORM_PLAIN) {
		set_plain(g);
		return;
	}
	if (g->is_one && (is_stream(g) || is_pattern(g) || is_one_tensor(g, LAYOUT_TORCH) ||
			  is_one_tensor(g, LAYOUT_DEEPSPEED)))
		return;
	if (may_plain && has_equal_requests(typical)) {
		set_plain(g);
	} else if (!(g->is_one && is_archive(g)) && !is_any(g)) {
		(void)open_as(g, LAYOUT_STREAM);
		g->trial.job->checkpoint_size_bytes = g->bytes;
		set_layout(g, LAYOUT_STREAM, DISTIL_GUESS,
			   "no layout has these files; this layout contains only tensors, so the "
			   "number of bytes is right");
	}
}

void checkpoint_form_find(struct checkpoint_form *f, const struct saves *s, const struct distil *d,
			  enum form_access access)
{
	struct form_search g = { .f = f, .s = s, .d = d, .access = access };

	*f = (struct checkpoint_form){ 0 };

	/* Find ranks by file names. If the names have no ranks, count each task that writes as a
	 * rank. */
	uint32_t *tasks = mem_array((size_t)s->files.count + 1, sizeof(*tasks));
	uint32_t task_count;
	f->ranks = mem_array((size_t)s->files.count + 1, sizeof(*f->ranks));
	f->has_rank_names = true;
	for (uint32_t i = 0; i < s->files.count; i++) {
		const struct saved_file *file = &s->files.at[i];

		if (file->save != 0)
			continue;
		tasks[f->files] = file->task;
		f->ranks[f->files] = saves_rank_of(distil_path(d, file->file));
		f->has_rank_names &= f->ranks[f->files] != UINT32_MAX;
		f->files++;
	}
	task_count = make_unique(tasks, f->files);
	f->rank_count = make_unique(f->ranks, f->files);
	if (!f->has_rank_names) {
		f->rank_count = task_count;
		for (uint32_t i = 0; i < task_count; i++)
			f->ranks[i] = i;
	}
	f->threads = (uint32_t)u64_max(1, task_count / u64_max(1, f->rank_count));
	mem_free(tasks);

	/* Choose the most frequent size of files whose calls are recorded; the first of several
	 * equally frequent sizes. */
	uint32_t most = 0;
	for (uint32_t i = 0; i < s->files.count; i++) {
		const struct saved_file *a = &s->files.at[i];
		uint32_t n = 0;

		if (a->save != 0 || !a->calls.count)
			continue;
		for (uint32_t k = 0; k < s->files.count; k++)
			n += s->files.at[k].save == 0 && s->files.at[k].bytes == a->bytes;
		if (n > most || !g.f->typical) {
			g.f->typical = a;
			most = n;
		}
	}

	const struct saved_file *typical = g.f->typical;
	uint64_t all = 0;
	for (uint32_t i = 0; i < s->files.count; i++)
		if (s->files.at[i].save == 0)
			all += s->files.at[i].bytes;
	g.path = mem_strdup(distil_path(d, typical->file));
	g.is_one = g.f->files <= g.f->rank_count;
	g.bytes = g.is_one ? typical->bytes : all / g.f->rank_count;
	g.rank = g.f->has_rank_names ? saves_rank_of(g.path) : 0;
	for (uint32_t i = 0; i < s->files.count; i++)
		g.f->other_sizes += g.is_one && s->files.at[i].save == 0 &&
				    s->files.at[i].bytes != typical->bytes;

	trial_init(&g.trial);
	find_form(&g);
	f->has_zero_names = has_name(&g, "zero_pp_rank_");
	trial_fini(&g.trial);
	mem_free(g.path);
}

void checkpoint_form_fini(struct checkpoint_form *f)
{
	tensor_list_fini(&f->tensors);
	mem_free(f->ranks);
	*f = (struct checkpoint_form){ 0 };
}
