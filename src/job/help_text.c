/* SPDX-License-Identifier: Apache-2.0 */
/* help_text.c - see help_text.h. */
#include "job/help_text.h"

#include <ctype.h>
#include <string.h>

#include "base/wrap.h"
#include "field/fields.h"
#include "job/settings.h"

void help_text_clause(struct buf *out, const char *help)
{
	size_t len = strcspn(help, "\n");
	bool is_word = len > 1 && islower((unsigned char)help[1]);

	if (len && help[len - 1] == '.')
		len--;
	if (!len)
		return;
	buf_addc(out, is_word ? (char)tolower((unsigned char)*help) : *help);
	buf_addn(out, help + 1, len - 1);
}

bool help_text_is_setting(const struct mlgen_field *f)
{
	return f >= settings_fields && f < settings_fields + field_count(settings_fields);
}

void help_text_usage(struct buf *out, const struct mlgen_field *f)
{
	buf_addf(out, "%s%s", help_text_is_setting(f) ? "--" : "", f->name);
	if (help_text_is_setting(f) && f->type == MLGEN_BOOL)
		return;
	buf_addc(out, '=');
	field_type_text(out, f);
}

/* Length of a paragraph: up to a line that ends a sentence. Other line breaks of the tables are
 * ignored. */
static size_t paragraph_length(const char *text)
{
	size_t len = strcspn(text, "\n");

	while (text[len] && len && text[len - 1] != '.')
		len += 1 + strcspn(text + len + 1, "\n");
	return len;
}

/* Append one paragraph, on lines of its own. */
static void put_paragraph(struct buf *line, size_t indent, size_t columns, const char *text,
			  size_t len)
{
	struct buf words = { 0 };

	if (wrap_column_of(line) > indent)
		buf_addf(line, "\n%*s", (int)indent, "");
	for (size_t i = 0; i < len; i++)
		buf_addc(&words, text[i] == '\n' ? ' ' : text[i]);
	wrap_words(line, indent, columns, buf_str(&words));
	buf_fini(&words);
}

void help_text_print(FILE *to, struct buf *line, const char *text, size_t indent, size_t columns)
{
	if (line->len >= indent)
		buf_addf(line, "\n%*s", (int)indent, "");
	else
		buf_addf(line, "%*s", (int)(indent - line->len), "");
	while (*text) {
		size_t len = paragraph_length(text);

		put_paragraph(line, indent, columns, text, len);
		text += len + (text[len] == '\n');
	}
	fprintf(to, "%s\n", buf_str(line));
}
