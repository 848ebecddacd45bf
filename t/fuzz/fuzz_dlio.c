/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_dlio.c - any text as a workload of DLIO's: refused, or the lines of a job file. */
#include "fuzz.h"

#include <string.h>

#include "base/buf.h"
#include "import/dlio/dlio_config.h"

/* A comment, a header, an option, or nothing; no byte that is no text. A path may have a tab in it,
 * which a job file can hold. */
static void check_line(const char *line, size_t len)
{
	for (size_t i = 0; i < len; i++)
		MUST(line[i] == '\t' || ((unsigned char)line[i] >= 0x20 && line[i] != 0x7f));
	MUST(!len || *line == '#' || *line == '[' || memchr(line, '=', len) ||
	     (len == 9 && memcmp(line, "stonewall", 9) == 0));
	/* libinih's shortest limit; comments never get there. */
	MUST(*line == '#' || len < 198);
}

static void check_job(const char *job)
{
	while (*job) {
		size_t len = strcspn(job, "\n");

		check_line(job, len);
		job += len + (job[len] == '\n');
	}
}

static void check(const struct yaml_node *root)
{
	struct dlio_config c;
	struct buf job = { 0 };

	dlio_config_read(&c, root);
	if (!c.fault_count)
		dlio_job(&c, "fuzz_h100.yaml", &job);
	MUST(!c.fault_count == !c.faults.len);
	if (!c.fault_count)
		check_job(buf_str(&job));
	buf_fini(&job);
	dlio_config_fini(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mlgen_err err = { 0 };
	struct yaml_tree t = { 0 };
	struct yaml_node *root;
	int rc = yaml_tree_parse(&t, "f", true, (const char *)data, size, &root, &err);

	MUST(rc == 0 || (err.code && *err.text && !root));
	if (root && root->kind == YAML_MAP)
		check(root);
	yaml_tree_fini(&t);
	return 0;
}
