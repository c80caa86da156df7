/* One question: its texts read, expanded, scored and summed. */
#include "join.h"

enum { MAX_EARLIER = 64 };  /* texts before a question */

/* Add the terms of earlier texts, as text.query._add_earlier does. */
static int add_earlier(QTerms *terms, const Reading *earlier) {
    for (Py_ssize_t i = 0; i < earlier->terms.n; i++) {
        QTerm lighter = earlier->terms.v[i];
        lighter.weight *= earlier->share;
        if (put_term(terms, lighter)) return -1;
    }
    return 0;
}

static PyObject *make_terms(const Book *book, const QTerms *terms) {
    PyObject *made = PyTuple_New(terms->n);
    for (Py_ssize_t i = 0; made && i < terms->n; i++) {
        const QTerm *term = &terms->v[i];
        PyObject *weight = PyFloat_FromDouble(term->weight);
        PyObject *credit = PyFloat_FromDouble(term->credit), *one = NULL;
        PyObject *via = PyTuple_GET_ITEM(book->vias, term->via);
        PyObject *fields[] = {term->term, weight, term->word->text, via, credit};
        if (weight && credit) one = PyObject_Vectorcall(book->query_term, fields, 5, NULL);
        Py_XDECREF(weight);
        Py_XDECREF(credit);
        if (!one) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, one);
    }
    return made;
}

static uint32_t find_code(const QTerm *term) {
    uint32_t code = 0;
    PyObject *terms = term->word->terms;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(terms); i++)
        if (PyTuple_GET_ITEM(terms, i) == term->term)
            memcpy(&code, PyBytes_AS_STRING(term->word->codes) + i * sizeof code, sizeof code);
    return code;
}

/* As pattern_vectors._hash_terms does. */
static PyObject *hash_terms(const Book *book, const QTerms *terms) {
    PyObject *hashed = PyDict_New();
    for (Py_ssize_t i = 0; hashed && i < terms->n; i++) {
        if (terms->v[i].via != ITSELF) continue;
        uint32_t code = find_code(&terms->v[i]);
        double weight = terms->v[i].weight;
        if (!(code >> book->numbers.sign_bit & 1)) weight = -weight;
        PyObject *place = PyLong_FromUnsignedLong(code % (uint32_t)book->numbers.places);
        PyObject *before = place ? PyDict_GetItemWithError(hashed, place) : NULL;
        PyObject *sum = PyFloat_FromDouble((before ? PyFloat_AS_DOUBLE(before) : 0.0) + weight);
        if (!place || !sum || PyDict_SetItem(hashed, place, sum)) Py_CLEAR(hashed);
        Py_XDECREF(place);
        Py_XDECREF(sum);
    }
    return hashed;
}

static PyObject *make_earlier(const Reading *readings, Py_ssize_t count) {
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made && i < count; i++) {
        PyObject *texts = list_texts(&readings[i].words);
        PyObject *one = texts ? Py_BuildValue("Nd", texts, readings[i].share) : NULL;
        if (!one) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, one);
    }
    return made;
}

/* Whether tools have less than half of the telling terms, as text.query.is_unknown says. */
static int is_unknown(const QTerms *terms) {
    Py_ssize_t telling = 0, known = 0;
    for (Py_ssize_t i = 0; i < terms->n; i++) {
        if (terms->v[i].via != ITSELF || terms->v[i].weight < 1.0) continue;
        telling++;
        known += terms->v[i].slot >= 0;
    }
    return 2 * known < telling;
}

static int choose_question_table(Call *call, const Reading *reading, int has_earlier) {
    if (has_earlier || !is_unknown(&reading->terms))
        return choose_table(call->book, &reading->words);
    PyObject *texts = hold(call, list_texts(&reading->words));
    PyObject *answer = texts ? ask(call->book, ASK_FOREIGN_BY_WORDS, texts, NULL, NULL) : NULL;
    int is_foreign = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (is_foreign < 0) return -1;
    return is_foreign ? FOREIGN : choose_table(call->book, &reading->words);
}

/* How familiar a conversation is, with the words of all its texts. */
static int measure_conversation(Book *book, const Reading *readings, Py_ssize_t count,
                                double *out) {
    Words all = {0};
    int failed = 0;
    for (Py_ssize_t r = 0; r < count && !failed; r++)
        for (Py_ssize_t i = 0; i < readings[r].words.n && !failed; i++)
            failed = add_word(&all, readings[r].words.v[i]);
    int table = failed ? -1 : choose_table(book, &all);
    failed = table < 0 ? -1 : measure_familiarity(book, &all, table, out);
    free_words(&all);
    return failed;
}

/* Sum the whole question, then each earlier text, or each sentence, as Embedder.query does; without
 * earlier texts, each is scaled to length one. */
static PyObject *sum_question(Call *call, const Reading *readings, Py_ssize_t count, int *table,
                              double *familiarity) {
    Book *book = call->book;
    PyObject *sentences = count > 1 ? NULL : readings->sentences;
    Py_ssize_t parts = sentences ? PyTuple_GET_SIZE(sentences) : count - 1;
    Py_ssize_t size = (1 + parts) * book->dimension * (Py_ssize_t)sizeof(float);
    PyObject *sums = PyByteArray_FromStringAndSize(NULL, size);
    if (!sums) return NULL;
    float *out = (float *)PyByteArray_AS_STRING(sums);
    *table = choose_question_table(call, readings, count > 1);
    int failed = *table < 0 ? -1 : sum_rows(book, &readings->words, *table, out);
    if (!failed)
        failed = count > 1 ? measure_conversation(book, readings, count, familiarity)
                           : measure_familiarity(book, &readings->words, *table, familiarity);
    Words words = {0};
    for (Py_ssize_t i = 0; i < parts && !failed; i++) {
        out += book->dimension;
        if (sentences) {
            failed = find_words(book, PyTuple_GET_ITEM(sentences, i), &words);
            if (!failed) failed = sum_rows(book, &words, *table, out);
        } else {
            int own = choose_table(book, &readings[1 + i].words);
            failed = own < 0 ? -1 : sum_rows(book, &readings[1 + i].words, own, out);
        }
    }
    free_words(&words);
    if (failed) Py_CLEAR(sums);
    out = sums && count == 1 ? (float *)PyByteArray_AS_STRING(sums) : NULL;
    for (Py_ssize_t i = 0; out && i <= parts; i++)
        scale_to_unit(out + i * book->dimension, book->dimension);
    return sums;
}

static PyObject *make_answer(Call *call, Reading *readings, Py_ssize_t count) {
    Reading *first = readings;
    double total = 0, familiarity = 0;
    int table = ENGLISH;
    PyObject *scores = score_terms(call->tables, &first->terms, &total);
    PyObject *sums = scores ? sum_question(call, readings, count, &table, &familiarity) : NULL;
    PyObject *terms = sums ? make_terms(call->book, &first->terms) : NULL;
    PyObject *words = terms ? list_texts(&first->words) : NULL;
    PyObject *earlier = words ? make_earlier(readings + 1, count - 1) : NULL;
    PyObject *sentences = first->sentences ? Py_NewRef(first->sentences) : PyTuple_New(0);
    PyObject *meanings = first->meanings ? Py_NewRef(first->meanings) : PyDict_New();
    PyObject *hashed = earlier ? hash_terms(call->book, &first->terms) : NULL, *answer = NULL;
    if (hashed && sentences && meanings)
        answer = Py_BuildValue("(OOOOdOOOOOO)OdOdi", first->text, terms, words, sentences,
                               first->unspaced, first->resolved, meanings, earlier, Py_None, hashed,
                               first->may_divide ? Py_True : Py_False, scores, total, sums,
                               familiarity, table == FOREIGN);
    Py_XDECREF(hashed);
    Py_XDECREF(scores);
    Py_XDECREF(sums);
    Py_XDECREF(terms);
    Py_XDECREF(words);
    Py_XDECREF(earlier);
    Py_XDECREF(sentences);
    Py_XDECREF(meanings);
    return answer;
}

static int read_all(Call *call, PyObject *text, PyObject *earlier, Reading *readings) {
    int failed = read_text(call, text, readings);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(earlier) && !failed; i++) {
        PyObject *said;
        Reading *reading = &readings[1 + i];
        PyObject *one = PyTuple_GET_ITEM(earlier, i);
        if (!PyArg_ParseTuple(one, "Ud", &said, &reading->share)) return -1;
        failed = read_text(call, said, reading);
        if (!failed) failed = add_earlier(&readings->terms, reading);
    }
    return failed ? failed : expand_terms(call, readings);
}

/* Return the evidence for a question, or None for one that is left to Python. */
PyObject *join_question(Tables *tables, PyObject *arguments) {
    PyObject *catalog, *text, *earlier;
    if (!PyArg_ParseTuple(arguments, "OUO!", &catalog, &text, &PyTuple_Type, &earlier)) return NULL;
    if (!tables->book) return PyErr_Format(PyExc_ValueError, "tables without arrays");
    Py_ssize_t count = 1 + PyTuple_GET_SIZE(earlier);
    if (count > MAX_EARLIER) Py_RETURN_NONE;
    Call call = {tables, tables->book, catalog, PyList_New(0)};
    Reading *readings = call.held ? PyMem_Calloc(count, sizeof(Reading)) : NULL;
    if (!readings) {
        Py_XDECREF(call.held);
        return PyErr_NoMemory();
    }
    int failed = read_all(&call, text, earlier, readings);
    PyObject *answer = NULL;
    if (failed > 0) answer = Py_NewRef(Py_None);
    else if (!failed) answer = make_answer(&call, readings, count);
    for (Py_ssize_t i = 0; i < count; i++) free_reading(&readings[i]);
    PyMem_Free(readings);
    Py_DECREF(call.held);
    return answer;
}
