/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - --import: what another program wrote, by what it is. */
#include "ask/ask.h"

int ask_import(const struct ask *a)
{
	return a->set->settings.import == IMPORT_DLIO ? ask_import_dlio(a) : ask_import_trace(a);
}
