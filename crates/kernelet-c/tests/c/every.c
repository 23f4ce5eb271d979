/* Prints what the library says of the rows in a file for each of the models named after it: label or class, then all numbers, one line for each row. */
#include <stdio.h>
#include <stdlib.h>

#include "kernelet.h"

#define ROWS 40

static void print(const double *values, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        printf(" %.17g", values[k]);
    }
}

static int shown(const char *path)
{
    kernelet_model *model = kernelet_load(path);
    char name[4096];
    snprintf(name, sizeof name, "%s.rows", path);
    FILE *file = fopen(name, "r");
    if (model == NULL || file == NULL) {
        fprintf(stderr, "%s: %s\n", path, kernelet_last_error());
        return 1;
    }
    const size_t d = kernelet_features(model), q = kernelet_outputs(model), classes = kernelet_classes(model), values = kernelet_values(model);
    double *rows = calloc(ROWS * d, sizeof(double)), *found = calloc(4 * ROWS * (q + classes + values + 1), sizeof(double));
    int32_t places[ROWS] = { 0 };
    for (size_t i = 0; i < ROWS * d; i++) {
        if (fscanf(file, "%lf", &rows[i]) != 1) {
            return 1;
        }
    }
    fclose(file);
    double *outputs = found, *numbers = outputs + ROWS * q, *probabilities = numbers + ROWS * values, *deviations = probabilities + ROWS * classes;
    int wrong = kernelet_decision_values(model, rows, ROWS, outputs);
    wrong |= classes > 0 ? kernelet_predict_classes(model, rows, ROWS, places) : kernelet_predict_values(model, rows, ROWS, numbers);
    const int with_probabilities = kernelet_probabilities(model, rows, ROWS, probabilities) == 0;
    const int with_deviations = kernelet_deviations(model, rows, ROWS, deviations) == 0;
    for (size_t i = 0; i < ROWS; i++) {
        printf("%s", classes > 0 ? kernelet_label(model, (size_t)places[i]) : "-");
        print(outputs + i * q, q);
        print(numbers + i * values, values);
        print(probabilities + i * classes, with_probabilities ? classes : 0);
        print(deviations + i * values, with_deviations ? values : 0);
        putchar('\n');
    }
    free(rows);
    free(found);
    kernelet_free(model);
    return wrong;
}

int main(int count, char **names)
{
    int wrong = 0;
    for (int i = 1; i < count; i++) {
        wrong |= shown(names[i]);
    }
    return wrong;
}
