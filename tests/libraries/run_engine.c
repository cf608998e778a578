/* Runs an engine of one f32 input x and one f32 output y of 2 x 3 from memory, y in rows of 4. */
#include <stdio.h>
#include <stdlib.h>

#include "strop/strop_c.h"

static strop_error error = STROP_ERROR_INIT;

static void must(strop_code code) {
  if (code == STROP_OK) return;
  fprintf(stderr, "%s: %s\n", strop_code_name(code), error.message);
  exit(1);
}

static void* read_file(const char* path, size_t* bytes) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) exit(2);
  void* content = malloc(1 << 20);
  *bytes = fread(content, 1, 1 << 20, file);
  fclose(file);
  return content;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  size_t bytes = 0;
  void* content = read_file(argv[1], &bytes);
  strop_runtime_options options = STROP_RUNTIME_OPTIONS_INIT;
  strop_runtime* runtime = NULL;
  strop_engine* engine = NULL;
  strop_context* context = NULL;
  options.threads = 1;
  must(strop_runtime_create(&options, &runtime, &error));
  must(strop_engine_load_from_memory(content, bytes, runtime, NULL, &engine, &error));
  free(content);
  strop_runtime_free(runtime);
  must(strop_context_create(engine, NULL, &context, &error));
  strop_engine_free(engine);

  float x[6] = {-1.5f, 2, -3, 4, -5, 6.25f};
  float y[8] = {0};
  const int64_t dims[2] = {2, 3};
  const int64_t strides[2] = {4, 1};
  strop_tensor input = STROP_TENSOR_INIT;
  input.dtype = STROP_F32;
  input.rank = 2;
  input.dims = dims;
  input.data = x;
  strop_tensor output = input;
  output.strides = strides;
  output.data = y;
  must(strop_context_bind(context, "x", &input, &error));
  must(strop_context_bind(context, "y", &output, &error));
  must(strop_context_run(context, &error));
  printf("y: %g %g %g %g %g %g\n", (double)y[0], (double)y[1], (double)y[2], (double)y[4], (double)y[5], (double)y[6]);
  strop_context_free(context);
  return 0;
}
