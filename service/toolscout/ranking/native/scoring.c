/* The postings of a catalog, and what terms find in them. */
#include "join.h"

static void free_tables(Tables *tables) {
    for (int i = 0; i < 7; i++)
        if (tables->arrays[i].obj) PyBuffer_Release(&tables->arrays[i]);
    Py_XDECREF(tables->book);
    Py_XDECREF(tables->spelled[0]);
    Py_XDECREF(tables->spelled[1]);
    Py_TYPE(tables)->tp_free((PyObject *)tables);
}

enum { MIN_SHIFT = 34 };  /* a table of at most 2 ** 30 places */

static int refuse(const char *why) {
    PyErr_SetString(PyExc_ValueError, why);
    return -1;
}

/* Take an array of numbers of a size in bytes; returns how many there are. */
static int64_t take_array(Tables *tables, int place, PyObject *array, Py_ssize_t size) {
    Py_buffer *buffer = &tables->arrays[place];
    if (PyObject_GetBuffer(array, buffer, PyBUF_C_CONTIGUOUS)) return -1;
    if (buffer->itemsize != size) return refuse("an array has numbers of another size");
    return buffer->len / size;
}

/* Numbers that never fall, from 0 or more to no more than `most`. */
static int is_rising(const int64_t *numbers, int64_t count, int64_t most) {
    for (int64_t i = 0; i < count; i++)
        if (numbers[i] < (i ? numbers[i - 1] : 0) || numbers[i] > most) return 0;
    return 1;
}

static int check_arrays(const Tables *tables, int64_t postings) {
    if (tables->shift < MIN_SHIFT || tables->shift > 63) return refuse("a shift is out of range");
    if (tables->n_buckets != (INT64_C(1) << (64 - tables->shift)) + 1)
        return refuse("a table of another size");
    for (int64_t i = 0; i < tables->n_buckets; i++) {
        int32_t former = i ? tables->buckets[i - 1] : 0;
        if (tables->buckets[i] < former || tables->buckets[i] > tables->n_terms)
            return refuse("a table that leads nowhere");
    }
    if (!is_rising(tables->starts, tables->n_terms + 1, postings))
        return refuse("postings begin out of order");
    for (int64_t i = 0; i < postings; i++)
        if (tables->rows[i] < 0 || tables->rows[i] >= tables->size)
            return refuse("a posting of no tool");
    return 0;
}

static int init_tables(Tables *tables, PyObject *arguments, PyObject *keywords) {
    PyObject *book, *keys, *buckets, *starts, *idf, *rows, *gain, *plain;
    if (tables->book) return refuse("tables are made once");
    if (!PyArg_ParseTuple(arguments, "O!OOOOOOOidi", &BookType, &book, &keys, &buckets, &starts,
                          &idf, &rows, &gain, &plain, &tables->shift, &tables->unseen,
                          &tables->size))
        return -1;
    tables->n_terms = take_array(tables, 0, keys, sizeof(int64_t));
    tables->n_buckets = tables->n_terms < 0 ? -1 : take_array(tables, 1, buckets, sizeof(int32_t));
    if (tables->n_buckets < 0) return -1;
    int64_t n_starts = take_array(tables, 2, starts, sizeof(int64_t));
    int64_t n_idf = n_starts < 0 ? -1 : take_array(tables, 3, idf, sizeof(double));
    int64_t n_rows = n_idf < 0 ? -1 : take_array(tables, 4, rows, sizeof(int32_t));
    int64_t n_gain = n_rows < 0 ? -1 : take_array(tables, 5, gain, sizeof(float));
    int64_t n_plain = n_gain < 0 ? -1 : take_array(tables, 6, plain, sizeof(float));
    if (n_plain < 0) return -1;
    if (n_starts != tables->n_terms + 1 || n_idf != tables->n_terms || n_gain != n_rows ||
        n_plain != n_rows || tables->size < 1)
        return refuse("arrays of different lengths");
    tables->keys = tables->arrays[0].buf;
    tables->buckets = tables->arrays[1].buf;
    tables->starts = tables->arrays[2].buf;
    tables->idf = tables->arrays[3].buf;
    tables->rows = tables->arrays[4].buf;
    tables->gain = tables->arrays[5].buf;
    tables->plain = tables->arrays[6].buf;
    if (check_arrays(tables, n_rows)) return -1;
    tables->spelled[0] = PyDict_New();
    tables->spelled[1] = PyDict_New();
    if (!tables->spelled[0] || !tables->spelled[1]) return -1;
    tables->book = (Book *)Py_NewRef(book);  /* last: whoever has it has all */
    return 0;
}

/* As InvertedIndex.slot does. */
int64_t find_slot(const Tables *tables, PyObject *term) {
    int64_t key = PyObject_Hash(term);
    int64_t bucket = (key >> tables->shift) + (tables->n_buckets >> 1);
    for (int32_t at = tables->buckets[bucket]; at < tables->buckets[bucket + 1]; at++)
        if (tables->keys[at] == key) return at;
    return -1;
}

static void add_postings(const Tables *tables, const QTerm *term, double worth, float plain_weight,
                         double *covered, double *gain, double *plain) {
    int64_t end = tables->starts[term->slot + 1];
    for (int64_t at = tables->starts[term->slot]; at < end; at++) {
        int32_t row = tables->rows[at];
        covered[row] += worth;
        gain[row] += term->weight * (double)tables->gain[at];
        plain[row] += (double)(plain_weight * tables->plain[at]);
    }
}

/* As Postings.score does; a bytearray of coverage (double), then BM25 over fields and over one
 * text (float). */
PyObject *score_terms(const Tables *tables, const QTerms *terms, double *total) {
    Py_ssize_t size = tables->size;
    Py_ssize_t bytes = size * (Py_ssize_t)(sizeof(double) + 2 * sizeof(float));
    PyObject *scores = PyByteArray_FromStringAndSize(NULL, bytes);
    double *sums = PyMem_Calloc(2 * size, sizeof(double));
    if (!scores || !sums) {
        Py_XDECREF(scores);
        PyMem_Free(sums);
        return PyErr_NoMemory();
    }
    double *covered = (double *)PyByteArray_AS_STRING(scores);
    memset(covered, 0, size * sizeof(double));
    *total = 0.0;
    for (Py_ssize_t i = 0; i < terms->n; i++) {
        const QTerm *term = &terms->v[i];
        int is_own = term->via == ITSELF;
        double rarity = term->slot < 0 ? tables->unseen : tables->idf[term->slot];
        double worth = is_own ? term->weight * rarity : term->credit;
        if (is_own) *total += worth;
        if (term->slot < 0) continue;
        float plain_weight = (float)(is_own ? (1.0 + term->weight) / 2.0 : term->weight);
        add_postings(tables, term, worth, plain_weight, covered, sums, sums + size);
    }
    float *rounded = (float *)(covered + size);
    for (Py_ssize_t i = 0; i < 2 * size; i++) rounded[i] = (float)sums[i];
    PyMem_Free(sums);
    return scores;
}

typedef struct {
    double total, said, most;
} Weight;

/* What a text weighs, how much of it tools say, and the one that says most, if that is wanted. */
static Weight weigh_text(const Tables *tables, const Words *distinct, double *of_tools) {
    Weight weight = {0};
    if (of_tools) memset(of_tools, 0, tables->size * sizeof(double));
    for (Py_ssize_t i = 0; i < distinct->n; i++) {
        const Word *word = distinct->v[i];
        if (!(word->weight > tables->book->numbers.stop_weight)) continue;
        double share = share_weight(word, 1.0);
        for (Py_ssize_t t = 0; t < PyTuple_GET_SIZE(word->terms); t++) {
            int64_t slot = find_slot(tables, PyTuple_GET_ITEM(word->terms, t));
            double worth = share * (slot < 0 ? tables->unseen : tables->idf[slot]);
            weight.total += worth;
            if (slot < 0) continue;
            weight.said += worth;
            if (!of_tools) continue;
            for (int64_t at = tables->starts[slot]; at < tables->starts[slot + 1]; at++)
                of_tools[tables->rows[at]] += worth;
        }
    }
    for (int row = 0; of_tools && row < tables->size; row++)
        if (of_tools[row] > weight.most) weight.most = of_tools[row];
    return weight;
}

static int append_share(PyObject *list, double part, double total) {
    PyObject *number = PyFloat_FromDouble(total > 0 ? part / total : part);
    int failed = number ? PyList_Append(list, number) : -1;
    Py_XDECREF(number);
    return failed;
}

/* Two lists, a share for each text: what any tool says, as passages.PlainReader.weigh does, and
 * what the tool that says most does, as Postings.measure_shares; the second only where wanted. */
PyObject *weigh_texts(Tables *tables, PyObject *texts, int is_fit) {
    Words words = {0}, distinct = {0};
    PyObject *said = PyList_New(0), *most = PyList_New(0);
    double *of_tools = is_fit ? PyMem_Malloc(tables->size * sizeof(double)) : NULL;
    if (is_fit && !of_tools) PyErr_NoMemory();
    int failed = !said || !most || (is_fit && !of_tools) ? -1 : 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts) && !failed; i++) {
        failed = cut_words(tables->book, PyTuple_GET_ITEM(texts, i), &words);
        if (!failed) failed = distinguish(&words, &distinct);
        if (failed) break;
        Weight weight = weigh_text(tables, &distinct, of_tools);
        failed = append_share(said, weight.said, weight.total);
        if (!failed && is_fit) failed = append_share(most, weight.most, weight.total);
    }
    PyMem_Free(of_tools);
    free_words(&words);
    free_words(&distinct);
    PyObject *shares = failed ? NULL : PyTuple_Pack(2, said, most);
    Py_XDECREF(said);
    Py_XDECREF(most);
    return shares;
}

PyTypeObject TablesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "toolscout.ranking.native._join.Tables",
    .tp_basicsize = sizeof(Tables),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)init_tables,
    .tp_dealloc = (destructor)free_tables,
};
