/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - see library.h. */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

int library_load(const char *who, const char *soname, const struct library_symbol *symbols,
		 size_t count, void *table, struct mlgen_err *err)
{
	void *object = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; object && i < count; i++) {
		void *at = dlsym(object, symbols[i].name);

		if (!at)
			object = NULL;
		else
			memcpy((char *)table + symbols[i].off, &at, sizeof(at));
	}
	if (object)
		return 0;
	return mlgen_fail(err, -ENOENT, "%s cannot be loaded: %s; install the package that has %s",
			  who, dlerror(), soname);
}
