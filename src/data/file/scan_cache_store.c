/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cache_store.c - the scan cache of one scan: results of an earlier scan, and the file for the
 * next. */
#include "data/file/file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "config.h"
#include "job/job.h"

/* ---- the key ---- */

/* All options that change the results of format->look. */
static char *key_of(const struct dataset *ds)
{
	const struct format_options *o = &ds->options;
	const struct {
		const char *name, *value;
	} texts[] = {
		{ "scan_key", o->scan_key },
		{ "scan_pair", o->scan_pair },
		{ "hdf5_dataset", o->hdf5_dataset },
		{ "read_columns", o->read_columns },
	};
	struct buf key = { 0 };

	buf_addf(&key, "format=%s, access=%s", ds->format->name,
		 o->access == ACCESS_FRAMEWORK ? "framework" : "plain");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].value)
			buf_addf(&key, ", %s=%s", texts[i].name, texts[i].value);
	if (o->decompress != DECOMPRESS_NONE)
		buf_addf(&key, ", decompress=%d", o->decompress);
	buf_addf(&key, " by mlgen %s", MLGEN_VERSION);
	return buf_detach(&key);
}

/* ---- the old cache ---- */

static int refuse_stored(const struct scan_cache_store *k, int code, const char *what,
			 struct mlgen_err *err)
{
	return mlgen_fail(err, code, "scan_cache: %s: %s", k->req.path, what);
}

static int open_path(struct scan_cache_store *k, struct mlgen_err *err)
{
	struct stat st;

	k->path = scan_cache_path(k->req.path);
	k->fd = open(k->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (k->fd < 0 && errno == ENOENT) {
		/* There is no cache yet. Check now that one can be created when the scan ends. */
		const char *slash = strrchr(k->path, '/');
		char *folder = slash ? mem_strndup(k->path,
						   slash == k->path ? 1 : (size_t)(slash - k->path))
				     : mem_strdup(".");
		int r = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) ? -errno : 0;

		mem_free(folder);
		return r ? mlgen_fail(err, r,
				      "scan_cache: %s: cannot be created: %s; name a file in a "
				      "writable directory",
				      k->req.path, strerror(-r))
			 : 0;
	}
	if (k->fd < 0 || fstat(k->fd, &st) != 0)
		return refuse_stored(k, -errno, strerror(errno), err);
	const char *other = filekind_other(st.st_mode);
	return other ? mlgen_fail(err, -EINVAL,
				  "scan_cache: %s: is %s, not a regular file; name another file",
				  k->req.path, other)
		     : 0;
}

char *scan_cache_path(const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;
	char *out = path ? mem_strdup(real ? real : path) : NULL;

	free(real);
	return out;
}

int scan_cache_store_open(struct scan_cache_store **out, const struct scan_cache_request *req,
			  const struct dataset *ds, struct mlgen_err *err)
{
	int r = 0;

	*out = NULL;
	if (!req || (!req->path && !req->memory))
		return 0;
	struct scan_cache_store *k = mem_zalloc(sizeof(*k));
	k->req = *req;
	k->key = key_of(ds);
	k->directory = mem_strdup(ds->directory);
	k->fd = req->path ? -1 : req->memory->scan_fd;
	k->replace.fd = k->writer.fd = -1;
	if (req->path)
		r = open_path(k, err);
	if (r == 0 && k->fd >= 0) {
		struct mlgen_err why = { 0 };
		enum scan_cache_state state = scan_cache_open(&k->cache, k->fd, k->key, &why);

		k->has_cache = state == SCAN_CACHE_FITS;
		if (state == SCAN_CACHE_FOREIGN)
			r = refuse_stored(
				k, -EINVAL,
				"is not a scan cache and was not changed; name another file", err);
		else if (state == SCAN_CACHE_USELESS && k->req.path && !k->req.is_quiet)
			log_note("scan_cache: %s: %s; mlgen reads all files again and rewrites the "
				 "scan cache",
				 k->req.path, why.text);
	}
	if (r)
		scan_cache_store_free(k);
	else
		*out = k;
	return r;
}

void scan_cache_store_free(struct scan_cache_store *k)
{
	if (!k)
		return;
	if (k->req.path && k->fd >= 0)
		close(k->fd);
	scan_cache_writer_fini(&k->writer);
	replace_abandon(&k->replace);
	mem_free(k->path);
	mem_free(k->key);
	mem_free(k->directory);
	mem_free(k);
}

/* ---- lookups ---- */

struct words_sink {
	struct namefile *words;
	struct mlgen_err *err;
};

static int append_words(void *arg, const uint64_t *words, size_t count)
{
	struct words_sink *s = arg;

	return namefile_add(s->words, (const char *)words, count * sizeof(*words), s->err);
}

int scan_cache_lookup(struct scan_cache_store *k, struct scan_cursor *cursor, const char *name,
		      const struct scan_stamp *stamp, struct scan_cached *found,
		      struct namefile *words, struct mlgen_err *err)
{
	struct words_sink sink = { words, err };
	const struct scan_record *r =
		k->has_cache ? scan_cursor_find(cursor, k->req.part, name) : NULL;
	uint64_t end = words->end;

	if (!r || r->stamp.size_bytes != stamp->size_bytes ||
	    r->stamp.mtime_ns != stamp->mtime_ns || r->stamp.sidecars != stamp->sidecars)
		return 0;
	int rc = scan_cache_words(&k->cache, &r->found, append_words, &sink);
	if (rc == 0) {
		*found = r->found;
		atomic_fetch_add(&k->hits, 1);
		return 1;
	}
	if (rc != -EBADMSG)
		return rc;
	namefile_cut(words, end);
	atomic_fetch_add(&k->damaged, 1);
	return 0;
}

void scan_cache_warn_unused(const struct scan_cache_store *k)
{
	uint64_t damaged = atomic_load(&k->damaged);
	uint64_t known = k->has_cache ? k->cache.header.files[k->req.part] : 0;
	char text[UNITS_TEXT_BYTES];

	if (!k->req.path || k->req.is_quiet)
		return;
	if (damaged)
		log_note("scan_cache: %s: it is damaged at %s file%s; %s read again", k->req.path,
			 units_human_count(text, damaged), plural(damaged),
			 damaged == 1 ? "it was" : "they were");
	else if (known && atomic_load(&k->hits) == 0)
		log_note("scan_cache: %s: none of its %s file%s is unchanged; all were read again",
			 k->req.path, units_human_count(text, known), plural(known));
}

/* ---- the new cache ---- */

static enum scan_part other_part(const struct scan_cache_store *k)
{
	return k->req.part == SCAN_TRAINING ? SCAN_EVALUATION : SCAN_TRAINING;
}

static int copy_record_words(void *arg, const uint64_t *words, size_t count)
{
	return scan_cache_add_words(arg, words, count);
}

static int copy_other_part(struct scan_cache_store *k)
{
	const uint64_t *files = k->cache.header.files;
	enum scan_part part = other_part(k);
	uint64_t from = part == SCAN_TRAINING ? 0 : files[SCAN_TRAINING];
	int r = 0;

	if (!k->has_cache || !files[part])
		return 0;
	struct scan_cursor *cursor = mem_zalloc(sizeof(*cursor));
	scan_cursor_init(cursor, &k->cache);
	for (uint64_t i = 0; i < files[part] && r == 0; i++) {
		const char *name;
		const struct scan_record *record = scan_cursor_at(cursor, from + i, &name);

		if (!record) {
			r = -EBADMSG;
			break;
		}
		struct scan_cached found = record->found;
		struct scan_stamp stamp = record->stamp;
		r = scan_cache_words(&k->cache, &found, copy_record_words, &k->writer);
		/* A record with damaged words keeps its place, but gets a stamp that matches no
		 * file. */
		if (r == -EBADMSG) {
			found.word_count = 0;
			stamp.size_bytes = 0;
			r = 0;
		}
		if (r == 0)
			r = scan_cache_add(&k->writer, part, name, record->name_bytes, &stamp,
					   &found);
	}
	mem_free(cursor);
	return r;
}

int scan_cache_replace_begin(struct scan_cache_store *k, uint64_t files, uint64_t name_bytes)
{
	uint64_t count[SCAN_PARTS] = { 0 }, names[SCAN_PARTS] = { 0 };
	enum scan_part other = other_part(k);
	struct stat st;
	int fd, r;

	if (k->req.path) {
		r = replace_begin(&k->replace, k->path,
				  k->fd >= 0 && fstat(k->fd, &st) == 0 ? st.st_mode & 07777
								       : replace_new_mode());
		fd = r ? r : k->replace.fd;
	} else {
		fd = unnamed_open(unnamed_folder(k->directory));
	}
	if (fd < 0)
		return fd;
	if (k->has_cache) {
		count[other] = k->cache.header.files[other];
		names[other] = k->cache.header.name_bytes[other];
	}
	count[k->req.part] = files;
	names[k->req.part] = name_bytes;
	r = scan_cache_begin(&k->writer, fd, k->key, count, names);
	return r || other != SCAN_TRAINING ? r : copy_other_part(k);
}

int scan_cache_replace_end(struct scan_cache_store *k)
{
	int r = other_part(k) == SCAN_EVALUATION ? copy_other_part(k) : 0;

	if (r == 0)
		r = scan_cache_end(&k->writer);
	if (r)
		return r;
	if (k->req.path)
		return replace_commit(&k->replace);
	if (k->fd >= 0)
		close(k->fd);
	k->fd = k->req.memory->scan_fd = k->writer.fd;
	return 0;
}

void scan_cache_replace_failed(struct scan_cache_store *k, int code)
{
	if (k->req.path && !k->req.is_quiet)
		log_warn("scan_cache: %s: cannot be written: %s; the results of this scan are not "
			 "kept",
			 k->req.path, strerror(-code));
	if (!k->req.path && k->writer.fd >= 0)
		close(k->writer.fd);
}
