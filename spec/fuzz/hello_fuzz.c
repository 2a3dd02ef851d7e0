/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of a tunnel's first bytes: no bad access, one reading for
 * all ways in which the bytes arrive, and names that are hosts. */
#include <stdint.h>
#include <stdlib.h>

#include "proxy/hello.h"
#include "proxy/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Memory of the exact size shows reads behind what has come. */
static enum hello_kind read_exactly(struct hello *hello, const uint8_t *data,
				    size_t size)
{
	char *copy = malloc(size ? size : 1);
	enum hello_kind kind;

	check(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	kind = hello_read(hello, copy, size);
	free(copy);
	return kind;
}

static void check_name(const char *name)
{
	check(http1_host(proxy_text_of(name)) && !strchr(name, ':'));
	check(strlen(name) <= HELLO_NAME_MAX);
	for (; *name; name++)
		check(*name < 'A' || *name > 'Z');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hello whole, part;
	enum hello_kind kind;

	if (size > 4096)
		return 0;
	kind = read_exactly(&whole, data, size);
	check(kind != HELLO_BAD || whole.reason);
	if (kind == HELLO_TLS && whole.name[0])
		check_name(whole.name);
	/* What was decided early stays so, whatever follows. */
	for (size_t i = 0; i < size; i++) {
		enum hello_kind early = read_exactly(&part, data, i);

		if (early == HELLO_MORE)
			continue;
		check(early == kind && !strcmp(part.name, whole.name));
		check(part.newer == whole.newer);
		break;
	}
	return 0;
}
