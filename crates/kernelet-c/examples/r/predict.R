# Predicts rows with a model of kernelet through its C library. Build the wrapper first, beside libkernelet.so and kernelet.h:
#   PKG_CPPFLAGS=-I. R CMD SHLIB -o kernelet_r.so kernelet.c -L. -lkernelet -Wl,-rpath,.
dyn.load("kernelet_r.so")

kernelet_predict <- function(model, x) {
  x <- as.matrix(x)
  storage.mode(x) <- "double"
  .Call("kernelet_predict", model, t(x))
}

rows <- rbind(c(0.5, -1), c(-1.5, 1), c(0, 0.25))
cat(kernelet_predict("classes.model", rows), sep = "\n")
