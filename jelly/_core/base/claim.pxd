"""An object that serves one thread at a time has a Claim: a second thread gets an error, and no thread waits.

A public method claims its object until it returns: by `hold` in objects.pyx, or in loops, which that would slow down, by
`claim` here and `give_back` in a `finally`. What many threads may use at once is counted, or made once and then shared, with
the other functions here.

With the GIL a test and what follows it are one step, as long as no Python code runs between them, so nothing here costs
more than a plain variable. Without it, and in builds for ThreadSanitizer, they are atomic instructions.
"""

cdef extern from *:
    """
    #ifndef JELLY_CLAIM
    #define JELLY_CLAIM
    #if !defined(Py_GIL_DISABLED) && !defined(JELLY_SANITIZE_THREADS)
    #define jelly_try_claim(claim) (*(claim) ? 0 : (*(claim) = 1))
    #define jelly_give_back(claim) ((void)(*(claim) = 0))
    #define jelly_add_to(count, n) ((void)(*(count) += (n)))
    #define jelly_value_of(count) (*(count))
    #define jelly_load_made(place) (*(place))
    #define jelly_keep_made(place, made) (*(place) ? 0 : (*(place) = (made), 1))
    #elif defined(_MSC_VER)
    #include <intrin.h>
    #define jelly_try_claim(claim) (_InterlockedCompareExchange((claim), 1, 0) == 0)
    #define jelly_give_back(claim) ((void)_InterlockedExchange((claim), 0))
    #define jelly_add_to(count, n) ((void)_InterlockedExchangeAdd((count), (n)))
    #define jelly_value_of(count) (_InterlockedExchangeAdd((count), 0))
    #define jelly_load_made(place) (_InterlockedCompareExchangePointer((void *volatile *)(place), NULL, NULL))
    #define jelly_keep_made(place, made) \
        (_InterlockedCompareExchangePointer((void *volatile *)(place), (made), NULL) == NULL)
    #else
    static inline int jelly_try_claim(long *claim) {
        long free = 0;
        return __atomic_compare_exchange_n(claim, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    static inline int jelly_keep_made(void **place, void *made) {
        void *none = NULL;
        return __atomic_compare_exchange_n(place, &none, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    #define jelly_give_back(claim) (__atomic_store_n((claim), 0, __ATOMIC_RELEASE))
    #define jelly_add_to(count, n) ((void)__atomic_add_fetch((count), (n), __ATOMIC_ACQ_REL))
    #define jelly_value_of(count) (__atomic_load_n((count), __ATOMIC_ACQUIRE))
    #define jelly_load_made(place) (__atomic_load_n((place), __ATOMIC_ACQUIRE))
    #endif
    #endif
    """
    ctypedef long Claim "long"

    # Whether the object was free; it is the caller's from then on, until it gives it back.
    bint try_claim "jelly_try_claim"(Claim* claim) noexcept nogil
    void give_back "jelly_give_back"(Claim* claim) noexcept nogil

    # A number that several threads change.
    ctypedef long Count "long"
    void add_to "jelly_add_to"(Count* count, long n) noexcept nogil
    long value_of "jelly_value_of"(Count* count) noexcept nogil

    # What is made when it is first needed: NULL before. `keep_made` is False if another thread was first.
    void* load_made "jelly_load_made"(void** place) noexcept nogil
    bint keep_made "jelly_keep_made"(void** place, void* made) noexcept nogil


cdef inline int claim(Claim* flag, object owner) except -1:  # house: allow
    """Take an object for this thread."""
    if not try_claim(flag):
        raise RuntimeError(f"this {type(owner).__name__} is in use by another thread")
    return 0
