"""Numbers of RDF Binary: lexical forms of xsd:integer, xsd:decimal and xsd:double from their values, and back."""

from libc.math cimport isinf, isnan
from libc.stdint cimport uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcmp, memcpy, memmove, memset

from jelly._core.base.characters cimport find_word, format_integer, is_space, skip_digits, skip_sign
from jelly._core.base.protobuf cimport Reader

cdef enum:
    # Digits that any double can be told apart by, and those that every decimal survives a double with.
    MAX_DIGITS = 17
    SURE_DIGITS = 15
    # 10 to the power of 22 is the last one that is a double.
    LAST_POWER = 22
    # A longer text of a double is left as it is.
    MAX_DOUBLE = 120
    # Room for "%.17e".
    PRINTED = 32


# ---- values to text

cdef int64_t format_decimal(int64_t value, int32_t scale, uint8_t* out) noexcept nogil:
    """A decimal without exponent, as BigDecimal.toPlainString gives it. The scale is within MAX_SCALE."""
    cdef int64_t n = format_integer(value, out)
    cdef int64_t sign = 1 if value < 0 else 0
    cdef int64_t zeros
    if scale <= 0:
        zeros = 0 if value == 0 else -<int64_t>scale
        memset(out + n, 0x30, zeros)
        return n + zeros
    zeros = scale + 1 - (n - sign)
    if zeros > 0:
        memmove(out + sign + zeros, out + sign, n - sign)
        memset(out + sign, 0x30, zeros)
        n += zeros
    memmove(out + n - scale + 1, out + n - scale, scale)
    out[n - scale] = 0x2E
    return n + 1


cdef inline double power(int exponent) noexcept nogil:
    """10 to the power of 0 to 22: exact, as all the products on the way are."""
    cdef double value = 1
    cdef int _
    for _ in range(exponent):
        value *= 10
    return value


cdef int short_digits(double value, uint8_t* digits, int* exponent) noexcept nogil:
    """Digits of a positive double that has few: value = 0.DIGITS * 10**exponent. 0 where it has many."""
    cdef double scaled
    cdef int64_t whole
    cdef int k, n
    if not 1e-5 <= value < 1e15:
        return 0
    for k in range(LAST_POWER + 1):
        scaled = value * power(k)
        if scaled >= 1e15:
            return 0
        whole = <int64_t>(scaled + 0.5)
        # The quotient of two exact numbers is the double nearest to the decimal.
        if <double>whole / power(k) == value:
            n = <int>format_integer(whole, digits)
            exponent[0] = n - k
            return n
    return 0


cdef int all_digits(double value, uint8_t* digits, int* exponent) noexcept nogil:
    """The fewest digits, at least two, that are nearest to a positive double and make it again."""
    cdef char text[PRINTED]
    cdef int n, i, k
    cdef int at_exponent = 0
    for n in range(2, MAX_DIGITS + 1):
        snprintf(text, PRINTED, b"%.*e", n - 1, value)
        if n == MAX_DIGITS or strtod(text, NULL) == value:
            break
        # Above a power of two there is more room than below: the next decimal may do where the nearest does not.
        i = n
        while text[i + 1] != 0x65:
            i += 1
        if text[i] < 0x39:
            text[i] += 1
            if strtod(text, NULL) == value:
                break
    # Between the digits stands whatever the locale has for a point.
    k = i = 0
    while text[i] != 0x65:
        if 0x30 <= text[i] <= 0x39:
            digits[k] = <uint8_t>text[i]
            k += 1
        i += 1
    i += 1
    n = i + 1
    while text[n]:
        at_exponent = 10 * at_exponent + text[n] - 0x30
        n += 1
    exponent[0] = (-at_exponent if text[i] == 0x2D else at_exponent) + 1
    return k


cdef int64_t format_double(double value, uint8_t* out) noexcept nogil:
    """A double as Java writes it, which is what Jena makes of it; infinity as XML Schema writes it."""
    cdef uint8_t digits[24]
    cdef int exponent = 0
    cdef int64_t at = 0
    cdef int n, i
    if isnan(value):
        memcpy(out, b"NaN", 3)
        return 3
    if value < 0 or (value == 0 and 1 / value < 0):
        out[0] = 0x2D
        at = 1
        value = -value
    if isinf(value):
        memcpy(out + at, b"INF", 3)
        return at + 3
    if value == 0:
        memcpy(out + at, b"0.0", 3)
        return at + 3
    n = short_digits(value, digits, &exponent)
    if n == 0:
        n = all_digits(value, digits, &exponent)
    while n > 1 and digits[n - 1] == 0x30:
        n -= 1
    if 1e-3 <= value < 1e7:
        # As many digits as the exponent says before the point, zeros where there are none.
        if exponent <= 0:
            out[at] = 0x30
            at += 1
        for i in range(min(exponent, 0), max(n, exponent + 1)):
            if i == exponent:
                out[at] = 0x2E
                at += 1
            out[at] = digits[i] if 0 <= i < n else 0x30
            at += 1
        return at
    out[at] = digits[0]
    out[at + 1] = 0x2E
    at += 2
    if n == 1:
        digits[1] = 0x30
        n = 2
    memcpy(out + at, digits + 1, n - 1)
    at += n - 1
    out[at] = 0x45
    return at + 1 + format_integer(exponent - 1, out + at + 1)


# ---- text to values

cdef bint parse_decimal(const uint8_t* at, const uint8_t* end, bint point, int64_t* value, int32_t* scale) noexcept nogil:
    """Digits with a sign and, if `point`, a point; False where they are wrong or do not fit 64 bits."""
    cdef uint64_t limit = <uint64_t>0x7FFFFFFFFFFFFFFF
    cdef uint64_t number = 0
    cdef uint64_t digit
    cdef bint some = False
    cdef int64_t behind = -1
    cdef bint negative = at < end and at[0] == 0x2D
    limit += negative
    at = skip_sign(at, end)
    while at < end:
        if at[0] == 0x2E and point and behind < 0:
            behind = 0
        elif 0x30 <= at[0] <= 0x39:
            some = True
            digit = at[0] - 0x30
            if number > (limit - digit) // 10:
                return False
            number = 10 * number + digit
            if behind >= 0:
                behind += 1
        else:
            return False
        at += 1
    if not some or behind > MAX_SCALE:
        return False
    value[0] = <int64_t>(0 - number if negative else number)
    scale[0] = <int32_t>max(behind, 0)
    return True


cdef bint is_double(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """A sign, digits with a point or without, an exponent: what XML Schema allows but INF and NaN."""
    cdef const uint8_t* begin = skip_sign(at, end)
    cdef int64_t n
    at = skip_digits(begin, end)
    n = at - begin
    if at < end and at[0] == 0x2E:
        begin = at + 1
        at = skip_digits(begin, end)
        n += at - begin
    if n == 0 or at == end:
        return n > 0
    begin = skip_sign(at + 1, end)
    return at[0] | 0x20 == 0x65 and begin < end and skip_digits(begin, end) == end


cdef bint parse_double(const uint8_t* at, const uint8_t* end, double* value) noexcept nogil:
    """False where the text is no double, or one that is infinite: Jena reads those wrong."""
    cdef char text[MAX_DOUBLE + 1]
    cdef char point[8]
    cdef int64_t n = end - at
    cdef int64_t i
    cdef int64_t whole = 0
    cdef int32_t scale = 0
    if n == 3 and memcmp(at, b"NaN", 3) == 0:
        value[0] = strtod(b"nan", NULL)
        return True
    # Few digits: the quotient of two exact numbers is the nearest double.
    if n <= SURE_DIGITS + 1 and at[0] != 0x2D and parse_decimal(at, end, True, &whole, &scale):
        value[0] = <double>whole / power(scale)
        return True
    if n > MAX_DOUBLE or not is_double(at, end):
        return False
    memcpy(text, at, n)
    text[n] = 0
    snprintf(point, 8, b"%.1f", 0.5)
    for i in range(n):
        if text[i] == 0x2E:
            text[i] = point[1]  # that of the locale
    value[0] = strtod(text, NULL)
    return not isinf(value[0])


cdef int parse_value(
    const uint8_t* datatype, int64_t n_datatype, const uint8_t* text, int64_t n, Value* value
) noexcept nogil:
    """The value of a literal of this datatype; NO_VALUE where there is no form for it or it has none."""
    cdef const uint8_t* end = text + n
    cdef int64_t most
    cdef int which
    cdef Reader name
    value.kind = NO_VALUE
    if n_datatype < 33 or memcmp(datatype, b"http://www.w3.org/2001/XMLSchema#", 33) != 0:
        return NO_VALUE
    name.at = datatype + 33
    name.end = datatype + n_datatype
    which = find_word(&name, b"\4byte\5short\3int\4long\7integer\7decimal\6double")
    while text < end and is_space(text[0]):
        text += 1
    while end > text and is_space((end - 1)[0]):
        end -= 1
    if which < 0 or text == end:
        return NO_VALUE
    if which == 6:
        if parse_double(text, end, &value.real):
            value.kind = VALUE_DOUBLE
    elif which == 5:
        if parse_decimal(text, end, True, &value.whole, &value.scale):
            value.kind = VALUE_DECIMAL
    elif parse_decimal(text, end, False, &value.whole, &value.scale):
        # The largest number of 8, 16, 32 or 64 bits.
        most = <int64_t>(((<uint64_t>1) << ((8 << min(which, 3)) - 1)) - 1)
        if -most - 1 <= value.whole <= most:
            value.kind = VALUE_INTEGER
    return value.kind
