/* Words to terms to evidence, in one call: what Python does word by word.
 *
 * What a word means is asked of Python once, and kept in a `Book`; so is what is done to a whole
 * text, where a word or a character in it says that it may be. Every text comes from strangers:
 * lengths and indices are checked where they come in, and nothing recurses on them.
 *
 * Functions return 0, or -1 with an exception, or 1 for a question that is left to Python.
 */
#ifndef TOOLSCOUT_JOIN_H
#define TOOLSCOUT_JOIN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

enum {  /* what Python says of a word */
    NEGATES = 1 << 0,
    HAS_SENSES = 1 << 1,
    IS_GRAMMAR = 1 << 2,
    TELLS_LANGUAGE = 1 << 3,
    HAS_LETTERS = 1 << 4,
    IS_REAL = 1 << 5,
    IS_PLAIN = 1 << 6,
    CUTS = 1 << 7,
};

enum { ENGLISH, FOREIGN, MIXED, TABLES };  /* the tables of index/words.py */
enum { MAX_SPELLED = 500 };  /* words of a list whose spellings are remembered */
enum { INTERFACE = 2 };  /* as in extension.py; another one whenever a signature changes */
enum { MAX_DIMENSION = 4096 };
enum { MAX_BEST = 64 };  /* rows found by insertion */

enum { ITSELF, SYNONYM, PREFIX, FUZZY, VIAS };  /* how a term came from a word */

enum {  /* methods of the Python object that knows words */
    ASK_WORD, ASK_TOKENS, ASK_SPLIT, ASK_FOREIGN, ASK_FOREIGN_BY_WORDS, ASK_SPELLINGS, ASK_NEGATED,
    ASK_TRANSLATES, ASK_UNSPACED, ASK_VALUES, ASK_SENSES, ASK_UNNAMED, ASK_SENTENCES, QUESTIONS
};

typedef struct {
    PyObject_HEAD
    PyObject *text;
    PyObject *terms;  /* a tuple of str */
    PyObject *codes;  /* bytes, a uint32 of each */
    double weight;
    double parts;  /* 0 for a word of one term */
    unsigned flags;
    PyObject *tokens[TABLES];  /* bytes of int64, NULL until they are asked for */
    double known[TABLES];
} Word;

typedef struct {  /* the numbers of the ranking, which Python gives */
    double stop_weight, synonym, lone_synonym, meant, literal_verb;
    double credits[VIAS];
    int telling_others, shares, max_word, max_words, places, sign_bit;
} Numbers;

typedef struct {
    PyObject_HEAD
    PyObject *language;
    PyObject *synonyms;  /* by term, a tuple of terms */
    PyObject *query_term;  /* the class */
    PyObject *vias;  /* a tuple, by the number of each */
    PyObject *words;  /* Word by str */
    PyObject *former;  /* the words of the book before, NULL without one */
    Py_buffer rows;  /* of the model's tokens, int8, shape (n_rows, dimension) */
    int64_t n_rows;
    int dimension;
    Py_ssize_t limit;
    Numbers numbers;
} Book;

typedef struct {
    PyObject_HEAD
    Book *book;
    Py_buffer arrays[7];
    const int64_t *keys;
    const int32_t *buckets;
    const int64_t *starts;
    const double *idf;
    const int32_t *rows;
    const float *gain;
    const float *plain;
    int64_t n_terms;
    int64_t n_buckets;
    int shift;
    int size;  /* tools */
    double unseen;
    PyObject *spelled[2];  /* what unknown words may stand for; the second as a last resort */
} Tables;

typedef struct {
    Word **v;
    Py_ssize_t n, room;
} Words;

typedef struct {  /* the places of texts */
    PyObject **keys;
    Py_ssize_t *places;
    size_t mask;
    size_t n;
} Places;

typedef struct {
    PyObject *term;
    Word *word;
    int via;
    double weight, credit;
    int64_t slot;  /* in the catalog, -1 for a term that no tool has */
} QTerm;

typedef struct {
    QTerm *v;
    Py_ssize_t n, room;
    Places places;
} QTerms;

typedef struct {  /* a text, as text/query.py analyses it */
    PyObject *text, *resolved, *meanings, *sentences;
    Words words;
    QTerms terms;
    double unspaced, share;
    int may_divide;  /* whether it may have several clauses */
} Reading;

typedef struct {
    Tables *tables;
    Book *book;
    PyObject *catalog;
    PyObject *held;  /* a list of what lives as long as the call */
} Call;

/* words.c */
extern PyTypeObject WordType, BookType;
int load_names(void);
PyObject *ask(Book *book, int question, PyObject *first, PyObject *second, PyObject *third);
int cut_words(Book *book, PyObject *text, Words *out);
int find_words(Book *book, PyObject *texts, Words *out);
int add_word(Words *words, Word *word);
void free_words(Words *words);
int has_word(const Words *words, unsigned flag);
PyObject *list_texts(const Words *words);
int choose_table(Book *book, const Words *words);
int sum_rows(Book *book, const Words *words, int table, float *out);
void scale_to_unit(float *vector, int dimension);
int measure_familiarity(Book *book, const Words *words, int table, double *out);
PyObject *embed_texts(Book *book, PyObject *texts);

/* places.c */
int find_place(Places *places, PyObject *key, Py_ssize_t **place);
Py_ssize_t look_up(const Places *places, PyObject *key);
void free_places(Places *places);
int put_term(QTerms *terms, QTerm term);
void free_terms(QTerms *terms);
double share_weight(const Word *word, double scale);
int distinguish(const Words *words, Words *out);

/* reading.c */
int read_text(Call *call, PyObject *text, Reading *out);
void free_reading(Reading *reading);
PyObject *hold(Call *call, PyObject *object);

/* expanding.c */
int expand_terms(Call *call, Reading *reading);

/* scoring.c */
extern PyTypeObject TablesType;
int64_t find_slot(const Tables *tables, PyObject *term);
PyObject *score_terms(const Tables *tables, const QTerms *terms, double *total);
PyObject *weigh_texts(Tables *tables, PyObject *texts, int is_fit);

/* fusing.c */
PyObject *fuse_scores(PyObject *module, PyObject *arguments);
PyObject *find_best(PyObject *module, PyObject *arguments);

/* joining.c */
PyObject *join_question(Tables *tables, PyObject *arguments);

/* naming.c */
PyObject *may_name(PyObject *module, PyObject *arguments);

#endif
