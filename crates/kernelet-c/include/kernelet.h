/* The C library of kernelet: load a model, predict rows. Made by cbindgen from crates/kernelet-c/src/border.rs; docs/c-library.md explains it.
 * Every function may be called from any thread, also for one model at a time; a model is freed once, when no other call uses it.
 */

#ifndef KERNELET_H
#define KERNELET_H

#include <stddef.h>
#include <stdint.h>

/* A model that was loaded. */
typedef struct kernelet_model kernelet_model;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The version of the library, such as "0.1.0".
 */
const char *kernelet_version(void);

/*
 What went wrong last in this thread, as a sentence; empty where nothing has. Valid until the next error in this thread.
 */
const char *kernelet_last_error(void);

/*
 The model in a file: kernelet's own format, LIBSVM text or JSON. NULL where there is an error.

 # Safety
 `path` is NULL or a text that ends in a zero byte.
 */
kernelet_model *kernelet_load(const char *path);

/*
 The model in the `length` bytes of a file in memory, which is not needed afterwards. NULL where there is an error.

 # Safety
 `bytes` is NULL or leads to `length` bytes.
 */
kernelet_model *kernelet_load_bytes(const uint8_t *bytes,
                                    size_t length);

/*
 Frees a model; NULL is allowed.

 # Safety
 `model` is NULL or was loaded, and is not used afterwards.
 */
void kernelet_free(kernelet_model *model);

/*
 Numbers of a row; 0 where the model is NULL.

 # Safety
 `model` is NULL or was loaded and is not freed.
 */
size_t kernelet_features(const kernelet_model *model);

/*
 Outputs (decision values) of a row; 0 where the model is NULL.

 # Safety
 `model` is NULL or was loaded and is not freed.
 */
size_t kernelet_outputs(const kernelet_model *model);

/*
 Classes of the model; 0 where it predicts numbers.

 # Safety
 `model` is NULL or was loaded and is not freed.
 */
size_t kernelet_classes(const kernelet_model *model);

/*
 Numbers that the model predicts for a row; 0 where it predicts classes.

 # Safety
 `model` is NULL or was loaded and is not freed.
 */
size_t kernelet_values(const kernelet_model *model);

/*
 The label of a class, counted from 0; valid until the model is freed. NULL where there is no such class.

 # Safety
 `model` is NULL or was loaded and is not freed.
 */
const char *kernelet_label(const kernelet_model *model,
                           size_t place);

/*
 Writes the class of each of `n_rows` rows, counted from 0, to `classes`. Rows follow one another, kernelet_features numbers each. 0 where it is done, else -1.

 # Safety
 `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `classes` is used by nobody else meanwhile.
 */
int kernelet_predict_classes(const kernelet_model *model,
                             const double *rows,
                             size_t n_rows,
                             int32_t *classes);

/*
 Writes the kernelet_values predicted numbers of each row to `values`. 0 where it is done, else -1.

 # Safety
 `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `values` is used by nobody else meanwhile.
 */
int kernelet_predict_values(const kernelet_model *model,
                            const double *rows,
                            size_t n_rows,
                            double *values);

/*
 Writes the kernelet_outputs decision values of each row to `outputs`. 0 where it is done, else -1.

 # Safety
 `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `outputs` is used by nobody else meanwhile.
 */
int kernelet_decision_values(const kernelet_model *model,
                             const double *rows,
                             size_t n_rows,
                             double *outputs);

/*
 Writes the kernelet_classes probabilities of each row to `probabilities`. 0 where it is done, else -1: a model trained without probabilities has none.

 # Safety
 `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `probabilities` is used by nobody else meanwhile.
 */
int kernelet_probabilities(const kernelet_model *model,
                           const double *rows,
                           size_t n_rows,
                           double *probabilities);

/*
 Writes the standard deviations of the kernelet_values predicted numbers of each row to `deviations`. 0 where it is done, else -1: few models know them.

 # Safety
 `model` is as for kernelet_features; the arrays are NULL or as long as said here, and `deviations` is used by nobody else meanwhile.
 */
int kernelet_deviations(const kernelet_model *model,
                        const double *rows,
                        size_t n_rows,
                        double *deviations);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* KERNELET_H */
