/* The module `_join`: a book of words, and the tables of a catalog. */
#include "join.h"

static void free_book(Book *book) {
    if (book->rows.obj) PyBuffer_Release(&book->rows);
    Py_XDECREF(book->language);
    Py_XDECREF(book->synonyms);
    Py_XDECREF(book->query_term);
    Py_XDECREF(book->vias);
    Py_XDECREF(book->words);
    Py_XDECREF(book->former);
    Py_TYPE(book)->tp_free((PyObject *)book);
}

static int init_book(Book *book, PyObject *arguments, PyObject *keywords) {
    static char *names[] = {
        "language", "rows", "synonyms", "query_term", "vias", "former", "limit", "stop_weight",
        "synonym", "lone_synonym", "meant", "literal_verb", "credits", "telling_others", "shares",
        "max_word", "max_words", "places", "sign_bit", NULL,
    };
    PyObject *language, *rows, *synonyms, *query_term, *vias, *before;
    Numbers *numbers = &book->numbers;
    if (book->language) {
        PyErr_SetString(PyExc_ValueError, "a book is made once");
        return -1;
    }
    if (!PyArg_ParseTupleAndKeywords(
            arguments, keywords, "OOO!OO!Onddddd(dddd)iiiiii", names, &language, &rows,
            &PyDict_Type, &synonyms, &query_term, &PyTuple_Type, &vias, &before, &book->limit,
            &numbers->stop_weight, &numbers->synonym, &numbers->lone_synonym, &numbers->meant,
            &numbers->literal_verb, &numbers->credits[ITSELF], &numbers->credits[SYNONYM],
            &numbers->credits[PREFIX], &numbers->credits[FUZZY], &numbers->telling_others,
            &numbers->shares, &numbers->max_word, &numbers->max_words, &numbers->places,
            &numbers->sign_bit))
        return -1;
    Book *former = Py_IS_TYPE(before, &BookType) ? (Book *)before : NULL;
    if (former && !former->language) former = NULL;
    if (PyObject_GetBuffer(rows, &book->rows, PyBUF_ND | PyBUF_C_CONTIGUOUS)) return -1;
    int is_matrix = book->rows.ndim == 2 && book->rows.itemsize == 1;
    if (!is_matrix || book->rows.shape[1] < 1 || book->rows.shape[1] > MAX_DIMENSION ||
        PyTuple_GET_SIZE(vias) != VIAS || numbers->shares < 1 || numbers->places < 1 ||
        numbers->sign_bit < 0 || numbers->sign_bit > 31) {
        PyErr_SetString(PyExc_ValueError, "a model of another kind");
        return -1;
    }
    book->n_rows = book->rows.shape[0];
    book->dimension = (int)book->rows.shape[1];
    book->words = PyDict_New();
    if (!book->words) return -1;
    if (former) {
        book->former = Py_NewRef(former->words);
        Py_CLEAR(former->former);  /* what was used of it is in its own words */
    }
    book->synonyms = Py_NewRef(synonyms);
    book->query_term = Py_NewRef(query_term);
    book->vias = Py_NewRef(vias);
    book->language = Py_NewRef(language);  /* last: whoever has it has all */
    return 0;
}

static int is_full(const Book *book) {
    return PyDict_GET_SIZE(book->words) > book->limit;
}

static PyObject *get_book_full(Book *book, void *closure) {
    return PyBool_FromLong(book->language && is_full(book));
}

static PyObject *get_tables_full(Tables *tables, void *closure) {
    return PyBool_FromLong(tables->book && is_full(tables->book));
}

static PyObject *get_unseen(Tables *tables, void *closure) {
    return PyFloat_FromDouble(tables->unseen);
}

/* Takes a tuple of texts; returns the sums of their rows, and how familiar each is. */
static PyObject *embed(Book *book, PyObject *texts) {
    if (!book->language || !PyTuple_Check(texts))
        return PyErr_Format(PyExc_TypeError, "embed() takes a tuple of texts");
    return embed_texts(book, texts);
}

/* Takes a tuple of texts, and whether the tool that says most of each is meant, not all of them. */
static PyObject *weigh(Tables *tables, PyObject *arguments) {
    PyObject *texts;
    int is_fit;
    if (!PyArg_ParseTuple(arguments, "O!p", &PyTuple_Type, &texts, &is_fit)) return NULL;
    if (!tables->book) return PyErr_Format(PyExc_ValueError, "tables without arrays");
    return weigh_texts(tables, texts, is_fit);
}

static PyMethodDef book_methods[] = {{"embed", (PyCFunction)embed, METH_O, NULL}, {0}};
static PyGetSetDef book_attributes[] = {{"is_full", (getter)get_book_full, NULL, NULL, NULL}, {0}};
static PyMethodDef tables_methods[] = {
    {"join", (PyCFunction)join_question, METH_VARARGS, NULL},
    {"weigh", (PyCFunction)weigh, METH_VARARGS, NULL},
    {0},
};
static PyGetSetDef tables_attributes[] = {
    {"is_full", (getter)get_tables_full, NULL, NULL, NULL},
    {"unseen", (getter)get_unseen, NULL, NULL, NULL},
    {0},
};

PyTypeObject BookType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "toolscout.ranking.native._join.Book",
    .tp_basicsize = sizeof(Book),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)init_book,
    .tp_dealloc = (destructor)free_book,
    .tp_methods = book_methods,
    .tp_getset = book_attributes,
};

static PyMethodDef functions[] = {
    {"fuse_scores", fuse_scores, METH_VARARGS, NULL},
    {"find_best", find_best, METH_VARARGS, NULL},
    {"may_name", may_name, METH_VARARGS, NULL},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_join",
    .m_doc = "Words to terms to evidence, in one call.",
    .m_size = -1,
    .m_methods = functions,
};

static const struct {
    const char *name;
    int value;
} CONSTANTS[] = {
    {"NEGATES", NEGATES},
    {"HAS_SENSES", HAS_SENSES},
    {"IS_GRAMMAR", IS_GRAMMAR},
    {"TELLS_LANGUAGE", TELLS_LANGUAGE},
    {"HAS_LETTERS", HAS_LETTERS},
    {"IS_REAL", IS_REAL},
    {"IS_PLAIN", IS_PLAIN},
    {"CUTS", CUTS},
    {"FOREIGN", FOREIGN},
    {"MAX_BEST", MAX_BEST},
    {"INTERFACE", INTERFACE},
};

PyMODINIT_FUNC PyInit__join(void) {
    TablesType.tp_methods = tables_methods;
    TablesType.tp_getset = tables_attributes;
    if (load_names() || PyType_Ready(&WordType)) return NULL;
    if (PyType_Ready(&BookType) || PyType_Ready(&TablesType)) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    for (size_t i = 0; i < sizeof CONSTANTS / sizeof *CONSTANTS; i++)
        if (PyModule_AddIntConstant(module, CONSTANTS[i].name, CONSTANTS[i].value)) return NULL;
    if (PyModule_AddObjectRef(module, "Book", (PyObject *)&BookType)) return NULL;
    if (PyModule_AddObjectRef(module, "Tables", (PyObject *)&TablesType)) return NULL;
    return module;
}
