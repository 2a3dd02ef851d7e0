/* SPDX-License-Identifier: Apache-2.0 */
/* Text of somebody else's, made safe to show on a terminal. */
#ifndef SRT_VISIBLE_H
#define SRT_VISIBLE_H

#include <stddef.h>

/**
 * visible_text() - copy text; what is no plain character becomes \xNN
 * @out: 4 * @size + 1 bytes
 *
 * That is: control characters, those of ISO 6429 in UTF-8 too, marks that
 * change the direction of text (Unicode, bidirectional algorithm), and bytes
 * that are no UTF-8.
 */
void visible_text(char *out, const char *text, size_t size);

#endif
