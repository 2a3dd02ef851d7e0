/* SPDX-License-Identifier: Apache-2.0 */
/* The filters that keep the account in, as data. Pure; wfp.c installs them. */
#ifndef SRT_WINDOWS_FENCE_H
#define SRT_WINDOWS_FENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fence_layer {
	FENCE_CONNECT_V4,
	FENCE_CONNECT_V6,
	FENCE_ACCEPT_V4,
	FENCE_ACCEPT_V6,
	FENCE_LAYERS,
};

enum { FENCE_FILTERS = 5, PROTOCOL_TCP = 6, LOOPBACK = 0x7f000001 };

/** struct fence_filter - one filter; all are for the account only */
struct fence_filter {
	enum fence_layer layer;
	bool permit;
	uint8_t weight;	  /* the heaviest that matches decides */
	uint8_t protocol; /* with the next three; 0: whatever it is */
	uint32_t address; /* host order */
	uint16_t low, high;
};

/** struct port_range - ports that proxies listen on */
struct port_range {
	uint16_t low, high;
};

/** fence_layer_name() - as plans have it */
const char *fence_layer_name(enum fence_layer layer);

/** fence_filters() - the filters that let a range through */
void fence_filters(struct port_range range,
		   struct fence_filter out[FENCE_FILTERS]);

/**
 * port_range_parse() - read LOW-HIGH, within the bounds of lua/srt/windows_keys
 * Return: false for what is none
 */
bool port_range_parse(struct port_range *out, const char *text);

/** port_range_good() - is it one that may be let through? */
bool port_range_good(struct port_range range);

#endif
