/* Sets in the order of insertion: terms by their heaviest weight, words once. */
#include "join.h"

enum { LEAST_ROOM = 256 };  /* a power of two */

static size_t hash_text(PyObject *key) {
    return (size_t)PyObject_Hash(key);  /* of a str, which keeps it */
}

/* Where a key is, or the free place for it. */
static size_t seek(PyObject *const *keys, size_t mask, PyObject *key) {
    size_t at = hash_text(key) & mask;
    while (keys[at] && keys[at] != key) {
        if (hash_text(keys[at]) == hash_text(key) && PyUnicode_Compare(keys[at], key) == 0) break;
        at = (at + 1) & mask;
    }
    return at;
}

static int grow_places(Places *places) {
    size_t room = places->keys ? 2 * (places->mask + 1) : LEAST_ROOM;
    PyObject **keys = PyMem_Calloc(room, sizeof *keys);
    Py_ssize_t *numbers = PyMem_Calloc(room, sizeof *numbers);
    if (!keys || !numbers) {
        PyMem_Free(keys);
        PyMem_Free(numbers);
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; places->keys && i <= places->mask; i++) {
        if (!places->keys[i]) continue;
        size_t at = seek(keys, room - 1, places->keys[i]);
        keys[at] = places->keys[i];
        numbers[at] = places->places[i];
    }
    PyMem_Free(places->keys);
    PyMem_Free(places->places);
    places->keys = keys;
    places->places = numbers;
    places->mask = room - 1;
    return 0;
}

/* Point to the place of a key; it is -1 for one that is new, and for the caller to set. */
int find_place(Places *places, PyObject *key, Py_ssize_t **place) {
    if ((!places->keys || 2 * places->n > places->mask) && grow_places(places)) return -1;
    size_t at = seek(places->keys, places->mask, key);
    if (!places->keys[at]) {
        places->keys[at] = key;
        places->places[at] = -1;
        places->n++;
    }
    *place = &places->places[at];
    return 0;
}

/* Return the place of a key; -1 for one that is not there. */
Py_ssize_t look_up(const Places *places, PyObject *key) {
    if (!places->keys) return -1;
    size_t at = seek(places->keys, places->mask, key);
    return places->keys[at] ? places->places[at] : -1;
}

void free_places(Places *places) {
    PyMem_Free(places->keys);
    PyMem_Free(places->places);
    memset(places, 0, sizeof *places);
}

/* Note a term; of two that are equal the heavier stays, in the place of the first. */
int put_term(QTerms *terms, QTerm term) {
    Py_ssize_t *place;
    if (find_place(&terms->places, term.term, &place)) return -1;
    if (*place >= 0) {
        if (terms->v[*place].weight < term.weight) terms->v[*place] = term;
        return 0;
    }
    if (terms->n == terms->room) {
        Py_ssize_t room = terms->room ? 2 * terms->room : 64;
        QTerm *grown = PyMem_Realloc(terms->v, room * sizeof(QTerm));
        if (!grown) {
            PyErr_NoMemory();
            return -1;
        }
        terms->v = grown;
        terms->room = room;
    }
    *place = terms->n;
    terms->v[terms->n++] = term;
    return 0;
}

void free_terms(QTerms *terms) {
    PyMem_Free(terms->v);
    free_places(&terms->places);
    memset(terms, 0, sizeof *terms);
}

/* What each term of a word weighs, as text.query._weigh_word says. */
double share_weight(const Word *word, double scale) {
    double share = word->weight * scale;
    return word->parts > 0 ? share * 2.0 / (word->parts + 1.0) : share;
}

/* Take every word once, in the order of the first of each. */
int distinguish(const Words *words, Words *out) {
    Places seen = {0};
    int failed = 0;
    out->n = 0;
    for (Py_ssize_t i = 0; i < words->n && !failed; i++) {
        Py_ssize_t *place;
        failed = find_place(&seen, words->v[i]->text, &place);
        if (failed || *place >= 0) continue;
        *place = i;
        failed = add_word(out, words->v[i]);
    }
    free_places(&seen);
    return failed;
}
