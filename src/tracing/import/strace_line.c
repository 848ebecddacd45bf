/* SPDX-License-Identifier: Apache-2.0 */
/* strace_line.c - split a line of strace into pieces; the tables of tasks and processes. */
#include "tracing/import/import_internal.h"

#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/trace.h"

/* A larger buffer of a pending call is freed when the call ends. */
enum { TEXT_BYTES_KEPT = 16 << 10 };

/* ---- tasks ---- */

static void process_unref(struct strace_process *p)
{
	if (--p->threads)
		return;
	mem_free(p->command);
	mem_free(p->cwd);
	mem_free(p->maps);
	mem_free(p);
}

void strace_task_move(struct strace_task *task, struct strace_process *to)
{
	if (!to) {
		to = mem_zalloc(sizeof(*to));
		to->pid = task->tid;
		to->start_ns = TRACE_UNKNOWN;
	}
	to->threads++;
	if (task->process)
		process_unref(task->process);
	task->process = to;
}

struct strace_task *strace_tasks_add(struct id_map *t, uint32_t tid, struct strace_process *process)
{
	struct strace_task *task = mem_zalloc(sizeof(*task));

	task->tid = tid;
	task->pending.fd = -1;
	strace_task_move(task, process);
	id_map_set(t, tid, task);
	return task;
}

void strace_tasks_remove(struct id_map *t, struct strace_task *task)
{
	id_map_remove(t, task->tid);
	strace_task_unlink(task);
	process_unref(task->process);
	buf_fini(&task->pending.text);
	mem_free(task);
}

void strace_tasks_rename(struct id_map *t, struct strace_task *task, uint32_t tid)
{
	id_map_remove(t, task->tid);
	if (task->process->pid == task->tid)
		task->process->pid = tid;
	task->tid = tid;
	id_map_set(t, tid, task);
}

struct strace_task *strace_tasks_only(const struct id_map *t)
{
	for (size_t i = 0; t->count == 1 && i < t->size; i++)
		if (t->slots[i].value)
			return t->slots[i].value;
	return NULL;
}

void strace_tasks_fini(struct id_map *t)
{
	for (size_t i = 0; i < t->size; i++)
		while (t->slots[i].value)
			strace_tasks_remove(t, t->slots[i].value);
	mem_free(t->slots);
	*t = (struct id_map){ 0 };
}

/* ---- lists ---- */

void strace_task_link(struct strace_task *task, struct strace_task **list)
{
	strace_task_unlink(task);
	task->list = list;
	task->next = *list;
	if (*list)
		(*list)->prev = task;
	*list = task;
}

void strace_task_unlink(struct strace_task *task)
{
	if (!task->list)
		return;
	if (task->prev)
		task->prev->next = task->next;
	else
		*task->list = task->next;
	if (task->next)
		task->next->prev = task->prev;
	task->list = NULL;
	task->prev = task->next = NULL;
	if (task->pending.text.size > TEXT_BYTES_KEPT)
		buf_fini(&task->pending.text);
}

/* ---- processes ---- */

void strace_process_copy(struct strace_process *to, const struct strace_process *from)
{
	size_t bytes = from->map_count * sizeof(*from->maps);

	mem_replace(&to->command, from->command);
	mem_replace(&to->cwd, from->cwd);
	mem_free(to->maps);
	to->maps = bytes ? mem_array(from->map_count, sizeof(*to->maps)) : NULL;
	if (bytes)
		memcpy(to->maps, from->maps, bytes);
	to->map_count = to->map_size = from->map_count;
}

/* The first mapping that ends after `at`. */
static size_t first_map_after(const struct strace_process *p, uint64_t at)
{
	return BISECT(i, 0, p->map_count, p->maps[i].to > at);
}

static void insert_map(struct strace_process *p, size_t i, struct strace_map map)
{
	if (p->map_count == p->map_size) {
		p->map_size = p->map_size ? 2 * p->map_size : 16;
		p->maps = mem_realloc(p->maps, p->map_size * sizeof(*p->maps));
	}
	memmove(&p->maps[i + 1], &p->maps[i], (p->map_count - i) * sizeof(*p->maps));
	p->maps[i] = map;
	p->map_count++;
}

/* Removing the middle of a mapping splits it in two. */
static void remove_maps(struct strace_process *p, uint64_t at, uint64_t to)
{
	size_t i = first_map_after(p, at), gone = i;

	if (i < p->map_count && p->maps[i].from < at) {
		struct strace_map rest = { to, p->maps[i].to, p->maps[i].file };

		p->maps[i].to = at;
		if (rest.to > to) {
			insert_map(p, i + 1, rest);
			return;
		}
		gone = ++i;
	}
	while (gone < p->map_count && p->maps[gone].to <= to)
		gone++;
	if (gone < p->map_count && p->maps[gone].from < to)
		p->maps[gone].from = to;
	memmove(&p->maps[i], &p->maps[gone], (p->map_count - gone) * sizeof(*p->maps));
	p->map_count -= gone - i;
}

void strace_process_map(struct strace_process *p, uint64_t at, uint64_t bytes, uint32_t file)
{
	uint64_t to = at + bytes;

	if (to <= at)
		return;
	if (p->map_count)
		remove_maps(p, at, to);
	if (file)
		insert_map(p, first_map_after(p, at), (struct strace_map){ at, to, file });
}

uint32_t strace_process_mapped(const struct strace_process *p, uint64_t at, uint64_t bytes)
{
	size_t i = first_map_after(p, at);

	return i < p->map_count && p->maps[i].from < at + bytes ? p->maps[i].file : 0;
}

/* ---- numbers ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex_of(char c)
{
	if (is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool strace_text_has(struct strace_text t, const char *part)
{
	return memmem(t.s, t.n, part, strlen(part)) != NULL;
}

static bool parse_digits(const char *s, const char *end, unsigned base, uint64_t *out)
{
	const char *at = s;
	uint64_t v = 0;
	int digit;

	for (; at < end && (digit = hex_of(*at)) >= 0; at++) {
		if ((unsigned)digit >= base)
			break;
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (unsigned)digit, &v))
			return false;
	}
	*out = v;
	return at > s;
}

bool strace_text_number(struct strace_text t, int64_t *out)
{
	const char *s = t.s, *end = t.s + t.n;
	bool is_negative = t.n && *s == '-';
	uint64_t v;

	s += is_negative;
	if (end - s >= 4 && memcmp(s, "NULL", 4) == 0) {
		*out = 0;
		return true;
	}
	if (end - s > 2 && s[0] == '0' && s[1] == 'x') {
		if (!parse_digits(s + 2, end, 16, &v))
			return false;
	} else if (!parse_digits(s, end, 10, &v)) {
		return false;
	}
	*out = (int64_t)(is_negative ? 0 - v : v);
	return true;
}

/* Remove "12.345" from the beginning of `t`, as ns. */
static bool strace_text_seconds(struct strace_text *t, uint64_t *ns)
{
	const char *s = t->s, *end = t->s + t->n;
	uint64_t whole = 0, part = 0, unit = NS_PER_S;

	for (; s < end && is_digit(*s); s++) {
		whole = whole * 10 + (uint64_t)(*s - '0');
		if (whole > INT64_MAX / NS_PER_S)
			return false;
	}
	if (s == t->s)
		return false;
	if (s < end && *s == '.')
		for (s++; s < end && is_digit(*s); s++) {
			unit /= 10;
			part += (uint64_t)(*s - '0') * unit;
		}
	*ns = whole * NS_PER_S + part;
	t->n = (size_t)(end - s);
	t->s = s;
	return true;
}

/* ---- strings ---- */

/* Parse an escape after its backslash. 0 = invalid in a name. */
static unsigned parse_escape(const char **at, const char *end)
{
	static const char letters[] = "abtnvfr";
	const char *letter;
	unsigned v = 0;

	if (*at == end)
		return 0;
	if (**at >= '0' && **at <= '7') {
		for (int i = 0; i < 3 && *at < end && **at >= '0' && **at <= '7'; i++)
			v = v * 8 + (unsigned)(*(*at)++ - '0');
		return v & 0xff;
	}
	letter = memchr(letters, **at, sizeof(letters) - 1);
	if (letter)
		return ++*at, 7 + (unsigned)(letter - letters);
	if (**at != 'x')
		return (unsigned char)*(*at)++;
	++*at;
	for (int i = 0; i < 2 && *at < end && hex_of(**at) >= 0; i++)
		v = v * 16 + (unsigned)hex_of(*(*at)++);
	return v;
}

bool strace_text_unescape(struct strace_text t, struct buf *out)
{
	const char *at = t.s, *end = t.s + t.n;

	while (at < end) {
		const char *slash = memchr(at, '\\', (size_t)(end - at));
		const char *plain = slash ? slash : end;
		unsigned byte;

		buf_addn(out, at, (size_t)(plain - at));
		if (!slash)
			return true;
		at = slash + 1;
		byte = parse_escape(&at, end);
		if (!byte)
			return false;
		buf_addc(out, (char)byte);
	}
	return true;
}

bool strace_text_unquote(struct strace_text t, struct buf *out)
{
	if (t.n < 2 || t.s[0] != '"' || t.s[t.n - 1] != '"')
		return false;
	return strace_text_unescape((struct strace_text){ t.s + 1, t.n - 2 }, out);
}

/* ---- lists ---- */

static const char *pass_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at + 1 : end;
}

/* Pass over an annotation; `at` is at its '<'. A path may contain a device in < >; other
 * annotations may contain brackets, arrows and strings. */
static const char *pass_fd_info(const char *at, const char *end)
{
	bool is_path = end - at > 1 && (at[1] == '/' || at[1] == '\\');
	int depth = 0, brackets = 0;

	while (at < end) {
		if (!is_path && *at == '"') {
			at = pass_string(at, end);
			continue;
		}
		if (!is_path)
			brackets += (*at == '[') - (*at == ']');
		depth += (*at == '<' && brackets <= 0) - (*at == '>' && brackets <= 0);
		at++;
		if (depth == 0)
			return at;
	}
	return end;
}

/*
 * Pass over the unit at *at, up to `end`: a string, a comment, an annotation in < > after a number,
 * or one byte. Returns the change of bracket depth.
 */
static int strace_text_pass(const char *begin, const char **at, const char *end)
{
	const char *s = *at, *close;
	char c = *s;

	*at = s + 1;
	switch (c) {
	case '(':
	case '[':
	case '{':
		return 1;
	case ')':
	case ']':
	case '}':
		return -1;
	case '"':
		*at = pass_string(s, end);
		return 0;
	case '/':
		if (end - s > 1 && s[1] == '*') {
			close = memmem(s + 2, (size_t)(end - s) - 2, "*/", 2);
			*at = close ? close + 2 : end;
		}
		return 0;
	case '<':
		/* 3</a>, AT_FDCWD</a> or 0x3</a>, but not 1<<2. */
		if (s > begin && (hex_of(s[-1]) >= 0 || s[-1] == 'D') && end - s > 1 &&
		    s[1] != '<' && s[1] != ' ' && s[1] != '.')
			*at = pass_fd_info(s, end);
		return 0;
	default:
		return 0;
	}
}

bool strace_text_item(struct strace_text *list, struct strace_text *item)
{
	const char *s = list->s, *end = s + list->n, *at;
	int depth = 0;

	if (list->n && (*s == '[' || *s == '{' || *s == ','))
		s++;
	while (s < end && *s == ' ')
		s++;
	for (at = s; at < end;) {
		const char *was = at;

		if (depth == 0 && (*at == ',' || *at == ']' || *at == '}'))
			break;
		depth += strace_text_pass(s, &at, end);
		if (at == was)
			break;
	}
	*item = (struct strace_text){ s, (size_t)(at - s) };
	*list = (struct strace_text){ at, (size_t)(end - at) };
	return item->n > 0;
}

bool strace_text_member(struct strace_text list, const char *name, struct strace_text *value)
{
	size_t n = strlen(name);
	struct strace_text item;

	while (strace_text_item(&list, &item)) {
		if (item.n <= n || item.s[n] != '=' || memcmp(item.s, name, n) != 0)
			continue;
		*value = (struct strace_text){ item.s + n + 1, item.n - n - 1 };
		return true;
	}
	return false;
}

bool strace_text_member_number(struct strace_text list, const char *name, int64_t *value)
{
	struct strace_text text;

	return strace_text_member(list, name, &text) && strace_text_number(text, value);
}

/* ---- symbol tables ---- */

static struct strace_word *word_slot(const struct strace_words *w, const char *s, size_t n)
{
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	i = (h ^ h >> 15) & (w->size - 1);
	while (w->words[i].name && (w->words[i].bytes != n || memcmp(w->words[i].name, s, n) != 0))
		i = (i + 1) & (w->size - 1);
	return &w->words[i];
}

void strace_words_add(struct strace_words *w, const char *name, size_t bytes, int64_t value)
{
	struct strace_word *to;

	if (2 * (w->count + 1) > w->size) {
		struct strace_words old = *w;

		w->size = old.size ? 2 * old.size : 64;
		w->words = mem_array(w->size, sizeof(*w->words));
		for (size_t i = 0; i < old.size; i++)
			if (old.words[i].name)
				*word_slot(w, old.words[i].name, old.words[i].bytes) = old.words[i];
		mem_free(old.words);
	}
	to = word_slot(w, name, bytes);
	w->count += !to->name;
	*to = (struct strace_word){ name, bytes, value };
}

const struct strace_word *strace_words_find(const struct strace_words *w, struct strace_text t)
{
	const struct strace_word *word = w->size && t.n ? word_slot(w, t.s, t.n) : NULL;

	return word && word->name ? word : NULL;
}

void strace_words_fini(struct strace_words *w)
{
	mem_free(w->words);
	*w = (struct strace_words){ 0 };
}

uint64_t strace_words_flags(const struct strace_words *w, struct strace_text t)
{
	const char *s = t.s, *end = t.s + t.n;
	uint64_t flags = 0;

	while (s < end) {
		const char *at = s;

		while (at < end && *at != '|' && *at != ' ')
			at++;
		struct strace_text one = { s, (size_t)(at - s) };
		const struct strace_word *word = strace_words_find(w, one);
		int64_t number;

		if (word)
			flags |= (uint64_t)word->value;
		else if (strace_text_number(one, &number))
			flags |= (uint64_t)number;
		if (at < end && *at == ' ')
			break;
		s = at + 1;
	}
	return flags;
}

/* A smaller number is not a time since 1970 (this is in 1973), but a relative time (-r). */
#define UNIX_MIN_NS (UINT64_C(100000000) * NS_PER_S)

static void skip(struct strace_text *t, size_t n)
{
	t->s += n;
	t->n -= n;
}

static void skip_blanks(struct strace_text *t)
{
	while (t->n && (*t->s == ' ' || *t->s == '\t'))
		skip(t, 1);
}

/* ---- the prefix of a line ---- */

static bool parse_whole(struct strace_text *t, uint64_t *v)
{
	size_t n = 0;

	*v = 0;
	while (n < t->n && n < 10 && is_digit(t->s[n]))
		*v = *v * 10 + (uint64_t)(t->s[n++] - '0');
	skip(t, n);
	return n > 0;
}

/* Remove "[pid 12] ", "12 ", or "12<name> " (-Y); otherwise leave `t` alone. */
static bool parse_tid(struct strace_text *t, uint32_t *tid)
{
	struct strace_text at = *t;
	bool has_brackets = strace_text_begins(at, "[pid ");
	const char *close;
	uint64_t v;

	if (has_brackets) {
		skip(&at, 5);
		skip_blanks(&at);
	}
	if (!parse_whole(&at, &v) || v > STRACE_TID_MAX)
		return false;
	if (at.n && *at.s == '<') {
		close = memmem(at.s, at.n, has_brackets ? ">] " : "> ", has_brackets ? 3 : 2);
		if (!close)
			return false;
		skip(&at, (size_t)(close - at.s) + 1);
	}
	if (has_brackets && at.n && *at.s == ']')
		skip(&at, 1);
	else if (has_brackets)
		return false;
	if (!at.n || *at.s != ' ')
		return false;
	skip_blanks(&at);
	*t = at;
	*tid = (uint32_t)v;
	return true;
}

/* Parse "23:59:59.123456". */
static bool parse_day(struct strace_text *t, uint64_t *ns)
{
	struct strace_text at = *t;
	uint64_t hours, minutes, seconds_ns;

	if (!parse_whole(&at, &hours) || !at.n || *at.s != ':')
		return false;
	skip(&at, 1);
	if (!parse_whole(&at, &minutes) || !at.n || *at.s != ':')
		return false;
	skip(&at, 1);
	if (!strace_text_seconds(&at, &seconds_ns) || hours > 23 || minutes > 59 ||
	    seconds_ns > 61 * NS_PER_S)
		return false;
	*ns = (hours * 60 + minutes) * 60 * NS_PER_S + seconds_ns;
	*t = at;
	return true;
}

static enum strace_clock parse_time(struct strace_text *t, uint64_t *ns)
{
	struct strace_text at = *t;

	if (!at.n || !is_digit(*at.s))
		return STRACE_TIMELESS;
	if (parse_day(t, ns))
		return STRACE_DAY;
	if (!strace_text_seconds(&at, ns) || !at.n || *at.s != ' ')
		return STRACE_TIMELESS;
	*t = at;
	return *ns >= UNIX_MIN_NS ? STRACE_UNIX : STRACE_RELATIVE;
}

void strace_line_split(struct strace_line *l, struct strace_text line)
{
	struct strace_text *t = &l->body;
	const char *close;

	*l = (struct strace_line){ .body = line };
	skip_blanks(t);
	l->has_tid = parse_tid(t, &l->tid);
	l->clock = parse_time(t, &l->ns);
	skip_blanks(t);
	/* Skip "(+ 0.000123)" of -r with -t, "[  12]" of -n and "[00007f...]" of -i. */
	while (t->n && ((*t->s == '[' && !strace_text_begins(*t, "[ Process")) ||
			strace_text_begins(*t, "(+"))) {
		close = memchr(t->s, *t->s == '[' ? ']' : ')', t->n);
		if (!close)
			break;
		skip(t, (size_t)(close - t->s) + 1);
		skip_blanks(t);
	}
	while (t->n && t->s[t->n - 1] == ' ')
		t->n--;
}

/* ---- the call ---- */

static bool is_name_char(char c)
{
	return is_digit(c) || c == '_' || c == '?' || c == '#' || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

bool strace_call_name(struct strace_text body, struct strace_text *name)
{
	size_t n = 0;

	while (n < body.n && is_name_char(body.s[n]))
		n++;
	*name = (struct strace_text){ body.s, n };
	return n && n < body.n && body.s[n] == '(' && !is_digit(*body.s);
}

static void add_arg(struct strace_call *c, const char *from, const char *to)
{
	while (from < to && *from == ' ')
		from++;
	while (to > from && to[-1] == ' ')
		to--;
	if (c->arg_count < STRACE_ARGS && from < to)
		c->args[c->arg_count++] = (struct strace_text){ from, (size_t)(to - from) };
}

/* Split the arguments after '('. Returns the end of the matching ')'; NULL = none, and the last
 * argument may be incomplete. */
static const char *split_args(struct strace_call *c, const char *s, const char *end)
{
	const char *at = s, *from = s;
	int depth = 1;

	while (at < end) {
		if (depth == 1 && *at == ',') {
			add_arg(c, from, at);
			from = ++at;
			continue;
		}
		depth += strace_text_pass(s, &at, end);
		if (depth == 0) {
			add_arg(c, from, at - 1);
			c->all = (struct strace_text){ s, (size_t)(at - 1 - s) };
			return at;
		}
	}
	add_arg(c, from, end);
	return NULL;
}

uint64_t strace_line_duration(struct strace_text *t)
{
	const char *open = t->n ? memrchr(t->s, '<', t->n) : NULL;
	struct strace_text at;
	uint64_t ns;

	if (!open || t->s[t->n - 1] != '>')
		return TRACE_UNKNOWN;
	at = (struct strace_text){ open + 1, (size_t)(t->s + t->n - open) - 1 };
	if (!strace_text_seconds(&at, &ns) || at.n != 1)
		return TRACE_UNKNOWN;
	t->n = (size_t)(open - t->s);
	return ns;
}

static void parse_fd_info(struct strace_fd_info *p, struct strace_text t)
{
	const char *device;

	*p = (struct strace_fd_info){ .kind = STRACE_FD_NONE };
	if (t.n < 2 || *t.s != '<')
		return;
	const char *at = t.s;
	strace_text_pass(t.s - 1, &at, t.s + t.n);
	if (at - t.s < 3)
		return;
	p->path = (struct strace_text){ t.s + 1, (size_t)(at - t.s) - 2 };
	p->kind = strace_text_begins(p->path, "/") || strace_text_begins(p->path, "\\x2f") ||
				  strace_text_begins(p->path, "\\57")
			  ? STRACE_FD_PATH
			  : STRACE_FD_OTHER;
	if (strace_text_begins(p->path, "/memfd:"))
		p->kind = STRACE_FD_OTHER;
	device = memchr(p->path.s, '<', p->path.n);
	if (p->kind == STRACE_FD_PATH && device) {
		p->is_char = strace_text_begins(
			(struct strace_text){ device, p->path.n - (size_t)(device - p->path.s) },
			"<char ");
		p->path.n = (size_t)(device - p->path.s);
	}
	if (p->path.n > 10 && memcmp(p->path.s + p->path.n - 10, " (deleted)", 10) == 0)
		p->path.n -= 10;
}

bool strace_fd(struct strace_text t, int *fd, struct strace_fd_info *info)
{
	const char *angle = t.n ? memchr(t.s, '<', t.n) : NULL;
	int64_t v;

	if (strace_text_begins(t, "AT_FDCWD"))
		v = AT_FDCWD;
	else if (!strace_text_number(t, &v))
		return false;
	/* Descriptors are also printed unsigned: 4294967295. */
	if (v > INT32_MAX && v <= UINT32_MAX)
		v -= INT64_C(1) << 32;
	if (v < INT32_MIN || v > INT32_MAX)
		return false;
	*fd = (int)v;
	*info = (struct strace_fd_info){ .kind = STRACE_FD_NONE };
	if (angle)
		parse_fd_info(info, (struct strace_text){ angle, t.n - (size_t)(angle - t.s) });
	return true;
}

const char *strace_call_split(struct strace_call *c, struct strace_text body)
{
	const char *end = body.s + body.n, *at;
	struct strace_text t;
	size_t n = 0;

	c->arg_count = 0;
	c->has_result = c->failed = false;
	c->result = 0;
	c->error = c->all = (struct strace_text){ body.s, 0 };
	c->info = (struct strace_fd_info){ .kind = STRACE_FD_NONE };
	c->duration_ns = TRACE_UNKNOWN;
	if (!strace_call_name(body, &c->name))
		return "not a call, a signal or an exit";
	at = split_args(c, body.s + c->name.n + 1, end);
	if (!at)
		return "a call without an end";

	/* The result follows the ')'. */
	t = (struct strace_text){ at, (size_t)(end - at) };
	c->duration_ns = strace_line_duration(&t);
	skip_blanks(&t);
	if (!t.n || *t.s != '=')
		return "a call without a result";
	skip(&t, 1);
	skip_blanks(&t);
	if (t.n && *t.s == '?')
		return NULL;
	if (!strace_text_number(t, &c->result) || strace_text_begins(t, "NULL"))
		return "the result is not a number";
	c->has_result = true;
	while (n < t.n && (is_name_char(t.s[n]) || t.s[n] == '-'))
		n++;
	skip(&t, n);
	parse_fd_info(&c->info, t);
	skip_blanks(&t);
	c->failed = c->result == -1 && t.n;
	if (!c->failed)
		return NULL;

	/* An error: "ENOENT (No such file or directory)" or "(errno 512)". */
	if (strace_text_begins(t, "(errno ")) {
		skip(&t, 7);
		if (!strace_text_number(t, &c->result) || c->result <= 0)
			return "the error is not a number";
		c->result = -c->result;
		c->error = (struct strace_text){ t.s, 0 };
		return NULL;
	}
	for (n = 0; n < t.n && is_name_char(t.s[n]); n++)
		;
	c->error = (struct strace_text){ t.s, n };
	return NULL;
}
