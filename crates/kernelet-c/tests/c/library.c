/* What a C program sees: predictions of two models from files, memory and several threads, and a sentence for every mistake. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernelet.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, kernelet_last_error()); \
            exit(1); \
        } \
    } while (0)

static const double rows[3][2] = { { 0.5, -1.0 }, { -1.5, 1.0 }, { 0.0, 0.25 } };

static int says(const char *words)
{
    return strstr(kernelet_last_error(), words) != NULL;
}

/* A model that is read into memory that is freed before it predicts. */
static kernelet_model *from_memory(const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    unsigned char *bytes = malloc(1000000);
    CHECK(bytes != NULL);
    const size_t length = fread(bytes, 1, 1000000, file);
    fclose(file);
    kernelet_model *model = kernelet_load_bytes(bytes, length);
    CHECK(model != NULL);
    /* Half a file, a file with a changed byte, and no file are no models. */
    CHECK(kernelet_load_bytes(bytes, length / 2) == NULL && strlen(kernelet_last_error()) > 10);
    for (size_t at = 0; at < length; at += 97) {
        bytes[at] ^= 0x55;
        kernelet_free(kernelet_load_bytes(bytes, length));
        bytes[at] ^= 0x55;
    }
    CHECK(kernelet_load_bytes(bytes, 0) == NULL && says("empty"));
    CHECK(kernelet_load_bytes(NULL, 10) == NULL && says("NULL"));
    free(bytes);
    return model;
}

static void *predict_often(void *model)
{
    int32_t first[3], again[3];
    CHECK(kernelet_predict_classes(model, &rows[0][0], 3, first) == 0);
    for (int i = 0; i < 100; i++) {
        CHECK(kernelet_predict_classes(model, &rows[0][0], 3, again) == 0 && memcmp(first, again, sizeof first) == 0);
    }
    /* Each thread has its own last error. */
    CHECK(strlen(kernelet_last_error()) == 0);
    CHECK(kernelet_label(model, 99) == NULL && says("no class 99"));
    return NULL;
}

static void mistakes(const kernelet_model *classes, const kernelet_model *numbers)
{
    int32_t class;
    double value[2], bad[2] = { 0, 0 };
    const double zero = 0;
    CHECK(kernelet_load("no such file") == NULL && says("no such file"));
    CHECK(kernelet_load(NULL) == NULL && says("NULL"));
    CHECK(kernelet_load("\xff\xfe") == NULL && says("UTF-8"));
    CHECK(kernelet_features(NULL) == 0 && kernelet_outputs(NULL) == 0 && kernelet_classes(NULL) == 0 && kernelet_values(NULL) == 0);
    CHECK(kernelet_predict_classes(NULL, &rows[0][0], 1, &class) == -1 && says("NULL"));
    CHECK(kernelet_predict_classes(classes, NULL, 1, &class) == -1 && says("the rows are NULL"));
    CHECK(kernelet_predict_classes(classes, &rows[0][0], 1, NULL) == -1 && says("the classes are NULL"));
    CHECK(kernelet_predict_classes(classes, &rows[0][0], (size_t)-1, &class) == -1 && says("do not fit into memory"));
    CHECK(kernelet_predict_classes(numbers, &rows[0][0], 1, &class) == -1 && says("kernelet_predict_values"));
    CHECK(kernelet_predict_values(classes, &rows[0][0], 1, value) == -1 && says("kernelet_predict_classes"));
    CHECK(kernelet_probabilities(numbers, &rows[0][0], 1, value) == -1 && says("predicts no classes"));
    CHECK(kernelet_deviations(classes, &rows[0][0], 1, value) == -1 && strlen(kernelet_last_error()) > 10);
    bad[1] = zero / zero;
    CHECK(kernelet_decision_values(classes, bad, 1, value) == -1 && says("row 1, column 2 is NaN"));
    /* Nothing to do is no mistake. */
    CHECK(kernelet_predict_classes(classes, NULL, 0, NULL) == 0);
    kernelet_free(NULL);
}

int main(void)
{
    CHECK(strlen(kernelet_version()) > 0 && strlen(kernelet_last_error()) == 0);
    kernelet_model *classes = kernelet_load("classes.model");
    CHECK(classes != NULL);
    kernelet_model *numbers = from_memory("numbers.model");
    CHECK(kernelet_features(classes) == 2 && kernelet_outputs(classes) == 1 && kernelet_classes(classes) == 2 && kernelet_values(classes) == 0);
    CHECK(kernelet_features(numbers) == 1 && kernelet_classes(numbers) == 0 && kernelet_values(numbers) == 1);
    int32_t predicted[3];
    double outputs[3], probabilities[3][2], values[2];
    const double two[2] = { 0.5, 2.0 };
    CHECK(kernelet_predict_classes(classes, &rows[0][0], 3, predicted) == 0);
    CHECK(kernelet_decision_values(classes, &rows[0][0], 3, outputs) == 0);
    CHECK(kernelet_probabilities(classes, &rows[0][0], 3, &probabilities[0][0]) == 0);
    CHECK(kernelet_predict_values(numbers, two, 2, values) == 0);
    for (int i = 0; i < 3; i++) {
        printf("%s %.12f %.12f\n", kernelet_label(classes, (size_t)predicted[i]), outputs[i], probabilities[i][1]);
    }
    printf("%.12f\n%.12f\n", values[0], values[1]);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, predict_often, classes) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    mistakes(classes, numbers);
    kernelet_free(classes);
    kernelet_free(numbers);
    return 0;
}
