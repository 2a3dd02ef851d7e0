/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a tree that hostile code has filled. */
#ifndef SRT_REMOVE_TREE_H
#define SRT_REMOVE_TREE_H

/**
 * remove_tree() - remove a directory and all that is in it
 *
 * Follows no link, needs two descriptors and no recursion however deep the tree
 * is, and opens directories that were made inaccessible. nftw(3) and its like
 * do none of that. Nothing may write to the tree meanwhile.
 * @path: a directory of the caller's; anything else is left alone
 * Return: 0 or -errno of the first thing that stayed.
 */
int remove_tree(const char *path);

#endif
