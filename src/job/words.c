/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - what stands for something else in a value: ${VAR} and $ncpus. */
#include "job/words.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_word_char(char c)
{
	return c == '_' || isalnum((unsigned char)c);
}

static bool is_word_start(char c)
{
	return c == '_' || isalpha((unsigned char)c);
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	if (!is_word_start(*s))
		return 0;
	while (is_word_char(s[n]))
		n++;
	return n;
}

/* `inside` is what stands between the braces. */
static int expand_variable(struct buf *out, const char *inside, struct mlgen_err *err)
{
	size_t len = word_length(inside);
	bool has_default = len && strncmp(inside + len, ":-", 2) == 0;
	char *name = NULL;
	const char *value = NULL;
	int rc = 0;

	if (!len || (inside[len] && !has_default) || strstr(inside, "${"))
		return mlgen_fail(err, -EINVAL,
				  "${%s}: a variable is written ${NAME} or ${NAME:-default}",
				  inside);
	name = mem_strndup(inside, len);
	value = getenv(name);
	if (has_default && (!value || !*value))
		value = inside + len + 2;
	if (value)
		buf_add(out, value);
	else
		rc = mlgen_fail(err, -EINVAL, "${%s} is not set; set it, or write ${%s:-default}",
				name, name);
	mem_free(name);
	return rc;
}

static void expand_number(struct buf *out, long n)
{
	buf_addf(out, "%ld", n > 0 ? n : 1);
}

static bool expand_word(struct buf *out, const char *word, size_t len, const char *jobname)
{
	long page_bytes = sysconf(_SC_PAGESIZE);

	if (len == 5 && strncmp(word, "ncpus", len) == 0)
		expand_number(out, sysconf(_SC_NPROCESSORS_ONLN));
	else if (len == 8 && strncmp(word, "pagesize", len) == 0)
		expand_number(out, page_bytes);
	else if (len == 9 && strncmp(word, "mb_memory", len) == 0)
		expand_number(out, sysconf(_SC_PHYS_PAGES) / 1024 * (page_bytes / 1024));
	else if (len == 7 && strncmp(word, "jobname", len) == 0)
		buf_add(out, jobname);
	else
		return false;
	return true;
}

int words_expand_env(struct buf *out, const char *text, struct mlgen_err *err)
{
	while (*text) {
		size_t plain = strcspn(text, "$");
		const char *end = NULL;
		char *inside = NULL;
		int rc = 0;

		buf_addn(out, text, plain);
		text += plain;
		if (!*text)
			break;
		if (text[1] != '{') {
			buf_addc(out, *text++);
			continue;
		}
		end = strchr(text, '}');
		if (!end)
			return mlgen_fail(err, -EINVAL,
					  "%s: '}' is missing; a variable is written ${NAME}",
					  text);
		inside = mem_strndup(text + 2, (size_t)(end - text) - 2);
		rc = expand_variable(out, inside, err);
		mem_free(inside);
		if (rc)
			return rc;
		text = end + 1;
	}
	return 0;
}

int words_expand(struct buf *out, const char *text, const char *jobname, struct mlgen_err *err)
{
	while (*text) {
		size_t plain = strcspn(text, "$");
		size_t len = 0;

		buf_addn(out, text, plain);
		text += plain;
		if (!*text)
			break;
		if (text[1] == '{')
			return mlgen_fail(err, -EINVAL,
					  "'%s': only a job file's own ${NAME} is replaced", text);
		len = word_length(text + 1);
		if (!len)
			buf_addc(out, *text);
		else if (!expand_word(out, text + 1, len, jobname))
			return mlgen_fail(err, -EINVAL,
					  "'$%.*s': the words are $ncpus $mb_memory $pagesize "
					  "$jobname; a variable is written ${NAME}",
					  (int)len, text + 1);
		text += len + 1;
	}
	return 0;
}

bool words_is_replaced(const char *dollar)
{
	return dollar[1] == '{' || is_word_start(dollar[1]);
}
