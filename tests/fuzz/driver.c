/* A libFuzzer target that calls the Python functions of one harness: `test` for an input, `mutate` for a mutation.

   The compiled modules of jelly report their coverage by themselves. Lines of the Python modules count through
   a trace function, in counters that libFuzzer reads beside those of the compiler. The name of the harness is in
   JELLY_FUZZ_HARNESS; PYTHONPATH has the instrumented package, the folder tests and what they import. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define N_COUNTERS (1 << 15)

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t counters[N_COUNTERS];

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static PyObject *test, *mutate;

static void stop(const char *what) {
    PyErr_Print();
    fprintf(stderr, "fuzz: %s\n", what);
    fflush(NULL);
    abort();
}

/* Counts lines of jelly/. Other frames are not traced line by line: their f_trace_lines is off. */
static int count_line(PyObject *self, PyFrameObject *frame, int what, PyObject *arg) {
    if (what != PyTrace_CALL && what != PyTrace_LINE)
        return 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    uintptr_t name = 0;
    Py_ssize_t size;
    const char *path = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
    int ours = path != NULL && strstr(path, "/jelly/") != NULL && strstr(path, "/site-packages/") == NULL;
    if (ours) {
        for (Py_ssize_t i = size > 24 ? size - 24 : 0; i < size; i++)
            name = name * 31 + (uint8_t)path[i];
        uint8_t *counter = &counters[(name * 2654435761u + (uintptr_t)PyFrame_GetLineNumber(frame)) % N_COUNTERS];
        if (*counter < 255)
            ++*counter;
    } else if (what == PyTrace_CALL) {
        PyObject_SetAttrString((PyObject *)frame, "f_trace_lines", Py_False);
    }
    Py_DECREF(code);
    PyErr_Clear();
    return 0;
}

/* mutate_bytes(data, max_size): the mutation of libFuzzer, for mutators in Python. */
static PyObject *mutate_bytes(PyObject *self, PyObject *args) {
    const char *data;
    Py_ssize_t size, max_size;
    if (!PyArg_ParseTuple(args, "y#n", &data, &size, &max_size))
        return NULL;
    uint8_t *made = malloc(max_size > size ? max_size : size + 1);
    if (made == NULL)
        return PyErr_NoMemory();
    memcpy(made, data, size);
    size = LLVMFuzzerMutate(made, size, max_size);
    PyObject *result = PyBytes_FromStringAndSize((char *)made, size);
    free(made);
    return result;
}

static PyMethodDef mutate_bytes_method = {"mutate_bytes", mutate_bytes, METH_VARARGS, NULL};

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *name = getenv("JELLY_FUZZ_HARNESS");
    if (name == NULL)
        stop("JELLY_FUZZ_HARNESS does not name a harness");
    Py_InitializeEx(0);
    PyObject *module = PyImport_ImportModule("fuzz.engine");
    if (module == NULL)
        stop("fuzz.engine cannot be imported");
    PyObject *lines, *native = PyCFunction_New(&mutate_bytes_method, NULL);
    PyObject *made = PyObject_CallMethod(module, "open_harness", "sO", name, native);
    if (made == NULL || !PyArg_ParseTuple(made, "OOO", &test, &mutate, &lines))
        stop("the harness cannot be opened");
    if (PyObject_IsTrue(lines))
        PyEval_SetTrace(count_line, NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    PyObject *done = PyObject_CallFunction(test, "y#", (const char *)data, (Py_ssize_t)size);
    if (done == NULL)
        stop("a property does not hold");
    Py_DECREF(done);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    if (mutate == Py_None)
        return LLVMFuzzerMutate(data, size, max_size);
    PyObject *made = PyObject_CallFunction(mutate, "y#nI", (const char *)data, (Py_ssize_t)size, (Py_ssize_t)max_size, seed);
    char *bytes;
    Py_ssize_t n;
    if (made == NULL || PyBytes_AsStringAndSize(made, &bytes, &n) < 0)
        stop("the mutator failed");
    if ((size_t)n > max_size)
        n = max_size;
    memcpy(data, bytes, n);
    Py_DECREF(made);
    return n;
}
