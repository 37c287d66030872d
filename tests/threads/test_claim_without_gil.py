"""The claim itself, in threads of C: there is no GIL, as in Python without it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CLAIM = Path(__file__).resolve().parents[2] / "jelly" / "_core" / "base" / "claim.pxd"
CC = shutil.which(os.environ.get("CC", "cc"))

PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
%s
enum { THREADS = 4, ROUNDS = 200000 };
static long claimed, inside, count;
static long taken[THREADS], refused[THREADS];
static void *made;

static void *work(void *number) {
    long me = (long)(size_t)number;
    for (long i = 0; i < ROUNDS; i++) {
        jelly_add_to(&count, 1);
        if (!jelly_try_claim(&claimed)) {
            refused[me]++;
            continue;
        }
        if (inside++) abort();  /* plain variables, as those of an object are */
        inside--;
        taken[me]++;
        jelly_give_back(&claimed);
    }
    if (jelly_keep_made(&made, &taken[me])) jelly_add_to(&count, 1);
    if (jelly_load_made(&made) == NULL) abort();
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    long n = 0, first = 0;
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)(size_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        n += taken[i] + refused[i];
        first += taken[i] > 0;
    }
    printf("%%ld %%ld %%ld\\n", n, jelly_value_of(&count), (long)(first > 0));
    return 0;
}
"""


@pytest.mark.skipif(CC is None or os.name == "nt", reason="there is no C compiler")
@pytest.mark.skipif(not CLAIM.exists(), reason="the sources are not there")
def test_the_claim_is_of_one_thread(tmp_path: Path) -> None:
    found = re.search(r'cdef extern from \*:\n    """(.*?)"""', CLAIM.read_text(), re.S)
    assert found is not None
    source = tmp_path / "claim.c"
    source.write_text(PROGRAM % found[1])
    flags = ["-O2", "-g", "-Wall", "-Werror", "-DPy_GIL_DISABLED=1"]
    build = [str(CC), *flags, str(source), "-o", str(tmp_path / "claim")]
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    for sanitizer in ([], ["-fsanitize=thread"]):
        done = subprocess.run([*build, *sanitizer, "-pthread"], capture_output=True, text=True, env=env)
        if done.returncode and sanitizer:
            pytest.skip("the compiler has no ThreadSanitizer")
        assert done.returncode == 0, done.stderr
        run = [str(tmp_path / "claim")]
        if sanitizer and (setarch := shutil.which("setarch")):
            run = [setarch, "-R", *run]  # some kernels place memory where ThreadSanitizer cannot be
        done = subprocess.run(run, capture_output=True, text=True, env=env, timeout=120)
        assert (done.returncode, done.stdout) == (0, "800000 800001 1\n"), done.stderr
