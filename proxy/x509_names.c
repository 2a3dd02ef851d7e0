/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts a certificate names, and which names a CA may give. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "proxy/x509.h"

/* An address as iPAddress has it: 4 or 16 bytes; 0 for a DNS name. */
static size_t address_of(const char *host, unsigned char bytes[16])
{
	if (inet_pton(AF_INET, host, bytes) == 1)
		return 4;
	return inet_pton(AF_INET6, host, bytes) == 1 ? 16 : 0;
}

static bool is_label_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Labels of letters, digits, "-" and "_"; the last one is no number, or it
 * might be an address to somebody. */
static bool is_dns(struct proxy_text name)
{
	size_t label = 0;
	bool number = true;

	for (size_t i = 0; i < name.size; i++) {
		if (name.data[i] == '.' && label == 0)
			return false;
		if (name.data[i] == '.') {
			label = 0;
			number = true;
			continue;
		}
		if (!is_label_byte(name.data[i]) || ++label > 63)
			return false;
		number = number && name.data[i] >= '0' && name.data[i] <= '9';
	}
	return label && !number && name.size <= 253;
}

static struct proxy_text text_of(struct der bytes)
{
	return (struct proxy_text){ (const char *)bytes.data, bytes.size };
}

/* What is behind the left-most label; empty where that is the only one. */
static struct proxy_text behind_label(struct proxy_text name)
{
	const char *dot = memchr(name.data, '.', name.size);
	size_t used = dot ? (size_t)(dot - name.data) + 1 : name.size;

	return (struct proxy_text){ name.data + used, name.size - used };
}

/* RFC 9525 6.3; a wildcard has two labels behind it. */
static bool dns_matches(struct proxy_text pattern, struct proxy_text host)
{
	bool wild = pattern.size > 2 && memcmp(pattern.data, "*.", 2) == 0;

	if (!wild)
		return is_dns(pattern) && proxy_text_same(pattern, host);
	pattern = behind_label(pattern);
	return is_dns(pattern) && behind_label(pattern).size &&
	       proxy_text_same(pattern, behind_label(host));
}

bool x509_names_host(const struct x509 *cert, const char *host)
{
	struct proxy_text text = proxy_text_of(host);
	struct der list = cert->names, name;
	unsigned char address[16];
	size_t size = address_of(host, address);
	unsigned int tag;

	if (size == 0 && text.size && text.data[text.size - 1] == '.')
		text.size--;
	if (size == 0 && !is_dns(text))
		return false;
	while (der_any(&list, &tag, &name)) {
		if (size == 0 && tag == X509_DNS &&
		    dns_matches(text_of(name), text))
			return true;
		if (size && tag == X509_ADDRESS && name.size == size &&
		    memcmp(name.data, address, size) == 0)
			return true;
	}
	return false;
}

/* Constraints: "host.example" is it and all below it; ".host.example" only
 * what is below; "" is everything (RFC 5280 4.2.1.10). */
static bool dns_within(struct proxy_text name, struct proxy_text base)
{
	struct proxy_text end;

	if (base.size == 0)
		return true;
	if (base.data[0] == '.') {
		if (name.size <= base.size)
			return false;
		name.data += name.size - base.size;
		name.size = base.size;
		return proxy_text_same(name, base);
	}
	if (name.size < base.size)
		return false;
	end = (struct proxy_text){ name.data + name.size - base.size,
				   base.size };
	return proxy_text_same(end, base) &&
	       (name.size == base.size || end.data[-1] == '.');
}

static bool address_within(struct der name, struct der base)
{
	if (base.size != name.size * 2)
		return false;
	for (size_t i = 0; i < name.size; i++) {
		if ((name.data[i] ^ base.data[i]) & base.data[name.size + i])
			return false;
	}
	return true;
}

/* Is the name one below the base: do its first parts equal all of the base's?
 * Both are the content of a directoryName: a whole Name. */
static bool directory_within(struct der name, struct der base)
{
	struct der parts, first;

	return der_take(&name, DER_SEQUENCE, &parts) &&
	       der_take(&base, DER_SEQUENCE, &first) &&
	       first.size <= parts.size &&
	       (first.size == 0 ||
		memcmp(parts.data, first.data, first.size) == 0);
}

/*
 * With an excluded subtree a wildcard is within where any host that it covers
 * may be: "*.test" is within "a.test".
 */
static bool within(unsigned int tag, struct der name, struct der base,
		   bool excluded)
{
	struct proxy_text text = text_of(name), tail;

	if (tag == X509_ADDRESS)
		return address_within(name, base);
	if (tag == X509_DIRECTORY)
		return directory_within(name, base);
	if (text.size <= 2 || memcmp(text.data, "*.", 2) != 0)
		return dns_within(text, text_of(base));
	tail = behind_label(text);
	if (excluded && dns_within(text_of(base), tail))
		return true;
	return dns_within(text, text_of(base));
}

enum answer { WITHIN, OUTSIDE, NOT_CONSTRAINED, UNREADABLE };

/* One list of GeneralSubtree: where the name is as to those of its kind. */
static enum answer look_through(struct der list, unsigned int tag,
				struct der name, bool excluded)
{
	enum answer answer = NOT_CONSTRAINED;
	struct der subtree, base;
	unsigned int kind;

	while (list.size) {
		/* Behind the base minimum and maximum would be: never used. */
		if (!der_take(&list, DER_SEQUENCE, &subtree) ||
		    !der_any(&subtree, &kind, &base) || subtree.size)
			return UNREADABLE;
		if (kind != tag)
			continue;
		if (kind != X509_DNS && kind != X509_ADDRESS &&
		    kind != X509_DIRECTORY)
			return UNREADABLE;
		if (kind == X509_ADDRESS && base.size != 8 && base.size != 32)
			return UNREADABLE;
		if (within(tag, name, base, excluded))
			return WITHIN;
		answer = OUTSIDE;
	}
	return answer;
}

static bool allows_name(const struct x509 *issuer, unsigned int tag,
			struct der name)
{
	struct der rest = issuer->constraints, list;
	enum answer answer;

	if (der_is(&rest, DER_CONTEXT | DER_CONSTRUCTED | 0)) {
		if (!der_any(&rest, &(unsigned int){ 0 }, &list))
			return false;
		answer = look_through(list, tag, name, false);
		if (answer == OUTSIDE || answer == UNREADABLE)
			return false;
	}
	if (der_is(&rest, DER_CONTEXT | DER_CONSTRUCTED | 1)) {
		if (!der_any(&rest, &(unsigned int){ 0 }, &list))
			return false;
		answer = look_through(list, tag, name, true);
		if (answer == WITHIN || answer == UNREADABLE)
			return false;
	}
	return rest.size == 0;
}

bool x509_allows(const struct x509 *issuer, const struct x509 *cert)
{
	struct der list = cert->names, name;
	struct der subject = cert->subject, content;
	unsigned int tag;

	if (!issuer->has_constraints)
		return true;
	/* An empty subject is no name. */
	if (!der_take(&subject, DER_SEQUENCE, &content) ||
	    (content.size &&
	     !allows_name(issuer, X509_DIRECTORY, cert->subject)))
		return false;
	while (list.size) {
		if (!der_any(&list, &tag, &name) ||
		    !allows_name(issuer, tag, name))
			return false;
	}
	return true;
}
