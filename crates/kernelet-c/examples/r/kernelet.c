/* The library for R: kernelet_predict(path, rows) gives the labels, or the predicted numbers. */
#include <R.h>
#include <Rinternals.h>

#include "kernelet.h"

static SEXP labels(const kernelet_model *model, const double *rows, size_t count)
{
    int32_t *classes = (int32_t *)R_alloc(count, sizeof(int32_t));
    if (kernelet_predict_classes(model, rows, count, classes) != 0) {
        return R_NilValue;
    }
    SEXP result = PROTECT(allocVector(STRSXP, (R_xlen_t)count));
    for (size_t i = 0; i < count; i++) {
        SET_STRING_ELT(result, (R_xlen_t)i, mkCharCE(kernelet_label(model, (size_t)classes[i]), CE_UTF8));
    }
    UNPROTECT(1);
    return result;
}

static SEXP values(const kernelet_model *model, const double *rows, size_t count)
{
    SEXP result = PROTECT(allocVector(REALSXP, (R_xlen_t)(count * kernelet_values(model))));
    const int done = kernelet_predict_values(model, rows, count, REAL(result));
    UNPROTECT(1);
    return done == 0 ? result : R_NilValue;
}

/* `rows` is a matrix of doubles with one column for each row, as R stores t(x). */
SEXP kernelet_predict(SEXP path, SEXP rows)
{
    kernelet_model *model = kernelet_load(CHAR(STRING_ELT(path, 0)));
    if (model == NULL) {
        error("%s", kernelet_last_error());
    }
    const size_t features = kernelet_features(model), count = features > 0 ? (size_t)XLENGTH(rows) / features : 0;
    if ((size_t)nrows(rows) != features) {
        kernelet_free(model);
        error("the model takes %d features", (int)features);
    }
    SEXP result = PROTECT(kernelet_classes(model) > 0 ? labels(model, REAL(rows), count) : values(model, REAL(rows), count));
    kernelet_free(model);
    UNPROTECT(1);
    if (result == R_NilValue) {
        error("%s", kernelet_last_error());
    }
    return result;
}
