/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a corpus where libFuzzer is not linked: each argument is a file. */
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (!file) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
