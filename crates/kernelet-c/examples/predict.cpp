// Predicts rows that are given on the command line: predict MODEL NUMBER NUMBER ..
#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "kernelet.h"

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::cerr << "predict MODEL NUMBER NUMBER ..\n";
        return 2;
    }
    const std::unique_ptr<kernelet_model, void (*)(kernelet_model *)> model(kernelet_load(argv[1]), kernelet_free);
    if (!model) {
        std::cerr << kernelet_last_error() << "\n";
        return 1;
    }
    std::vector<double> rows;
    for (int i = 2; i < argc; i++) {
        rows.push_back(std::strtod(argv[i], nullptr));
    }
    const std::size_t count = rows.size() / kernelet_features(model.get());
    std::vector<int32_t> classes(count);
    if (kernelet_predict_classes(model.get(), rows.data(), count, classes.data()) != 0) {
        std::cerr << kernelet_last_error() << "\n";
        return 1;
    }
    for (const int32_t place : classes) {
        std::cout << kernelet_label(model.get(), static_cast<std::size_t>(place)) << "\n";
    }
    return 0;
}
