"""A compiled tool list: what is looked up when a question comes."""

import os

# One thread each: a dot product over a few thousand rows takes microseconds, and waking a pool of
# threads for it takes milliseconds. numpy and faiss read this when they are loaded.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
