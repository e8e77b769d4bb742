"""Texts of exported C that are the same for every robot; `$` is what a type or a name decides."""

#: functions that statements call
FUNCTIONS = {
    "away": """\
/* A divisor, kept away from zero. */
static REAL away(REAL b)
{
    return (fabs${call}(b) < ${tiny}) ? ${tiny} : b;
}""",
    "whole_below": """\
/* The greatest whole number that is not greater. */
static REAL whole_below(REAL a)
{
    REAL whole = a;
    if (fabs${call}(a) < ${no_fraction})
    {
        whole = (REAL)((${whole})a);
        if (whole > a)
        {
            whole -= 1.0${f};
        }
    }
    return whole;
}""",
    "nearest": """\
/* The nearest whole number. */
static REAL nearest(REAL a)
{
    return whole_below(a + 0.5${f});
}""",
    "power_of_two": """\
/* 2^k for a whole k, exactly; 0 or the largest beyond the range of the type. */
static REAL power_of_two(REAL k)
{
    REAL power = 1.0${f};
    int32_t left = 0;
    if (fabs${call}(k) < 1100.0${f})
    {
        left = (int32_t)k;
    }
    while (left >= 24)
    {
        power *= 16777216.0${f};
        left -= 24;
    }
    while (left <= -24)
    {
        power *= 5.9604644775390625e-08${f};
        left += 24;
    }
    if (left >= 0)
    {
        power *= (REAL)((uint32_t)1U << (uint32_t)left);
    }
    else
    {
        power /= (REAL)((uint32_t)1U << (uint32_t)(-left));
    }
    return power;
}""",
}

GUARDS = """\
/* Whether all numbers are finite and of a size that can be computed with. */
static bool usable(const REAL *values, int32_t count)
{
    bool good = true;
    for (int32_t k = 0; k < count; ++k)
    {
        if (!(fabs${call}(values[k]) <= ${largest_input}))
        {
            good = false;
        }
    }
    return good;
}

/* No result: zeros, and margins of -1. */
static void nothing(REAL *out, int32_t count, int32_t margins)
{
    for (int32_t k = 0; k < count; ++k)
    {
        out[k] = (k < (count - margins)) ? 0.0${f} : -1.0${f};
    }
}

/* The status of a result, whose margins stand last; what is not finite is replaced. */
static int32_t judged(REAL *out, int32_t count, int32_t margins)
{
    const int32_t first = count - margins;
    int32_t status = ${macro}_OK;
    bool lost = false;
    for (int32_t k = 0; k < count; ++k)
    {
        if (!(fabs${call}(out[k]) <= ${largest}))
        {
            lost = true;
            out[k] = (k < first) ? 0.0${f} : -1.0${f};
        }
        if ((k >= first) && (out[k] < 0.0${f}))
        {
            status = ${macro}_OUT_OF_REACH;
        }
    }
    if (lost && (status == ${macro}_OK))
    {
        status = ${macro}_NO_RESULT;
        nothing(out, count, margins);
    }
    return status;
}

static void copied(const REAL *from, REAL *to, int32_t count)
{
    for (int32_t k = 0; k < count; ++k)
    {
        to[k] = from[k];
    }
}
"""

LARGEST = """\
/* Where the largest number stands. */
static int32_t largest(const REAL *values, int32_t count)
{
    int32_t place = 0;
    for (int32_t k = 1; k < count; ++k)
    {
        if (values[k] > values[place])
        {
            place = k;
        }
    }
    return place;
}
"""

COMPARED = """\
#include <math.h>
#include <stddef.h>

typedef void (*${robot}_report)(const char *function, int32_t vector);
int32_t ${robot}_selftest(${robot}_report report);

static int32_t failed(
    const ${robot}_real *found, const ${robot}_real *wanted, const ${robot}_real *tolerance,
    int32_t count, int32_t compared)
{
    int32_t bad = 0;
    for (int32_t k = 0; k < count; ++k)
    {
        const ${robot}_real error = fabs${call}(found[k] - wanted[k]);
        if (!(fabs${call}(found[k]) <= ${largest}))
        {
            bad = 1;
        }
        else if ((compared != 0) && !(error <= tolerance[k]))
        {
            bad = 1;
        }
        else
        {
            /* as it should be */
        }
    }
    return bad;
}
"""

MAIN = """\
#ifdef ${macro}_SELFTEST_MAIN
int main(void)
{
    return (${robot}_selftest(NULL) == 0) ? 0 : 1;
}
#endif"""
