// For developers: writes the hostile models of tests/errors into a folder, as seeds for the importer's fuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "errors/hostile.h"
#include "errors/small_models.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_import_corpus FOLDER\n");
    return 2;
  }
  using namespace strop::tests;  // NOLINT: the only names used here
  for (const auto& part : {damaged_files(), illegal_models(), greedy_models()}) {
    for (const HostileModel& model : part) {
      if (model.bytes.size() < 4096)
        std::ofstream(std::filesystem::path(argv[1]) / model.name, std::ios::binary) << model.bytes;
    }
  }
  return 0;
}
