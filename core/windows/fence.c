/* SPDX-License-Identifier: Apache-2.0 */
/* What the account may reach: proxies on the host's loopback, nothing else. */
#include "core/windows/fence.h"

#include <stdlib.h>

enum { LEAST_PORT = 1024, MOST_PORTS = 100, PERMITS = 15, BLOCKS = 1 };

static const char *const layer_names[FENCE_LAYERS] = {
	[FENCE_CONNECT_V4] = "connectV4",
	[FENCE_CONNECT_V6] = "connectV6",
	[FENCE_ACCEPT_V4] = "acceptV4",
	[FENCE_ACCEPT_V6] = "acceptV6",
};

const char *fence_layer_name(enum fence_layer layer)
{
	return layer_names[layer];
}

void fence_filters(struct port_range range,
		   struct fence_filter out[FENCE_FILTERS])
{
	out[0] = (struct fence_filter){
		.layer = FENCE_CONNECT_V4,
		.permit = true,
		.weight = PERMITS,
		.protocol = PROTOCOL_TCP,
		.address = LOOPBACK,
		.low = range.low,
		.high = range.high,
	};
	for (unsigned i = 0; i < FENCE_LAYERS; i++)
		out[1 + i] = (struct fence_filter){
			.layer = (enum fence_layer)i,
			.weight = BLOCKS,
		};
}

bool port_range_good(struct port_range range)
{
	return range.low >= LEAST_PORT && range.low <= range.high &&
	       range.high - range.low < MOST_PORTS;
}

static bool port(const char **at, uint16_t *out)
{
	char *end;
	unsigned long value;

	if (**at < '0' || **at > '9')
		return false;
	value = strtoul(*at, &end, 10);
	*at = end;
	*out = (uint16_t)value;
	return value <= UINT16_MAX;
}

bool port_range_parse(struct port_range *out, const char *text)
{
	if (!port(&text, &out->low) || *text++ != '-')
		return false;
	return port(&text, &out->high) && !*text && port_range_good(*out);
}
