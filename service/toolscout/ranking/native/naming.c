/* Whether a text may name a tool at all: most name none, and Python need not look. */
#include "join.h"

enum { OPENING = 4, MAX_RUN = 8, MAX_CHARS = 1 << 16 };  /* the first two as in index/names.py */

typedef struct {
    char *letters;  /* of all units, folded, without what joins them */
    Py_ssize_t *starts;  /* of each unit, and where the last ends */
    Py_ssize_t count;
} Units;

/* Cut ASCII as index/names.py does with `_ASCII_UNITS`. */
static void cut_units(const Py_UCS1 *text, Py_ssize_t size, Units *units) {
    Py_ssize_t used = 0;
    int is_inside = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        if (Py_ISALNUM(text[at])) {
            if (!is_inside) units->starts[units->count++] = used;
            units->letters[used++] = Py_TOLOWER(text[at]);
            is_inside = 1;
        } else if (is_inside) {
            int is_joint = text[at] == '_' || text[at] == '-';
            is_inside = is_joint && at + 1 < size && Py_ISALNUM(text[at + 1]);
        }
    }
    units->starts[units->count] = used;
}

static int is_in(PyObject *forms, const char *letters, Py_ssize_t size) {
    PyObject *form = PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, letters, size);
    int found = form ? PySequence_Contains(forms, form) : -1;
    Py_XDECREF(form);
    return found;
}

/* Whether a run of units from one on is a form of a name, as NameIndex._note_mention tries. */
static int opens_name(const Units *units, Py_ssize_t unit, PyObject *openings, PyObject *full,
                      PyObject *bare, Py_ssize_t longest) {
    const char *letters = units->letters + units->starts[unit];
    Py_ssize_t left = units->starts[units->count] - units->starts[unit];
    Py_ssize_t own = units->starts[unit + 1] - units->starts[unit];
    int found = is_in(openings, letters, left < OPENING ? left : OPENING);
    if (!found && own < OPENING) found = is_in(openings, letters, own);
    if (found <= 0) return found;
    for (Py_ssize_t run = 1; run <= MAX_RUN && unit + run <= units->count; run++) {
        Py_ssize_t size = units->starts[unit + run] - units->starts[unit];
        if (size > longest) return 0;
        found = is_in(full, letters, size);
        if (!found) found = is_in(bare, letters, size);
        if (found) return found;
    }
    return 0;
}

/* Takes an ASCII text, and the parts of a NameIndex; other texts may always have names. */
PyObject *may_name(PyObject *module, PyObject *arguments) {
    PyObject *text, *openings, *full, *bare;
    Py_ssize_t longest;
    if (!PyArg_ParseTuple(arguments, "UO!O!O!n", &text, &PySet_Type, &openings, &PyDict_Type, &full,
                          &PyDict_Type, &bare, &longest))
        return NULL;
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    if (!PyUnicode_IS_ASCII(text) || size > MAX_CHARS) Py_RETURN_TRUE;
    Units units = {PyMem_Malloc(size + 1), PyMem_Malloc((size + 2) * sizeof(Py_ssize_t)), 0};
    int found = units.letters && units.starts ? 0 : -1;
    if (found < 0) PyErr_NoMemory();
    else cut_units(PyUnicode_1BYTE_DATA(text), size, &units);
    for (Py_ssize_t unit = 0; unit < units.count && !found; unit++)
        found = opens_name(&units, unit, openings, full, bare, longest);
    PyMem_Free(units.letters);
    PyMem_Free(units.starts);
    return found < 0 ? NULL : PyBool_FromLong(found);
}
