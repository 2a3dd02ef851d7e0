/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages (RFC 1035, 6891, 8914): bytes to a question, an answer to bytes.
 */
#ifndef SRT_PROXY_DNS_H
#define SRT_PROXY_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dns_type {
	DNS_A = 1,
	DNS_PTR = 12,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_META = 128, /* from there to 255: transfers, ANY, and the like */
	DNS_META_LAST = 255,
};

enum dns_code {
	DNS_OK = 0,
	DNS_BAD_FORMAT = 1,
	DNS_FAILED = 2,
	DNS_NO_NAME = 3,
	DNS_NOT_KNOWN = 4,
	DNS_REFUSED = 5,
	DNS_BAD_VERSION = 16, /* with EDNS only */
};

/* Why, for who shows it (RFC 8914). */
enum dns_detail { DNS_DETAIL_NONE = 0, DNS_DETAIL_BLOCKED = 15 };

enum {
	DNS_NAME_MAX = 254,   /* as text, with a dot at the end */
	DNS_DETAIL_MAX = 120, /* bytes of text */
	DNS_ANSWER_MAX = 512, /* so nothing is ever cut (RFC 1035 2.3.4) */
};

/**
 * struct dns_query - a question
 * @name: lower case, dots between labels, none at the end; "" for the root
 * @plain: its labels hold letters, digits, "-" and "_" only; else @name is
 *	not to be used
 * @question, @question_size: as it came, within the message
 * @edns: the asker speaks EDNS
 */
struct dns_query {
	uint16_t id;
	uint16_t flags;
	uint16_t type;
	char name[DNS_NAME_MAX + 1];
	bool plain;
	bool edns;
	const uint8_t *question;
	size_t question_size;
};

/**
 * dns_read() - read a query, strictly
 *
 * One question, no records but an OPT, no bytes behind, no compression.
 * Return: DNS_OK; another enum dns_code to answer with, by dns_write() of
 * @out as far as it was read; or -1: to that nobody answers.
 */
int dns_read(struct dns_query *out, const uint8_t *data, size_t size);

/**
 * struct dns_answer - what is said
 * @address, @address_size: of the one record, 4 or 16 bytes; 0 for none
 * @pointer: instead: the name of a PTR record; of letters and dots as
 *	@name of a query
 * @detail, @text: added for who speaks EDNS; @text is cut
 */
struct dns_answer {
	enum dns_code code;
	uint8_t address[16];
	size_t address_size;
	const char *pointer;
	enum dns_detail detail;
	const char *text;
};

/**
 * dns_write() - an answer to a query
 * Return: its size; always one.
 */
size_t dns_write(uint8_t out[DNS_ANSWER_MAX], const struct dns_query *query,
		 const struct dns_answer *answer);

/**
 * dns_reversed() - the address that a name below in-addr.arpa or ip6.arpa
 * stands for
 * Return: 4 or 16, or 0: none, whole and canonical.
 */
size_t dns_reversed(uint8_t address[16], const char *name);

#endif
