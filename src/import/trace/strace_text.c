/* SPDX-License-Identifier: Apache-2.0 */
/* strace_text.c - pieces of a line of strace. */
#include "import/trace/strace_text.h"

#include "base/mem.h"
#include "base/util.h"

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

/* ---- numbers ---- */

static bool take_digits(const char *s, const char *end, unsigned base, uint64_t *out)
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
		if (!take_digits(s + 2, end, 16, &v))
			return false;
	} else if (!take_digits(s, end, 10, &v)) {
		return false;
	}
	*out = (int64_t)(is_negative ? 0 - v : v);
	return true;
}

bool strace_text_seconds(struct strace_text *t, uint64_t *ns)
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

static unsigned take_octal(const char **at, const char *end)
{
	unsigned v = 0;

	for (int i = 0; i < 3 && *at < end && **at >= '0' && **at <= '7'; i++)
		v = v * 8 + (unsigned)(*(*at)++ - '0');
	return v;
}

static unsigned take_hex(const char **at, const char *end)
{
	unsigned v = 0;

	for (int i = 0; i < 2 && *at < end && hex_of(**at) >= 0; i++)
		v = v * 16 + (unsigned)hex_of(*(*at)++);
	return v;
}

/* Behind the backslash. 0 = that is no byte of a name. */
static unsigned take_escape(const char **at, const char *end)
{
	static const char letters[] = "abtnvfr";
	const char *letter;

	if (*at == end)
		return 0;
	if (**at >= '0' && **at <= '7')
		return take_octal(at, end) & 0xff;
	letter = memchr(letters, **at, sizeof(letters) - 1);
	if (letter)
		return ++*at, 7 + (unsigned)(letter - letters);
	if (**at == 'x')
		return ++*at, take_hex(at, end);
	return (unsigned char)*(*at)++;
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
		byte = take_escape(&at, end);
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

/* Of a path a device may stand in < > in it; of what is none there may be brackets, arrows and
 * strings. At '<'. */
static const char *pass_place(const char *at, const char *end)
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

static const char *pass_comment(const char *at, const char *end)
{
	const char *close = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);

	return close ? close + 2 : end;
}

/* 3</a>, AT_FDCWD</a>, 0x3</a>; but 1<<2 is none. */
static bool is_place(const char *begin, const char *at, const char *end)
{
	return at > begin && (hex_of(at[-1]) >= 0 || at[-1] == 'D') && end - at > 1 &&
	       at[1] != '<' && at[1] != ' ' && at[1] != '.';
}

int strace_text_pass(const char *begin, const char **at, const char *end)
{
	const char *s = *at;
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
		if (end - s > 1 && s[1] == '*')
			*at = pass_comment(s, end);
		return 0;
	case '<':
		if (is_place(begin, s, end))
			*at = pass_place(s, end);
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

/* ---- words ---- */

static uint32_t hash_of(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct strace_word *place_of(const struct strace_words *w, const char *s, size_t n)
{
	size_t i = hash_of(s, n) & (w->size - 1);

	while (w->words[i].name && (w->words[i].bytes != n || memcmp(w->words[i].name, s, n) != 0))
		i = (i + 1) & (w->size - 1);
	return &w->words[i];
}

static void words_grow(struct strace_words *w)
{
	struct strace_words old = *w;

	w->size = old.size ? 2 * old.size : 64;
	w->words = mem_array(w->size, sizeof(*w->words));
	for (size_t i = 0; i < old.size; i++)
		if (old.words[i].name)
			*place_of(w, old.words[i].name, old.words[i].bytes) = old.words[i];
	mem_free(old.words);
}

void strace_words_add(struct strace_words *w, const char *name, size_t bytes, int64_t value)
{
	struct strace_word *to;

	if (2 * (w->count + 1) > w->size)
		words_grow(w);
	to = place_of(w, name, bytes);
	w->count += !to->name;
	*to = (struct strace_word){ name, bytes, value };
}

const struct strace_word *strace_words_find(const struct strace_words *w, struct strace_text t)
{
	const struct strace_word *found = w->size && t.n ? place_of(w, t.s, t.n) : NULL;

	return found && found->name ? found : NULL;
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
