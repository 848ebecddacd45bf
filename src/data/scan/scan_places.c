/* SPDX-License-Identifier: Apache-2.0 */
/* scan_places.c - the folders and files that directory= names. */
#include "data/scan/scan_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"

/* Limit for the number of names that braces expand to. */
#define BRACES_MAX 1000000u

/* ---- braces ---- */

/* Limit for the digits of a number in a range, which fit int64_t. */
#define DIGITS_MAX 18

/* Limit for the bytes of all names. */
#define BYTES_MAX ((size_t)256 << 20)

/* A pair of braces, as in "a{b,c}d". */
struct brace_pair {
	const char *open, *close; /* NULL: there are none */
	bool has_comma;           /* ignores commas of nested pairs */
};

struct brace_range {
	int64_t first, last, step;
	int width; /* width of zero-padded numbers; 0 = no padding */
	bool is_letters;
};

void namelist_add(struct namelist *l, char *name)
{
	vec_push(l, name);
	l->bytes += strlen(name) + 1;
}

void namelist_fini(struct namelist *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->at[i]);
	vec_fini(l);
	*l = (struct namelist){ 0 };
}

/* ---- ranges ---- */

/* Parse a number. Returns the end of it, or NULL. */
static const char *parse_number(const char *s, const char *end, int64_t *v)
{
	bool is_negative = s < end && *s == '-';
	const char *from;

	*v = 0;
	s += s < end && (*s == '-' || *s == '+');
	for (from = s; s < end && isdigit((unsigned char)*s); s++) {
		if (s - from == DIGITS_MAX)
			return NULL;
		*v = *v * 10 + (*s - '0');
	}
	if (is_negative)
		*v = -*v;
	return s == from ? NULL : s;
}

/* Parse the first or last number or letter of a range. Returns the end of it, or NULL. */
static const char *parse_bound(struct brace_range *r, const char *s, const char *end, int64_t *v)
{
	const char *from = s, *digits;

	if (r->is_letters) {
		if (s == end || !isalpha((unsigned char)*s))
			return NULL;
		*v = (unsigned char)*s;
		return s + 1;
	}
	s = parse_number(s, end, v);
	if (!s)
		return NULL;
	/* A number with leading zeros sets the width of all numbers in its range. */
	digits = from + (*from == '-' || *from == '+');
	if (*digits == '0' && s - digits > 1 && s - from > r->width)
		r->width = (int)(s - from);
	return s;
}

static const char *after_dots(const char *s, const char *end)
{
	return s && end - s > 2 && s[0] == '.' && s[1] == '.' ? s + 2 : NULL;
}

/* Parse "000..127" or "a..f", optionally followed by a step such as "..2". */
static bool parse_range(struct brace_range *r, const char *s, const char *end)
{
	*r = (struct brace_range){ .step = 1, .is_letters = s < end && isalpha((unsigned char)*s) };
	s = after_dots(parse_bound(r, s, end, &r->first), end);
	s = s ? parse_bound(r, s, end, &r->last) : NULL;
	if (s && s != end) {
		s = after_dots(s, end);
		s = s ? parse_number(s, end, &r->step) : NULL;
	}
	if (s != end)
		return false;
	if (r->step < 0)
		r->step = -r->step;
	if (r->step == 0)
		r->step = 1;
	return true;
}

/* ---- expansion ---- */

static bool is_full(const struct namelist *l)
{
	return l->is_over || l->count > BRACES_MAX || l->bytes > BYTES_MAX;
}

/* Find the first braces that have a comma or a range. */
static struct brace_pair find_pair(const char *name)
{
	for (const char *open = name; (open = strchr(open, '{')); open++) {
		struct brace_pair p = { .open = open };
		struct brace_range r;
		unsigned depth = 0;

		for (const char *c = open; *c && !p.close; c++) {
			depth += *c == '{';
			p.has_comma |= *c == ',' && depth == 1;
			if (*c == '}' && --depth == 0)
				p.close = c;
		}
		if (p.close && (p.has_comma || parse_range(&r, open + 1, p.close)))
			return p;
	}
	return (struct brace_pair){ 0 };
}

/* Make the name with `n` bytes of `part` in place of the braces. */
static char *replace_pair(const char *name, const struct brace_pair *p, const char *part, size_t n)
{
	size_t before = (size_t)(p->open - name), after = strlen(p->close + 1);
	char *s = mem_zalloc(before + n + after + 1);

	memcpy(s, name, before);
	memcpy(s + before, part, n);
	memcpy(s + before + n, p->close + 1, after);
	return s;
}

static void append_range(struct namelist *to, const char *name, const struct brace_pair *p,
			 const struct brace_range *r)
{
	uint64_t far = r->last > r->first ? (uint64_t)r->last - (uint64_t)r->first
					  : (uint64_t)r->first - (uint64_t)r->last;
	uint64_t count = far / (uint64_t)r->step + 1;

	to->is_over = count > BRACES_MAX;
	for (uint64_t i = 0; i < count && !is_full(to); i++) {
		int64_t by = (int64_t)i * r->step;
		int64_t v = r->last > r->first ? r->first + by : r->first - by;
		char text[32];
		int n = r->is_letters ? snprintf(text, sizeof(text), "%c", (int)v)
				      : snprintf(text, sizeof(text), "%0*" PRId64, r->width, v);

		namelist_add(to, replace_pair(name, p, text, (size_t)n));
	}
}

static void append_parts(struct namelist *to, const char *name, const struct brace_pair *p)
{
	const char *from = p->open + 1;
	unsigned depth = 0;

	for (const char *c = from; c <= p->close && !is_full(to); c++) {
		depth += *c == '{';
		if (depth == 0 && (*c == ',' || c == p->close)) {
			namelist_add(to, replace_pair(name, p, from, (size_t)(c - from)));
			from = c + 1;
		}
		depth -= *c == '}' && depth;
	}
}

int braces_expand(struct namelist *to, const char *name, struct mlgen_err *err)
{
	struct namelist now = { 0 };
	bool any = true;

	namelist_add(&now, mem_strdup(name));
	while (any && !is_full(&now)) {
		struct namelist next = { 0 };

		/* Expand the first pair of every name. */
		any = false;
		for (size_t i = 0; i < now.count && !is_full(&next); i++) {
			struct brace_pair p = find_pair(now.at[i]);
			struct brace_range r;

			if (!p.open)
				namelist_add(&next, mem_strdup(now.at[i]));
			else if (!p.has_comma && parse_range(&r, p.open + 1, p.close))
				append_range(&next, now.at[i], &p, &r);
			else
				append_parts(&next, now.at[i], &p);
			any |= p.open != NULL;
		}

		namelist_fini(&now);
		now = next;
	}
	if (is_full(&now)) {
		namelist_fini(&now);
		return mlgen_fail(err, -E2BIG,
				  "%.80s%s: its braces expand to more names than the limit of %u; "
				  "a glob, or file_list=FILE, allows more",
				  name, strlen(name) > 80 ? "..." : "", BRACES_MAX);
	}
	for (size_t i = 0; i < now.count; i++)
		namelist_add(to, now.at[i]);
	mem_free(now.at);
	return 0;
}

/* ---- adding places ---- */

static int add_place(struct scan_places *p, const char *path, struct mlgen_err *err)
{
	struct stat st;
	size_t n = strlen(path);

	if (n >= PATH_MAX)
		return mlgen_fail(err, -ENAMETOOLONG, "directory: %.60s... is too long", path);
	if (stat(path, &st) != 0)
		return mlgen_fail(err, -errno,
				  "%s: %s; dataset=scan reads the files of a directory that exists",
				  path, strerror(errno));
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return mlgen_fail(err, -EINVAL,
				  "%s: a socket, pipe or device; dataset=scan reads files and "
				  "directories of files",
				  path);
	while (n > 1 && path[n - 1] == '/')
		n--;
	vec_push(p, (struct scan_place){ .path = mem_strndup(path, n),
					 .is_folder = S_ISDIR(st.st_mode) });
	return 0;
}

static bool path_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int add_glob(struct scan_places *p, const char *pattern, struct mlgen_err *err)
{
	glob_t g = { 0 };
	int r = glob(pattern, 0, NULL, &g), rc = 0;

	if (r == GLOB_NOMATCH)
		rc = mlgen_fail(err, -ENOENT, "directory: nothing matches %s", pattern);
	else if (r)
		rc = mlgen_fail(err, r == GLOB_NOSPACE ? -ENOMEM : -EIO,
				"directory: %s: cannot list what matches this", pattern);
	for (size_t i = 0; r == 0 && i < g.gl_pathc && rc == 0; i++)
		rc = add_place(p, g.gl_pathv[i], err);
	globfree(&g);
	return rc;
}

static int add_names(struct scan_places *p, const char *entry, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	struct namelist names = { 0 };
	size_t missing = 0;
	int r = braces_expand(&names, entry, err);

	for (size_t i = 0; i < names.count && r == 0; i++)
		r = strpbrk(names.at[i], "*?[") && !path_exists(names.at[i])
			    ? add_glob(p, names.at[i], &why)
			    : add_place(p, names.at[i], &why);
	for (size_t i = 0; i < names.count && r == -ENOENT; i++)
		missing += !strpbrk(names.at[i], "*?[") && !path_exists(names.at[i]);
	if (why.code && missing > 1)
		mlgen_fail(err, r, "%s (the same for %zu of the %zu names of %s)", why.text,
			   missing, names.count, entry);
	else if (why.code)
		mlgen_fail(err, r, "%s", why.text);
	namelist_fini(&names);
	return r;
}

static int add_entries(struct scan_places *p, const char *directory, struct mlgen_err *err)
{
	const char *at = directory;
	int r = 0;

	while (r == 0) {
		/* Copy the next path. Colons separate the paths; "" means that there are no
		 * more. */
		const char *from = at + strspn(at, ":");
		char *entry = mem_zalloc(strlen(from) + 1);
		size_t n = 0;

		for (; *from && *from != ':'; from++) {
			if (from[0] == '\\' && from[1] == ':')
				from++;
			entry[n++] = *from;
		}
		at = from;

		bool is_end = !*entry;

		if (!is_end)
			r = path_exists(entry) ? add_place(p, entry, err)
					       : add_names(p, entry, err);
		mem_free(entry);
		if (is_end)
			break;
	}
	if (r == 0 && p->count == 0)
		r = mlgen_fail(err, -EINVAL, "directory: '%s' names nothing", directory);
	return r;
}

/* ---- base of the places ---- */

static bool is_relative(const struct scan_places *p, bool relative)
{
	for (size_t i = 0; i < p->count; i++)
		if ((p->at[i].path[0] != '/') != relative)
			return false;
	return true;
}

/* Remove "//", "/." and a leading "./" in place. */
static void normalize_path(char *path)
{
	char *to = path, *from = path;

	while (*from) {
		bool begins = from == path || from[-1] == '/';

		if (begins && (from[0] == '/' ? from > path : from[0] == '.' && from[1] == '/'))
			from += from[0] == '/' ? 1 : 2;
		else
			*to++ = *from++;
	}
	*to = '\0';
	while (to - path > 1 && to[-1] == '.' && to[-2] == '/')
		*(to -= to - path > 2 ? 2 : 1) = '\0';
}

/* Write all paths in the same form: normalized, and absolute if any of them is absolute. */
static int normalize_paths(struct scan_places *p, struct mlgen_err *err)
{
	bool mixed = !is_relative(p, true) && !is_relative(p, false);
	char cwd[PATH_MAX];

	if (mixed && !getcwd(cwd, sizeof(cwd)))
		return mlgen_fail(err, -errno, "directory: getcwd: %s", strerror(errno));
	for (size_t i = 0; i < p->count; i++) {
		char *path = p->at[i].path;

		if (mixed && *path != '/') {
			size_t n = strlen(cwd) + strlen(path) + 2;

			p->at[i].path = mem_zalloc(n);
			snprintf(p->at[i].path, n, "%s/%s", cwd, path);
			mem_free(path);
		}
		normalize_path(p->at[i].path);
	}
	return 0;
}

/* Length of the folder that contains both the path in the first n bytes of `a` and the path `b`. */
static size_t common_folder(const char *a, size_t n, const char *b)
{
	size_t same = 0;

	while (same < n && a[same] == b[same])
		same++;
	if (same == n && (b[n] == '/' || b[n] == '\0' || (n == 1 && *a == '/')))
		return n;
	if (b[same] == '\0' && a[same] == '/')
		return same;
	while (same > 0 && a[same - 1] != '/')
		same--;
	return same > 1 ? same - 1 : same;
}

/* Length of the folder that a place is or, if it is a file, that contains the file. */
static size_t folder_length(const struct scan_place *at)
{
	const char *slash = strrchr(at->path, '/');

	if (at->is_folder)
		return strcmp(at->path, ".") == 0 ? 0 : strlen(at->path);
	if (!slash)
		return 0;
	return slash == at->path ? 1 : (size_t)(slash - at->path);
}

static void set_place_name(struct scan_place *at, const char *base)
{
	size_t n = strlen(base);

	if (strcmp(at->path, base) == 0)
		at->name = at->path + n;
	else if (strcmp(base, ".") == 0 && strncmp(at->path, "./", 2) != 0)
		at->name = at->path;
	else
		at->name = at->path + n + (base[n - 1] != '/');
}

int places_settle(struct scan_places *p, struct mlgen_err *err)
{
	int r = p->count > 1 ? normalize_paths(p, err) : 0;

	if (r)
		return r;
	const char *first = p->at[0].path;
	size_t n = folder_length(&p->at[0]);
	for (size_t i = 1; i < p->count; i++) {
		n = common_folder(first, n, p->at[i].path);
		n = u64_min(n, folder_length(&p->at[i]));
	}
	p->base = n ? mem_strndup(first, n) : mem_strdup(".");
	for (size_t i = 0; i < p->count; i++)
		set_place_name(&p->at[i], p->base);
	return 0;
}

/* ---- train/ and valid/ ---- */

static bool is_folder(const char *path, const char *name)
{
	char full[PATH_MAX];
	struct stat st;
	int n = snprintf(full, sizeof(full), "%s/%s", path, name);

	return n > 0 && (size_t)n < sizeof(full) && stat(full, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Is this a usual folder next to train/? */
static bool is_split_folder(const char *name)
{
	static const char *const known[] = {
		"train", "valid", "val",    "validation", "eval",       "dev",
		"test",  "index", "labels", "metadata",   "lost+found",
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	return *name == '.';
}

static bool has_other_folder(const char *path)
{
	DIR *dir = opendir(path);
	bool other = !dir;
	struct dirent *d;

	while (dir && !other && (d = readdir(dir)))
		other = d->d_type != DT_REG && !is_split_folder(d->d_name) &&
			is_folder(path, d->d_name);
	if (dir)
		closedir(dir);
	return other;
}

static bool is_laid_out(const struct scan_place *at, bool is_known)
{
	return at->is_folder && is_folder(at->path, "train") &&
	       (is_known || is_folder(at->path, "valid") || !has_other_folder(at->path));
}

static void move_to_subfolder(struct scan_places *p, struct scan_place *at, const char *name)
{
	size_t n = strlen(at->path) + strlen(name) + 2;
	char *path = mem_zalloc(n);

	snprintf(path, n, "%s/%s", strcmp(at->path, "/") == 0 ? "" : at->path, name);
	mem_free(at->path);
	at->path = path;
	set_place_name(at, p->base);
}

int places_find(struct scan_places *p, const char *directory, struct mlgen_err *err)
{
	*p = (struct scan_places){ 0 };
	/* An existing path may contain colons, braces and pattern characters. */
	int r = path_exists(directory) ? add_place(p, directory, err)
				       : add_entries(p, directory, err);
	if (r == 0)
		r = places_settle(p, err);
	if (r)
		places_fini(p);
	return r;
}

void places_add_file(struct scan_places *p, const char *path)
{
	vec_push(p, (struct scan_place){ .path = mem_strdup(path) });
}

void places_fini(struct scan_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		mem_free(p->at[i].path);
	mem_free(p->at);
	mem_free(p->base);
	*p = (struct scan_places){ 0 };
}

void places_select_training(struct scan_places *p, bool is_known)
{
	for (size_t i = 0; i < p->count; i++)
		if (is_laid_out(&p->at[i], is_known))
			move_to_subfolder(p, &p->at[i], "train");
}

int places_select_evaluation(struct scan_places *p, bool is_known, struct mlgen_err *err)
{
	size_t left = 0;

	for (size_t i = 0; i < p->count; i++) {
		struct scan_place *at = &p->at[i];

		if (!is_laid_out(at, is_known) || !is_folder(at->path, "valid")) {
			mem_free(at->path);
			continue;
		}
		move_to_subfolder(p, at, "valid");
		p->at[left++] = *at;
	}
	p->count = left;
	return left ? 0
		    : mlgen_fail(err, -EINVAL,
				 "eval_files: %s has no folders train and valid, which "
				 "dataset=scan uses to train and to evaluate; use eval_files=0",
				 p->base);
}
