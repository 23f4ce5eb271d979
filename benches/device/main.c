/* Predicts ROWS rows and prints: instructions of a row, bytes of stack, and the labels. MODEL_H declares label_of(row). */
#include <stdint.h>

#include "device_model.h"

uint32_t instructions(void);
void print(const char *text);
void print_number(uint32_t value);
void paint(void);
uint32_t depth(void);

int main(void)
{
    static int labels[ROWS];
    paint();
    labels[0] = label_of(device_rows);
    print_number(depth());
    const uint32_t before = instructions();
    for (int i = 0; i < ROWS; i++) {
        labels[i] = label_of(device_rows + i * FEATURES);
    }
    print_number((instructions() - before) / ROWS);
    for (int i = 0; i < ROWS; i++) {
        print_number((uint32_t)labels[i]);
    }
    print("\n");
    return 0;
}
