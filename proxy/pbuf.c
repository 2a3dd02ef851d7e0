/* SPDX-License-Identifier: Apache-2.0 */
/* A byte queue that holds no memory while it is empty. */
#include "proxy/pbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { PBUF_FIRST = 512 };

bool pbuf_reserve(struct pbuf *buffer, size_t more)
{
	size_t wanted = buffer->size + more, capacity;
	char *memory;

	if (buffer->start + wanted <= buffer->capacity)
		return true;
	if (buffer->start) {
		memmove(buffer->memory, buffer->memory + buffer->start,
			buffer->size);
		buffer->start = 0;
		if (wanted <= buffer->capacity)
			return true;
	}
	capacity = buffer->capacity ? buffer->capacity : PBUF_FIRST;
	while (capacity < wanted)
		capacity *= 2;
	memory = realloc(buffer->memory, capacity);
	if (!memory) {
		buffer->failed = true;
		return false;
	}
	buffer->memory = memory;
	buffer->capacity = capacity;
	return true;
}

void pbuf_number(struct pbuf *buffer, unsigned long long number)
{
	char digits[24];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	pbuf_add(buffer, digits + at, sizeof(digits) - at);
}

void pbuf_format(struct pbuf *buffer, const char *format, ...)
{
	char line[512];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (size < 0)
		buffer->failed = true;
	else if ((size_t)size < sizeof(line))
		pbuf_add(buffer, line, (size_t)size);
	else
		pbuf_add(buffer, line, sizeof(line) - 1);
}

void pbuf_drop(struct pbuf *buffer, size_t size)
{
	buffer->start += size;
	buffer->size -= size;
	if (!buffer->size)
		pbuf_free(buffer);
}

void pbuf_free(struct pbuf *buffer)
{
	free(buffer->memory);
	*buffer = (struct pbuf){ .failed = buffer->failed };
}
