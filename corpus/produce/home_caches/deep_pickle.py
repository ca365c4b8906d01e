# /// case
# cause = "segfault"
# exit_code = -11
# why = "the interpreter itself dies of a stack overflow in native code"
# ///
"""A deeply nested trie is printed with the recursion limit lifted: the C stack overflows."""

import json
import sys
import threading

sys.setrecursionlimit(10**8)
threading.stack_size(1 << 20)


class Trie:
    def __init__(self):
        self.children = {}

    def __repr__(self):
        return f"Trie({self.children!r})"


def insert(root, word):
    for letter in word:
        root = root.children.setdefault(letter, Trie())


def build(lengths):
    for length in lengths:
        root = Trie()
        insert(root, "ab" * (length // 2))
        print(json.dumps({"length": length, "repr": len(repr(root))}), flush=True)


worker = threading.Thread(target=build, args=([10, 100, 1000, 200_000],))
worker.start()
worker.join()
print("trie cached")
