// For developers: imports each model named on the command line and prints one line about it, or why it failed.
#include <cstdio>
#include <string_view>

#include "onnx/import.h"

int main(int argc, char** argv) {
  int failed = 0;
  for (int i = 1; i < argc; ++i) {
    const auto model = strop::onnx::import_model(argv[i]);
    if (model.ok()) {
      std::printf("ok %s nodes=%zu\n", argv[i], model->graph->order().size());
    } else {
      ++failed;
      std::printf("%s %s %s\n", to_string(model.error().code), argv[i], model.error().message.c_str());
    }
  }
  return failed == 0 ? 0 : 1;
}
