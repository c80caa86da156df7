/* Terms that stand for others: synonyms, senses of verbs, completions and corrections. */
#include "join.h"

/* As index.expand._keep does. */
static int put_standin(const Book *book, QTerms *standins, PyObject *term, const QTerm *of, int via,
                       double weight, double worth) {
    double credit = book->numbers.credits[via] * worth;
    QTerm standin = {term, of->word, via, of->weight * weight, credit, -1};
    return put_term(standins, standin);
}

/* Which of some terms tools have; puts these. */
static int put_present(Call *call, QTerms *standins, const QTerm *of, PyObject *others,
                       double weight, double worth) {
    int present = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(others); i++) {
        PyObject *term = PyTuple_GET_ITEM(others, i);
        if (!PyUnicode_CheckExact(term)) {
            PyErr_SetString(PyExc_TypeError, "a term is no str");
            return -1;
        }
        if (find_slot(call->tables, term) < 0) continue;
        present = 1;
        if (put_standin(call->book, standins, term, of, SYNONYM, weight, worth)) return -1;
    }
    return present;
}

static double find_rarity(const Tables *tables, const QTerm *term, double otherwise) {
    return term->slot < 0 ? otherwise : tables->idf[term->slot];
}

/* As index.expand._add_senses does. */
static int add_senses(Call *call, const Reading *reading, QTerms *standins) {
    for (Py_ssize_t i = 0; i < reading->terms.n; i++) {
        QTerm *term = &reading->terms.v[i];
        PyObject *meaning = PyDict_GetItemWithError(reading->meanings, term->term);
        if (!meaning && PyErr_Occurred()) return -1;
        if (!meaning || !PyTuple_Check(meaning) || !PyTuple_GET_SIZE(meaning)) continue;
        double weight = call->book->numbers.meant / (double)PyTuple_GET_SIZE(meaning);
        double worth = term->weight * find_rarity(call->tables, term, 0.0);
        int present = put_present(call, standins, term, meaning, weight, worth);
        if (present < 0) return -1;
        if (present) term->weight *= call->book->numbers.literal_verb;
    }
    return 0;
}

static int add_synonyms(Call *call, const Reading *reading, QTerms *standins) {
    const Numbers *numbers = &call->book->numbers;
    for (Py_ssize_t i = 0; i < reading->terms.n; i++) {
        const QTerm *term = &reading->terms.v[i];
        PyObject *others = PyDict_GetItemWithError(call->book->synonyms, term->term);
        if (!others && PyErr_Occurred()) return -1;
        if (!others || !PyTuple_Check(others)) continue;
        double share = term->slot < 0 ? numbers->lone_synonym : numbers->synonym;
        double worth = term->weight * find_rarity(call->tables, term, call->tables->unseen);
        if (put_present(call, standins, term, others, share, worth) < 0) return -1;
    }
    return 0;
}

/* Return what an unknown word may stand for, remembered by list; a new reference. */
static PyObject *find_spellings(Call *call, const QTerm *term, int is_last_resort) {
    PyObject *remembered = call->tables->spelled[is_last_resort];
    PyObject *found = PyDict_GetItemWithError(remembered, term->word->text);
    if (found || PyErr_Occurred()) return Py_XNewRef(found);
    PyObject *resort = is_last_resort ? Py_True : Py_False;
    PyObject *word = Py_BuildValue("OO", term->term, term->word->text);
    found = word ? ask(call->book, ASK_SPELLINGS, call->catalog, word, resort) : NULL;
    Py_XDECREF(word);
    if (!found) return NULL;
    if (PyDict_GET_SIZE(remembered) >= MAX_SPELLED) PyDict_Clear(remembered);
    if (PyTuple_Check(found) && PyDict_SetItem(remembered, term->word->text, found) == 0)
        return found;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "spellings are no tuple");
    Py_DECREF(found);
    return NULL;
}

static int put_spellings(Call *call, QTerms *standins, const QTerm *of, PyObject *found) {
    double worth = of->weight * call->tables->unseen;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(found); i++) {
        PyObject *spelling;
        double weight;
        int via;
        PyObject *one = PyTuple_GET_ITEM(found, i);
        if (!PyArg_ParseTuple(one, "Uid", &spelling, &via, &weight)) return -1;
        if (via <= ITSELF || via >= VIAS) {
            PyErr_SetString(PyExc_ValueError, "a spelling of an unknown kind");
            return -1;
        }
        if (put_standin(call->book, standins, spelling, of, via, weight, worth)) return -1;
    }
    return 0;
}

static int is_whole_word(const QTerm *term) {
    Py_ssize_t count = PyTuple_GET_SIZE(term->word->terms);
    return term->weight >= 1.0 && PyTuple_GET_ITEM(term->word->terms, count - 1) == term->term;
}

/* Complete and correct the words that no tool has. */
static int add_spellings(Call *call, const Reading *reading, QTerms *standins) {
    int is_something_known = 0;
    for (Py_ssize_t i = 0; i < reading->terms.n; i++) {
        const QTerm *term = &reading->terms.v[i];
        is_something_known |= term->slot >= 0 && term->weight >= 1.0;
    }
    for (Py_ssize_t i = 0; i < reading->terms.n; i++) {
        const QTerm *term = &reading->terms.v[i];
        if (term->slot >= 0 || !is_whole_word(term)) continue;
        if (is_something_known && term->word->flags & IS_REAL) continue;
        PyObject *found = hold(call, find_spellings(call, term, !is_something_known));
        if (!found || put_spellings(call, standins, term, found)) return -1;
    }
    return 0;
}

/* Add the stand-ins that are no terms of the text itself; returns how many. */
static Py_ssize_t add_standins(Call *call, QTerms *terms, const QTerms *standins) {
    Py_ssize_t before = terms->n;
    for (Py_ssize_t i = 0; i < standins->n; i++) {
        QTerm standin = standins->v[i];
        Py_ssize_t place = look_up(&terms->places, standin.term);
        if (place >= 0) continue;
        standin.slot = find_slot(call->tables, standin.term);
        if (put_term(terms, standin)) return -1;
    }
    return terms->n - before;
}

/* As index.expand.expand does. */
int expand_terms(Call *call, Reading *reading) {
    QTerms *terms = &reading->terms;
    QTerms standins = {0};
    double *weights = PyMem_Malloc((terms->n + 1) * sizeof(double));
    if (!weights) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < terms->n; i++) {
        terms->v[i].slot = find_slot(call->tables, terms->v[i].term);
        weights[i] = terms->v[i].weight;
    }
    Py_ssize_t own = terms->n, added = -1;
    int failed = reading->meanings ? add_senses(call, reading, &standins) : 0;
    if (!failed) failed = add_synonyms(call, reading, &standins);
    if (!failed) failed = add_spellings(call, reading, &standins);
    if (!failed) added = add_standins(call, terms, &standins);
    if (added == 0)
        for (Py_ssize_t i = 0; i < own; i++) terms->v[i].weight = weights[i];
    PyMem_Free(weights);
    free_terms(&standins);
    return added < 0 ? -1 : 0;
}
