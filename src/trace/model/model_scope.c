/* SPDX-License-Identifier: Apache-2.0 */
/* model_scope.c - which files of a trace are data of the job, and which mounts they are on. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"

/* A mount is storage of the job if it has at least 1 / COUNTS_PART of the bytes, so that a log or a
 * configuration file on another mount does not count. */
#define COUNTS_PART 100

enum scope_state {
	SCOPE_UNKNOWN, /* no record of the file was seen */
	SCOPE_OUT,
	SCOPE_IN, /* plus the number of the mount, from 1 */
};
_Static_assert(SCOPE_IN + SCOPE_MOUNTS <= UCHAR_MAX, "a state is a byte");

/* ---- paths ---- */

static const char *const folders[] = {
	"/proc/",  "/sys/", "/etc/",  "/usr/",     "/lib/",       "/lib32/",
	"/lib64/", "/bin/", "/sbin/", "/var/log/", "/var/cache/", "/run/",
};

static const char *const inside[] = { "/site-packages/", "/dist-packages/", "/__pycache__/", ".so.",
				      "/pymp-" };

static const char *const endings[] = { ".so", ".py", ".pyc", ".log" };

/* Names that /proc/PID/fd has for descriptors of other objects than files. */
static const char *const not_files[] = { "pipe:[", "socket:[",
					 "anon_inode:", "/memfd:", "/dmabuf:" };

/* Memory that processes share: semaphores of sem_open(), batches of PyTorch's loaders, Python's
 * SharedMemory, NCCL, Open MPI. */
static const char *const shared[] = {
	"/dev/shm/sem.",  "/dev/shm/torch_",         "/dev/shm/psm_",
	"/dev/shm/nccl-", "/dev/shm/vader_segment.",
};

static bool begins_with(const char *path, const char *begin)
{
	return strncmp(path, begin, strlen(begin)) == 0;
}

static bool ends_with(const char *path, size_t length, const char *end)
{
	size_t n = strlen(end);

	return length >= n && strncmp(path + length - n, end, n) == 0;
}

static bool begins_with_any(const char *path, const char *const *begins, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (begins_with(path, begins[i]))
			return true;
	return false;
}

bool trace_scope_has_path(const char *path)
{
	if (!*path)
		return false;
	/* /dev/shm has files in memory; the rest of /dev is not files. */
	if (begins_with(path, "/dev/") && !begins_with(path, "/dev/shm/"))
		return false;
	if (begins_with_any(path, shared, ARRAY_LEN(shared)) ||
	    begins_with_any(path, folders, ARRAY_LEN(folders)) ||
	    begins_with_any(path, not_files, ARRAY_LEN(not_files)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(inside); i++)
		if (strstr(path, inside[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(endings); i++)
		if (ends_with(path, strlen(path), endings[i]))
			return false;
	return true;
}

/* Python's tempfile writes and removes such a file to see whether a folder is writable: the name is
 * that of _RandomNameSequence in tempfile.py. */
static bool is_probe(const char *path, const struct trace_record *first)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *name = strrchr(path, '/');
	const uint64_t new_file = O_CREAT | O_EXCL | O_RDWR;

	return name && strspn(name + 1, letters) == 8 && !name[9] && first->op == TRACE_OPEN &&
	       first->len_bytes != TRACE_UNKNOWN && (first->len_bytes & new_file) == new_file;
}

/* ---- folders of code ---- */

/* Add the folder of a module. For a module in __pycache__, add the folder that contains
 * __pycache__. */
static void add_code_folder(struct trace_scope *s, const char *path)
{
	static const char *const modules[] = { ".py", ".pyc", ".so" };
	static const char compiled[] = "/__pycache__";
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	bool is_module = false;

	for (size_t i = 0; i < ARRAY_LEN(modules); i++)
		is_module |= ends_with(path, strlen(path), modules[i]);
	if (!is_module)
		return;
	if (ends_with(path, length, compiled))
		length -= strlen(compiled);
	if (!length)
		return;
	for (size_t i = 0; i < s->code_folders.count; i++)
		if (strncmp(s->code_folders.at[i], path, length) == 0 &&
		    !s->code_folders.at[i][length])
			return;
	vec_push(&s->code_folders, mem_strndup(path, length));
}

/* Is the path a folder of code, or does it contain one? */
static bool is_code_folder(const struct trace_scope *s, const char *path)
{
	size_t length = strlen(path);

	/* "/" is a folder, too. */
	if (length && path[length - 1] == '/')
		length--;
	for (size_t i = 0; i < s->code_folders.count; i++)
		if (strncmp(s->code_folders.at[i], path, length) == 0 &&
		    strchr("/", s->code_folders.at[i][length]))
			return true;
	return false;
}

/* ---- mounts ---- */

/* "\040" is a space, as in /proc/self/mountinfo. */
static bool is_escape(const char *at)
{
	return at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' &&
	       at[3] >= '0' && at[3] <= '7';
}

/* The mount point is the second word of the text. */
static char *mount_point(const char *text)
{
	struct buf point = { 0 };
	const char *at = text + strcspn(text, " ");

	at += strspn(at, " ");
	while (*at && *at != ' ') {
		bool escaped = is_escape(at);

		buf_addc(&point,
			 escaped ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'))
				 : *at);
		at += escaped ? 4 : 1;
	}
	/* In a path, a slash follows the mount point; with the mount point "", this is true for "/"
	 * as well. */
	if (strcmp(buf_str(&point), "/") == 0)
		buf_reset(&point);
	return buf_detach(&point);
}

/* The mount of a path, numbered from 1: the mount with the longest matching mount point, and the
 * last of several with the same mount point. 0 = none. */
static size_t mount_of(const struct trace_scope *s, const char *path)
{
	size_t number = 0, longest = 0;

	if (*path != '/')
		return 0;
	for (size_t i = 0; i < s->mount_count; i++) {
		size_t length = strlen(s->mounts[i].point);

		if (length >= longest && strncmp(path, s->mounts[i].point, length) == 0 &&
		    path[length] == '/') {
			longest = length;
			number = i + 1;
		}
	}
	return number;
}

void trace_scope_add_bytes(struct trace_scope *s, uint32_t file, uint64_t bytes)
{
	if (s->files[file] > SCOPE_IN)
		s->mounts[s->files[file] - SCOPE_IN - 1].bytes += bytes;
}

char *trace_scope_storage(const struct trace_scope *s)
{
	const char *texts[SCOPE_MOUNTS] = { NULL };
	struct buf text = { 0 };
	uint64_t bytes = 0;
	size_t n = 0;

	for (size_t i = 0; i < s->mount_count; i++)
		bytes += s->mounts[i].bytes;
	for (size_t i = 0; i < s->mount_count; i++)
		if (s->mounts[i].bytes >= (bytes + COUNTS_PART - 1) / COUNTS_PART)
			texts[n++] = s->mounts[i].text;
	qsort(texts, n, sizeof(*texts), text_compare);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || strcmp(texts[i], texts[i - 1]) != 0)
			buf_addf(&text, "%s%s", text.len ? ", " : "", texts[i]);
	if (text.len)
		return buf_detach(&text);
	buf_fini(&text);
	return NULL;
}

/* ---- files ---- */

void trace_scope_add_entry(struct trace_scope *s, const struct trace_entry *e)
{
	static const char *const keys[] = { "stdout=", "stderr=" };

	for (size_t i = 0; e->kind == TRACE_FACT && i < ARRAY_LEN(keys); i++)
		if (begins_with(e->text, keys[i]))
			mem_replace(&s->outputs[i], e->text + strlen(keys[i]));
	if (e->kind == TRACE_MOUNT && s->mount_count < SCOPE_MOUNTS)
		s->mounts[s->mount_count++] = (struct scope_mount){
			.text = mem_strdup(e->text),
			.point = mount_point(e->text),
		};
}

void trace_scope_start(struct trace_scope *s, struct trace_ordered *records, bool has_code_folders)
{
	size_t bytes;

	s->records = records;
	s->count = trace_ordered_names(records);
	s->files = mem_array((size_t)s->count + 1, sizeof(*s->files));
	for (uint32_t id = 1; has_code_folders && id <= s->count; id++)
		add_code_folder(s, trace_ordered_name(records, id, &bytes));
}

static bool is_data(const struct trace_scope *s, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(s->outputs); i++)
		if (s->outputs[i] && strcmp(s->outputs[i], path) == 0)
			return false;
	return trace_scope_has_path(path) && !is_code_folder(s, path);
}

bool trace_scope_has(struct trace_scope *s, const struct trace_record *r)
{
	uint32_t id = r->file;
	size_t bytes;

	if (!id || id > s->count)
		return false;
	if (s->files[id] == SCOPE_UNKNOWN) {
		const char *path = trace_ordered_name(s->records, id, &bytes);

		s->files[id] = is_data(s, path) && !is_probe(path, r)
				       ? (unsigned char)(SCOPE_IN + mount_of(s, path))
				       : (unsigned char)SCOPE_OUT;
	}
	return s->files[id] >= SCOPE_IN;
}

bool trace_scope_has_file(const struct trace_scope *s, uint32_t file)
{
	size_t bytes;

	if (!file || file > s->count)
		return false;
	if (s->files[file] == SCOPE_UNKNOWN)
		return is_data(s, trace_ordered_name(s->records, file, &bytes));
	return s->files[file] >= SCOPE_IN;
}

void trace_scope_fini(struct trace_scope *s)
{
	for (size_t i = 0; i < s->code_folders.count; i++)
		mem_free(s->code_folders.at[i]);
	vec_fini(&s->code_folders);
	for (size_t i = 0; i < s->mount_count; i++) {
		mem_free(s->mounts[i].text);
		mem_free(s->mounts[i].point);
	}
	for (size_t i = 0; i < ARRAY_LEN(s->outputs); i++)
		mem_free(s->outputs[i]);
	mem_free(s->files);
	*s = (struct trace_scope){ 0 };
}
