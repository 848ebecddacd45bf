/* SPDX-License-Identifier: Apache-2.0 */
/* import_text.c - --import=csv and fio-iolog: texts that mlgen writes itself, too, all lines of
 * which count. */
#include "import/trace/importer.h"

#include "base/log.h"
#include "trace/trace_csv.h"
#include "trace/trace_iolog.h"

static int read_csv(struct importing *m, struct trace_input *in, struct mlgen_err *err)
{
	struct trace_csv_read what = { 0 };
	int rc = trace_csv_read(in, m->fill, &what, err);

	if (rc == 0 && what.ignored.len)
		log_warn("%s: columns that a trace does not have are left out: %s", in->name,
			 buf_str(&what.ignored));
	if (rc == 0 && what.has_phases)
		log_note("%s: phases are not kept; a trace has them by rows of op epoch, stage and "
			 "checkpoint, and there are none",
			 in->name);
	m->tally.is_cut = what.is_cut;
	trace_csv_read_fini(&what);
	return rc;
}

int import_csv(struct importing *m, struct mlgen_err *err)
{
	struct trace_input in;
	int rc = trace_input_open(&in, m->files[0], err);

	if (rc == 0)
		rc = read_csv(m, &in, err);
	trace_input_close(&in);
	return rc;
}

static int read_iolog(struct importing *m, struct trace_input *in, struct mlgen_err *err)
{
	struct trace_iolog_read what = { 0 };
	int rc = trace_iolog_read(in, m->fill, &what, err);

	if (rc == 0)
		trace_iolog_tell(in->name, &what);
	m->tally.is_cut = what.is_cut;
	return rc;
}

int import_iolog(struct importing *m, struct mlgen_err *err)
{
	struct trace_input in;
	int rc = trace_input_open(&in, m->files[0], err);

	if (rc == 0)
		rc = read_iolog(m, &in, err);
	trace_input_close(&in);
	return rc;
}
