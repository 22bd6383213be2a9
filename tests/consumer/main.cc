// Loads every picture of a folder of class folders once, then says what held the loader back.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>

#include "loader/file_source.h"
#include "loader/loader.h"

int main(int argc, char** argv) try {
  const stoker::LoaderOptions options = {.batch_size = 32, .on_error = stoker::OnError::kSkip};
  stoker::Loader loader(options, stoker::OpenFolder(argc > 1 ? argv[1] : "."));
  int64_t samples = 0;
  while (const auto batch = loader.Next()) {
    samples += batch->size();  // a training step goes here: batch->pixels(), batch->shape(), batch->labels()
  }
  std::cout << stoker::FormatReport(loader.Report());
  return samples == loader.samples_per_epoch() ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
