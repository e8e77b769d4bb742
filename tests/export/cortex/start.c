/* Start of a Cortex-M7 without an operating system: runs the self-test, and ends the emulator. */
#include <stdint.h>

extern int32_t SELFTEST(void (*report)(const char *function, int32_t vector));
extern uint32_t top_of_stack[];
void start(void);

struct vectors
{
    uint32_t *stack;
    void (*reset)(void);
};
__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    top_of_stack, start,
};

static void say(int32_t call, const void *what)
{
    register int32_t r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = what;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

static void report(const char *function, int32_t vector)
{
    (void)vector;
    say(0x04, function); /* SYS_WRITE0 */
    say(0x04, " fails\n");
}

void start(void)
{
    volatile uint32_t *const access = (volatile uint32_t *)0xE000ED88U;
    *access |= 0xFU << 20; /* the floating-point unit */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    {
        const int32_t failures = SELFTEST(report);
        const uint32_t ended[2] = {0x20026U, (uint32_t)failures};
        say(0x20, ended); /* SYS_EXIT_EXTENDED: the exit code is the number of failures */
    }
    for (;;)
    {
    }
}
