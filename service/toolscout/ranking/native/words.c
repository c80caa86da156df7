/* Words as Python knows them, and the sums of their tokens' rows. */
#include "join.h"

#include <math.h>

static PyObject *NAMES[QUESTIONS];
static const char *SPELLED[QUESTIONS] = {
    "describe_word", "find_tokens", "split_words", "is_foreign", "is_foreign_by_words",
    "find_spellings", "strip_negated", "translates", "measure_unspaced", "drop_values",
    "read_senses", "drop_names", "split_sentences",
};

int load_names(void) {
    for (int i = 0; i < QUESTIONS; i++)
        if (!NAMES[i] && !(NAMES[i] = PyUnicode_InternFromString(SPELLED[i]))) return -1;
    return 0;
}

/* Call a method of the object that knows words; arguments end with NULL. */
PyObject *ask(Book *book, int question, PyObject *first, PyObject *second, PyObject *third) {
    return PyObject_CallMethodObjArgs(book->language, NAMES[question], first, second, third, NULL);
}

static void free_word(Word *word) {
    Py_XDECREF(word->text);
    Py_XDECREF(word->terms);
    Py_XDECREF(word->codes);
    for (int i = 0; i < TABLES; i++) Py_XDECREF(word->tokens[i]);
    PyObject_Free(word);
}

PyTypeObject WordType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "toolscout.ranking.native._join.Word",
    .tp_basicsize = sizeof(Word),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)free_word,
};

/* Keep the tokens of a word in one table, each of which is a row of the model. */
static int keep_tokens(Book *book, Word *word, int table, PyObject *ids, double known) {
    Py_ssize_t size = PyBytes_GET_SIZE(ids);
    const char *packed = PyBytes_AS_STRING(ids);
    if (size % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "tokens are no int64");
        return -1;
    }
    for (Py_ssize_t at = 0; at < size; at += sizeof(int64_t)) {
        int64_t id;
        memcpy(&id, packed + at, sizeof id);
        if (id < 0 || id >= book->n_rows) {
            PyErr_SetString(PyExc_ValueError, "a token is no row of the model");
            return -1;
        }
    }
    if (!word->tokens[table]) {  /* another thread may have been faster */
        word->known[table] = known;
        word->tokens[table] = Py_NewRef(ids);
    }
    return 0;
}

static int are_texts(PyObject *terms, PyObject *codes) {
    if (PyBytes_GET_SIZE(codes) != PyTuple_GET_SIZE(terms) * (Py_ssize_t)sizeof(uint32_t)) {
        PyErr_SetString(PyExc_ValueError, "a term without a hash");
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(terms); i++)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(terms, i))) {
            PyErr_SetString(PyExc_TypeError, "a term is no str");
            return 0;
        }
    return 1;
}

/* Ask Python about a new word; borrowed. */
static Word *learn_word(Book *book, PyObject *text) {
    PyObject *about = ask(book, ASK_WORD, text, NULL, NULL), *terms, *codes, *ids, *kept = NULL;
    double weight, parts, known;
    unsigned flags;
    if (!about) return NULL;
    if (!PyArg_ParseTuple(about, "ddO!O!IO!d", &weight, &parts, &PyTuple_Type, &terms,
                          &PyBytes_Type, &codes, &flags, &PyBytes_Type, &ids, &known)) {
        Py_DECREF(about);
        return NULL;
    }
    Word *word = PyObject_New(Word, &WordType);
    if (word) {
        word->weight = weight;
        word->parts = parts;
        word->flags = flags;
        memset(word->tokens, 0, sizeof word->tokens);
        word->text = Py_NewRef(text);
        word->terms = Py_NewRef(terms);
        word->codes = Py_NewRef(codes);
        if (are_texts(terms, codes) && keep_tokens(book, word, ENGLISH, ids, known) == 0)
            kept = PyDict_SetDefault(book->words, text, (PyObject *)word);
        Py_DECREF(word);
    }
    Py_DECREF(about);
    return (Word *)kept;
}

/* Return what is known of a word; borrowed from its book, which never drops one. */
static Word *find_word(Book *book, PyObject *text) {
    PyObject *word = PyDict_GetItemWithError(book->words, text);
    if (!word && !PyErr_Occurred() && book->former) {
        word = PyDict_GetItemWithError(book->former, text);
        if (word) word = PyDict_SetDefault(book->words, text, word);
    }
    if (word) return (Word *)word;
    return PyErr_Occurred() ? NULL : learn_word(book, text);
}

int add_word(Words *words, Word *word) {
    if (words->n == words->room) {
        Py_ssize_t room = words->room ? 2 * words->room : 64;
        Word **grown = PyMem_Realloc(words->v, room * sizeof(Word *));
        if (!grown) {
            PyErr_NoMemory();
            return -1;
        }
        words->v = grown;
        words->room = room;
    }
    words->v[words->n++] = word;
    return 0;
}

void free_words(Words *words) {
    PyMem_Free(words->v);
    memset(words, 0, sizeof *words);
}

static int add_text(Book *book, PyObject *text, Words *out) {
    Word *word = text ? find_word(book, text) : NULL;
    return word ? add_word(out, word) : -1;
}

/* Find words that Python has cut. */
int find_words(Book *book, PyObject *texts, Words *out) {
    PyObject *cut = PySequence_Fast(texts, "words are no sequence");
    if (!cut) return -1;
    out->n = 0;
    int failed = 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(cut) && !failed; i++) {
        PyObject *text = PySequence_Fast_GET_ITEM(cut, i);
        if (!PyUnicode_Check(text)) {
            PyErr_SetString(PyExc_TypeError, "a word is no str");
            failed = -1;
        } else
            failed = add_text(book, text, out);
    }
    Py_DECREF(cut);
    return failed;
}

static int cut_ascii(Book *book, PyObject *text, Words *out) {
    const Py_UCS1 *letters = PyUnicode_1BYTE_DATA(text);
    Py_ssize_t end = PyUnicode_GET_LENGTH(text), at = 0;
    out->n = 0;
    while (at < end) {
        if (!Py_ISALNUM(letters[at])) {
            at++;
            continue;
        }
        Py_ssize_t start = at;
        while (at < end && Py_ISALNUM(letters[at])) at++;
        PyObject *word = PyUnicode_Substring(text, start, at);
        int failed = add_text(book, word, out);
        Py_XDECREF(word);
        if (failed) return -1;
    }
    return 0;
}

/* As text.tokens.split_words does, which cuts what is not ASCII. */
int cut_words(Book *book, PyObject *text, Words *out) {
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a text is no str");
        return -1;
    }
    if (PyUnicode_IS_ASCII(text)) return cut_ascii(book, text, out);
    PyObject *cut = ask(book, ASK_SPLIT, text, NULL, NULL);
    int failed = cut ? find_words(book, cut, out) : -1;
    Py_XDECREF(cut);
    return failed;
}

int has_word(const Words *words, unsigned flag) {
    for (Py_ssize_t i = 0; i < words->n; i++)
        if (words->v[i]->flags & flag) return 1;
    return 0;
}

PyObject *list_texts(const Words *words) {
    PyObject *texts = PyTuple_New(words->n);
    for (Py_ssize_t i = 0; texts && i < words->n; i++)
        PyTuple_SET_ITEM(texts, i, Py_NewRef(words->v[i]->text));
    return texts;
}

/* Whether a text has more words of other languages than plain English ones; -1 for an error. */
static int may_be_foreign(const Words *words) {
    Words distinct = {0};
    Py_ssize_t foreign = 0, plain = 0;
    if (!has_word(words, TELLS_LANGUAGE)) return 0;
    int failed = distinguish(words, &distinct);
    for (Py_ssize_t i = 0; i < distinct.n; i++) {
        foreign += !!(distinct.v[i]->flags & TELLS_LANGUAGE);
        plain += !!(distinct.v[i]->flags & IS_PLAIN);
    }
    free_words(&distinct);
    return failed ? -1 : foreign > plain;
}

/* As WordTables._split does; returns the table of a text, or -1. */
int choose_table(Book *book, const Words *words) {
    if (has_word(words, HAS_LETTERS)) return MIXED;
    int may_be = may_be_foreign(words);
    if (may_be <= 0) return may_be < 0 ? -1 : ENGLISH;
    PyObject *texts = list_texts(words);
    PyObject *answer = texts ? ask(book, ASK_FOREIGN, texts, NULL, NULL) : NULL;
    int is_foreign = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(texts);
    Py_XDECREF(answer);
    if (is_foreign < 0) return -1;
    return is_foreign ? FOREIGN : ENGLISH;
}

static int load_tokens(Book *book, Word *word, int table) {
    if (word->tokens[table]) return 0;
    PyObject *number = PyLong_FromLong(table), *ids;
    PyObject *about = number ? ask(book, ASK_TOKENS, word->text, number, NULL) : NULL;
    double known;
    int failed = -1;
    if (about && PyArg_ParseTuple(about, "O!d", &PyBytes_Type, &ids, &known))
        failed = keep_tokens(book, word, table, ids, known);
    Py_XDECREF(about);
    Py_XDECREF(number);
    return failed;
}

/* As Words.familiarity does. */
int measure_familiarity(Book *book, const Words *words, int table, double *out) {
    double known = 0, total = 0;
    for (Py_ssize_t i = 0; i < words->n; i++) {
        if (load_tokens(book, words->v[i], table)) return -1;
        total += (double)PyUnicode_GET_LENGTH(words->v[i]->text);
        known += words->v[i]->known[table];
    }
    *out = total > 0 ? known / total : 0.0;
    return 0;
}

static void add_row(const int8_t *restrict row, int32_t *restrict sum, int dimension) {
    for (int i = 0; i < dimension; i++) sum[i] += row[i];
}

static void add_rows(const Book *book, PyObject *ids, int32_t *sum) {
    for (Py_ssize_t at = 0; at < PyBytes_GET_SIZE(ids); at += sizeof(int64_t)) {
        int64_t id;
        memcpy(&id, PyBytes_AS_STRING(ids) + at, sizeof id);
        add_row((const int8_t *)book->rows.buf + id * book->dimension, sum, book->dimension);
    }
}

/* As Embedder._sum_rows does; whole numbers are added, so the order does not matter. */
int sum_rows(Book *book, const Words *words, int table, float *out) {
    int32_t *sum = PyMem_Calloc(book->dimension, sizeof *sum);
    if (!sum) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < words->n; i++) {
        if (load_tokens(book, words->v[i], table)) {
            PyMem_Free(sum);
            return -1;
        }
        add_rows(book, words->v[i]->tokens[table], sum);
    }
    float share = table == ENGLISH ? 1.0f : (float)book->numbers.shares;
    for (int i = 0; i < book->dimension; i++) out[i] = (float)sum[i] / share;
    PyMem_Free(sum);
    return 0;
}

/* As index.embedder.scale_sums does: the sums are whole numbers, so their squares are exact. */
void scale_to_unit(float *vector, int dimension) {
    double squares = 0;
    for (int i = 0; i < dimension; i++) squares += (double)vector[i] * vector[i];
    if (squares <= 0) return;
    float scale = (float)(1.0 / sqrt(squares));
    for (int i = 0; i < dimension; i++) vector[i] *= scale;
}

/* Return the vectors of some texts, as a bytearray of rows, and how familiar each is. */
PyObject *embed_texts(Book *book, PyObject *texts) {
    Py_ssize_t count = PyTuple_GET_SIZE(texts);
    PyObject *sums = PyByteArray_FromStringAndSize(NULL, count * book->dimension * sizeof(float));
    PyObject *familiar = PyList_New(count);
    Words words = {0};
    int failed = sums && familiar ? 0 : -1;
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        float *out = (float *)PyByteArray_AS_STRING(sums) + i * book->dimension;
        double of_text = 0;
        failed = cut_words(book, PyTuple_GET_ITEM(texts, i), &words);
        int table = failed ? -1 : choose_table(book, &words);
        if (table < 0 || sum_rows(book, &words, table, out) < 0) failed = -1;
        else failed = measure_familiarity(book, &words, table, &of_text);
        if (!failed) scale_to_unit(out, book->dimension);
        PyObject *number = failed ? NULL : PyFloat_FromDouble(of_text);
        if (number) PyList_SET_ITEM(familiar, i, number);
        else failed = -1;
    }
    free_words(&words);
    PyObject *made = failed ? NULL : PyTuple_Pack(2, sums, familiar);
    Py_XDECREF(sums);
    Py_XDECREF(familiar);
    return made;
}
