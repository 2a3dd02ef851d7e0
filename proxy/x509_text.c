/* SPDX-License-Identifier: Apache-2.0 */
/* Names of certificates as a person reads them. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "proxy/x509.h"

enum { NAMES_SHOWN = 4, NAME_SHOWN = 64 };

/* Whatever somebody put there: printable ASCII, and not too much of it. */
static void printable(struct der from, char *text, size_t size)
{
	size_t used = 0;

	for (; used + 4 < size && used < NAME_SHOWN && used < from.size; used++)
		text[used] = from.data[used] > ' ' && from.data[used] < 0x7f
				     ? (char)from.data[used]
				     : (from.data[used] == ' ' ? ' ' : '?');
	snprintf(text + used, size - used, "%s", used < from.size ? "..." : "");
}

static void name_text(unsigned int tag, struct der name, char *text,
		      size_t size)
{
	if (tag != X509_ADDRESS)
		printable(name, text, size);
	else if (!inet_ntop(name.size == 4 ? AF_INET : AF_INET6, name.data,
			    text, (socklen_t)size))
		*text = '\0';
}

void x509_names_text(const struct x509 *cert, char *text, size_t size)
{
	struct der list = cert->names, name;
	char one[NAME_SHOWN + 8];
	unsigned int tag, count = 0;
	size_t used = 0;

	*text = '\0';
	while (der_any(&list, &tag, &name) && used < size) {
		if (tag != X509_DNS && tag != X509_ADDRESS)
			continue;
		name_text(tag, name, one, sizeof(one));
		if (count++ == NAMES_SHOWN) {
			snprintf(text + used, size - used, ", ...");
			return;
		}
		used += (size_t)snprintf(text + used, size - used, "%s%s",
					 used ? ", " : "", one);
	}
}

void x509_subject_text(struct der name, char *text, size_t size)
{
	static const unsigned char id_at[] = { 0x55, 0x04 };
	struct der parts, set, part, oid, value;
	unsigned int tag;

	snprintf(text, size, "(no name)");
	if (!der_take(&name, DER_SEQUENCE, &parts))
		return;
	while (der_take(&parts, DER_SET, &set)) {
		if (!der_take(&set, DER_SEQUENCE, &part) ||
		    !der_take(&part, DER_OID, &oid) ||
		    !der_any(&part, &tag, &value) || oid.size != 3 ||
		    memcmp(oid.data, id_at, 2) != 0)
			continue;
		/* organizationName where there is no commonName */
		if (oid.data[2] == 3 || oid.data[2] == 10)
			printable(value, text, size);
		if (oid.data[2] == 3)
			return;
	}
}
