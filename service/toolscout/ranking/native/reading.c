/* A text as weighted terms and words to embed, as text.query._analyse reads it. */
#include "join.h"

/* Let an object live as long as the call; borrowed, NULL for NULL. */
PyObject *hold(Call *call, PyObject *object) {
    if (!object) return NULL;
    int failed = PyList_Append(call->held, object);
    Py_DECREF(object);
    return failed ? NULL : object;
}

static PyObject *hold_answer(Call *call, int question, PyObject *text) {
    return hold(call, ask(call->book, question, text, NULL, NULL));
}

/* Whether a text may have one of some ASCII characters: of other texts Python knows. */
static int may_have(PyObject *text, const char *marks, int before_end) {
    if (!PyUnicode_IS_ASCII(text)) return 1;
    Py_ssize_t size = PyUnicode_GET_LENGTH(text) - before_end;
    for (; *marks && size > 0; marks++)
        if (memchr(PyUnicode_1BYTE_DATA(text), *marks, size)) return 1;
    return 0;
}

static PyObject *hold_str(Call *call, PyObject *text) {
    PyObject *held = hold(call, text);
    if (held && !PyUnicode_Check(held)) {
        PyErr_SetString(PyExc_TypeError, "a text is no str");
        return NULL;
    }
    return held;
}

/* Cut a text, without what it rules out. */
static int cut_affirmed(Call *call, PyObject **text, Words *words) {
    if (cut_words(call->book, *text, words)) return -1;
    if (!has_word(words, NEGATES) && PyUnicode_IS_ASCII(*text)) return 0;
    PyObject *rest = hold_str(call, ask(call->book, ASK_NEGATED, *text, NULL, NULL));
    if (!rest) return -1;
    if (rest == *text) return 0;
    *text = rest;
    return cut_words(call->book, rest, words);
}

/* Leave what another language says, and words and texts of unusual length. */
static int leave_unusual(Call *call, PyObject *text, const Words *words) {
    if (!has_word(words, IS_GRAMMAR)) {
        PyObject *answer = ask(call->book, ASK_TRANSLATES, call->catalog, text, NULL);
        int is_translated = answer ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
        if (is_translated < 0) return -1;
        if (is_translated) return 1;
    }
    for (Py_ssize_t i = 0; i < words->n; i++)
        if (PyUnicode_GET_LENGTH(words->v[i]->text) > call->book->numbers.max_word) return 1;
    return 0;
}

static int weigh_words(const Words *distinct, QTerms *terms) {
    double heaviest = distinct->n ? 0.0 : 1.0;
    for (Py_ssize_t i = 0; i < distinct->n; i++)
        if (distinct->v[i]->weight > heaviest) heaviest = distinct->v[i]->weight;
    double scale = heaviest > 0.0 && heaviest < 1.0 ? 1.0 / heaviest : 1.0;
    for (Py_ssize_t i = 0; i < distinct->n; i++) {
        Word *word = distinct->v[i];
        double share = share_weight(word, scale);
        for (Py_ssize_t t = 0; t < PyTuple_GET_SIZE(word->terms); t++) {
            QTerm term = {PyTuple_GET_ITEM(word->terms, t), word, ITSELF, share, 0.0, -1};
            if (put_term(terms, term)) return -1;
        }
    }
    return 0;
}

/* As text.query._drop_values does. */
static int drop_values(Call *call, PyObject **text, Words *words, QTerms *terms) {
    if (!may_have(*text, "/@0123456789", 0)) return 0;
    PyObject *rest = hold_answer(call, ASK_VALUES, *text);
    if (!rest || rest == Py_None) return rest ? 0 : -1;
    Words others = {0};
    char *is_other = PyMem_Calloc(terms->n + 1, 1);
    int failed = is_other ? cut_words(call->book, rest, &others) : -1;
    int telling = 0;
    if (!is_other) PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < others.n && !failed; i++) {
        PyObject *of_word = others.v[i]->terms;
        for (Py_ssize_t t = 0; t < PyTuple_GET_SIZE(of_word); t++) {
            Py_ssize_t place = look_up(&terms->places, PyTuple_GET_ITEM(of_word, t));
            if (place < 0 || is_other[place]) continue;
            is_other[place] = 1;
            telling += terms->v[place].weight >= 1.0;
        }
    }
    if (!failed && telling >= call->book->numbers.telling_others) {
        for (Py_ssize_t i = 0; i < terms->n; i++)
            if (!is_other[i]) terms->v[i].weight *= call->book->numbers.stop_weight;
        *text = rest;
        Words former = *words;
        *words = others;
        others = former;
    }
    PyMem_Free(is_other);
    free_words(&others);
    return failed;
}

/* Replace verbs by what they mean, as text.senses.read does. */
static int read_senses(Call *call, PyObject **text, const Words *words, Reading *out) {
    if (!has_word(words, HAS_SENSES) && !may_have(*text, "#", 0)) return 0;
    PyObject *read = hold_answer(call, ASK_SENSES, *text);
    if (!read || read == Py_None) return read ? 0 : -1;
    return PyArg_ParseTuple(read, "UO!", text, &PyDict_Type, &out->meanings) ? 0 : -1;
}

static int measure_unspaced(Call *call, PyObject *text, const Words *distinct, double *out) {
    if (PyUnicode_IS_ASCII(text)) return 0;
    PyObject *texts = hold(call, list_texts(distinct));
    PyObject *share = texts ? hold(call, ask(call->book, ASK_UNSPACED, text, texts, NULL)) : NULL;
    if (share) *out = PyFloat_AsDouble(share);
    return PyErr_Occurred() ? -1 : 0;
}

/* Weigh the terms of a text whose words are cut; a text of too many is left to Python. */
static int weigh_terms(Call *call, PyObject *text, Reading *out) {
    Words distinct = {0};
    int failed = distinguish(&out->words, &distinct);
    if (!failed && distinct.n > call->book->numbers.max_words) failed = 1;
    if (!failed) failed = measure_unspaced(call, text, &distinct, &out->unspaced);
    if (!failed) failed = weigh_words(&distinct, &out->terms);
    free_words(&distinct);
    return failed;
}

/* Find the words and the sentences to embed: without what is quoted. */
static int read_told(Call *call, PyObject *text, Reading *out) {
    PyObject *told = text;
    if (may_have(text, "<\"'`", 0)) {
        told = hold_str(call, ask(call->book, ASK_UNNAMED, text, NULL, NULL));
        if (!told || (told != text && cut_words(call->book, told, &out->words))) return -1;
    }
    if (out->words.n > call->book->numbers.max_words) out->words.n = call->book->numbers.max_words;
    if (!may_have(told, ".!?\n", 1)) return 0;
    out->sentences = hold_answer(call, ASK_SENTENCES, told);
    if (out->sentences && PyTuple_Check(out->sentences)) return 0;
    if (out->sentences) PyErr_SetString(PyExc_TypeError, "sentences are no tuple");
    return -1;
}

int read_text(Call *call, PyObject *text, Reading *out) {
    int failed = cut_affirmed(call, &text, &out->words);
    if (!failed) failed = leave_unusual(call, text, &out->words);
    if (!failed) failed = weigh_terms(call, text, out);
    out->text = text;
    if (!failed) failed = drop_values(call, &text, &out->words, &out->terms);
    if (!failed) failed = read_senses(call, &text, &out->words, out);
    if (failed) return failed;
    out->resolved = text;
    if (text != out->text && cut_words(call->book, text, &out->words)) return -1;
    out->may_divide = has_word(&out->words, CUTS) || may_have(text, ".!?;:", 1);
    return read_told(call, text, out);
}

void free_reading(Reading *reading) {
    free_words(&reading->words);
    free_terms(&reading->terms);
}
