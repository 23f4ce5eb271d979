/* From reset to main on a bare board of QEMU, a counter of instructions, the depth of the stack, and output through semihosting. */
#include <stdint.h>

extern uint8_t data_start[], data_end[], data_source[], bss_start[], bss_end[], stack_top[], end[];
extern int main(void);
void start(void);
void *memcpy(void *to, const void *from, unsigned long n);

#ifdef __riscv
static long host(long operation, const void *argument)
{
    register long a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n.option norvc\n.balign 16\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop" : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}

uint32_t instructions(void)
{
    uint32_t count;
    __asm__ volatile("csrr %0, minstret" : "=r"(count));
    return count;
}

__attribute__((naked, section(".vectors"))) void start(void)
{
    __asm__ volatile("la sp, stack_top\nj begin");
}
#else
static long host(long operation, const void *argument)
{
    register long r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

#define SYSTICK ((volatile uint32_t *)0xE000E010)
/* With -icount shift=0 an instruction takes 1 ns, and the clock of this board a tick of 40 ns. */
uint32_t instructions(void)
{
    return (0xFFFFFF - SYSTICK[2]) * 40;
}

extern void begin(void);
void start(void)
{
    begin();
}
__attribute__((section(".vectors"), used)) static const void *const vectors[2] = { stack_top, (const void *)start };
#endif

void *memset(void *to, int value, unsigned long n)
{
    for (uint8_t *p = to; n > 0; n--) {
        *p++ = (uint8_t)value;
    }
    return to;
}

void *memcpy(void *to, const void *from, unsigned long n)
{
    const uint8_t *q = from;
    for (uint8_t *p = to; n > 0; n--) {
        *p++ = *q++;
    }
    return to;
}

void print(const char *text)
{
    host(4, text);
}

void print_number(uint32_t value)
{
    char digits[12];
    char *at = digits + 11;
    *at = 0;
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    print(at);
    print(" ");
}

#define PAINTED 65536
/* Fills the stack below this call with a mark. */
void paint(void)
{
    volatile uint8_t here;
    for (volatile uint8_t *p = &here - 64; p > stack_top - PAINTED; p--) {
        *p = 0xA5;
    }
}

/* Bytes between this call and the lowest place that lost its mark. */
uint32_t depth(void)
{
    volatile uint8_t here;
    volatile uint8_t *p = stack_top - PAINTED + 1;
    while (*p == 0xA5) {
        p++;
    }
    return (uint32_t)(&here - p);
}

__attribute__((noreturn)) static void stop(void)
{
    host(0x18, (const void *)0x20026);
    for (;;) {
    }
}

__attribute__((used)) void begin(void)
{
    memcpy(data_start, data_source, (unsigned long)(data_end - data_start));
    memset(bss_start, 0, (unsigned long)(bss_end - bss_start));
#ifndef __riscv
    /* The unit for floating point, where there is one. */
    *(volatile uint32_t *)0xE000ED88 |= 0xF << 20;
    SYSTICK[1] = 0xFFFFFF;
    SYSTICK[2] = 0;
    SYSTICK[0] = 5;
#endif
    main();
    stop();
}
