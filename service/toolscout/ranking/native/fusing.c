/* Scores of words and meaning as one, and the best of them. */
#include "join.h"

typedef struct {
    Py_buffer buffer;
    const float *v;
    Py_ssize_t n;
} Floats;

static int take_floats(PyObject *array, Floats *out) {
    if (PyObject_GetBuffer(array, &out->buffer, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) return -1;
    const char *format = out->buffer.format;
    if (out->buffer.itemsize != sizeof(float) || !format || strcmp(format, "f")) {
        PyErr_SetString(PyExc_ValueError, "scores are no float32");
        return -1;
    }
    out->v = out->buffer.buf;
    out->n = out->buffer.len / (Py_ssize_t)sizeof(float);
    return 0;
}

static float find_highest(const float *v, Py_ssize_t n) {
    float highest = n ? v[0] : 0.0f;
    for (Py_ssize_t i = 1; i < n; i++)
        if (v[i] > highest) highest = v[i];
    return highest;
}

static float find_lowest(const float *v, Py_ssize_t n) {
    float lowest = n ? v[0] : 0.0f;
    for (Py_ssize_t i = 1; i < n; i++)
        if (v[i] < lowest) lowest = v[i];
    return lowest;
}

typedef struct {
    double meaning, words, plain, least_span, least_similarity;
} Shares;

/* As fuse.scale does, with the share of meaning. */
static void scale_meaning(const Floats *cosine, const Shares *shares, float *out) {
    float low = find_lowest(cosine->v, cosine->n), high = find_highest(cosine->v, cosine->n);
    if (low == high) low = 0.0f;
    double span = (double)(high - low);
    if (span < shares->least_span) span = shares->least_span;
    float factor = (float)(shares->meaning / span);
    for (Py_ssize_t i = 0; i < cosine->n; i++) out[i] = (cosine->v[i] - low) * factor;
}

/* As scorers.score_both does. */
static void fuse(const Floats *words, const Floats *plain, const Floats *cosine,
                 const Shares *shares, float *out) {
    Py_ssize_t n = words->n;
    scale_meaning(cosine, shares, out);
    float top = find_highest(words->v, n);
    if (find_highest(out, n) <= 0.0f) {
        float by = top > 0.0f ? top : 1.0f;
        for (Py_ssize_t i = 0; i < n; i++) out[i] = words->v[i] / by;
    } else if (top > 0.0f) {
        float factor = (float)((1.0 - shares->meaning) * shares->words) / top;
        for (Py_ssize_t i = 0; i < n; i++) out[i] = words->v[i] * factor + out[i];
    }
    float plain_top = find_highest(plain->v, n);
    float of_plain = plain_top > 0.0f ? (float)(shares->plain * shares->words) / plain_top : 0.0f;
    float least = (float)shares->least_similarity;
    for (Py_ssize_t i = 0; i < n; i++) {
        out[i] += plain->v[i] * of_plain;
        if (!(words->v[i] > 0.0f) && !(cosine->v[i] >= least)) out[i] = 0.0f;
    }
}

/* Takes BM25 over fields and over one text, cosines, and shares; returns a bytearray of floats. */
PyObject *fuse_scores(PyObject *module, PyObject *arguments) {
    PyObject *arrays[3], *fused = NULL;
    Floats taken[3] = {0};
    Shares shares;
    if (!PyArg_ParseTuple(arguments, "OOOddddd", &arrays[0], &arrays[1], &arrays[2],
                          &shares.meaning, &shares.words, &shares.plain, &shares.least_span,
                          &shares.least_similarity))
        return NULL;
    int failed = 0;
    for (int i = 0; i < 3 && !failed; i++) failed = take_floats(arrays[i], &taken[i]);
    if (!failed && (taken[1].n != taken[0].n || taken[2].n != taken[0].n)) {
        PyErr_SetString(PyExc_ValueError, "scores of different tools");
        failed = -1;
    }
    if (!failed) fused = PyByteArray_FromStringAndSize(NULL, taken[0].n * sizeof(float));
    float *out = fused ? (float *)PyByteArray_AS_STRING(fused) : NULL;
    if (out) fuse(&taken[0], &taken[1], &taken[2], &shares, out);
    for (int i = 0; i < 3; i++)
        if (taken[i].buffer.obj) PyBuffer_Release(&taken[i].buffer);
    return fused;
}

/* As choose.find_best does: the rows of the highest scores above zero, equals in their order. */
PyObject *find_best(PyObject *module, PyObject *arguments) {
    PyObject *array, *best = NULL;
    Floats scores = {0};
    Py_ssize_t count, found = 0, rows[MAX_BEST];
    if (!PyArg_ParseTuple(arguments, "On", &array, &count)) return NULL;
    if (count > MAX_BEST) return PyErr_Format(PyExc_ValueError, "more than %d rows", MAX_BEST);
    if (take_floats(array, &scores) == 0) {
        for (Py_ssize_t i = 0; i < scores.n && count > 0; i++) {
            if (!(scores.v[i] > 0.0f)) continue;
            if (found == count && !(scores.v[i] > scores.v[rows[found - 1]])) continue;
            Py_ssize_t at = found < count ? found++ : found - 1;
            for (; at > 0 && scores.v[i] > scores.v[rows[at - 1]]; at--) rows[at] = rows[at - 1];
            rows[at] = i;
        }
        best = PyList_New(found);
    }
    for (Py_ssize_t i = 0; best && i < found; i++) {
        PyObject *row = PyLong_FromSsize_t(rows[i]);
        if (!row) Py_CLEAR(best);
        else PyList_SET_ITEM(best, i, row);
    }
    if (scores.buffer.obj) PyBuffer_Release(&scores.buffer);
    return best;
}
